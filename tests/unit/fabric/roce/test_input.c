/* SPDX-License-Identifier: MIT */
/* Datagrams of hosts that mean no good, at a wire. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#include "emulator/mad.h"
#include "emulator/port.h"

#define TURNS 10000u

/* The fabric process works until no datagram is left. */
static void settle(void)
{
	u32 i;

	for (i = 0; i < TURNS && wire_turn(); i++)
		;
	CU_ASSERT(i < TURNS);
}

static struct roce_pkt read_request(u32 qpn, u32 psn, u32 len)
{
	return (struct roce_pkt){ .opcode = ROCE_OPCODE(ROCE_RC, ROCE_READ_REQ),
				  .pkey = IB_DEFAULT_PKEY,
				  .dqpn = qpn,
				  .psn = psn,
				  .ack_req = true,
				  .va = (uintptr_t)wire.m->c[1].mem,
				  .rkey = wire.m->c[1].key,
				  .dma_len = len };
}

/* A datagram to QP 1, which makes its sender known. */
static void introduce(u32 host)
{
	static const u8 mad[MAD_SIZE];
	const struct roce_pkt p = { .opcode = ROCE_OPCODE(ROCE_UD, ROCE_SEND_ONLY),
				    .pkey = IB_DEFAULT_PKEY,
				    .dqpn = GSI_QPN,
				    .sqpn = GSI_QPN,
				    .qkey = GSI_QKEY,
				    .payload = mad,
				    .payload_len = MAD_SIZE,
				    .payload_cap = MAD_SIZE };

	wire_put(WIRE_TO_4, host, &p);
	settle();
}

static const struct hca_qp *live(void)
{
	return &wire.m->hca->qp[wire.live.slot];
}

static u64 dropped(void)
{
	return wire.m->hca->dev[0].port[1].counters[CNT_DROPPED];
}

static void test_a_long_read_of_a_queue_pair_that_is_not_connected_is_refused(void)
{
	struct roce_pkt p;
	u64 before;

	wire_make();
	introduce(2);
	before = dropped();
	p = read_request(wire.fresh.qpn, 0, LIM_MSG);
	wire_put(WIRE_TO_4, 2, &p);
	settle();
	CU_ASSERT_EQUAL(dropped(), before + 1);
	/* One that is connected with another host. */
	p = read_request(wire.live.qpn, live()->resp.epsn, LIM_MSG);
	wire_put(WIRE_TO_4, 2, &p);
	settle();
	CU_ASSERT_EQUAL(dropped(), before + 2);
	CU_ASSERT(wire_audit());
}

static void test_a_long_read_out_of_sequence_is_refused_once(void)
{
	u32 before = wire.n_sent;
	struct roce_pkt p;
	u64 drops;

	wire_make();
	wire_connect();
	drops = dropped();
	p = read_request(wire.live.qpn, psn_add(live()->resp.epsn, 5), LIM_MSG);
	wire_put(WIRE_TO_4, 1, &p);
	settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_EQUAL(wire.sent.syndrome, AETH_NAK_PSN_SEQ);
	CU_ASSERT(dropped() <= drops + 1);
	CU_ASSERT(wire_audit());
}

/* The message was answered long ago. */
static void test_a_long_read_that_is_repeated_with_a_bad_key_is_dropped_once(void)
{
	const u64 *repeats;
	struct roce_pkt p;
	u32 before;
	u64 n;

	wire_make();
	wire_connect();
	before = wire.n_sent;
	repeats = &wire.m->hca->dev[0].port[1].counters[CNT_DUP_REQUEST];
	n = *repeats;
	p = read_request(wire.live.qpn, psn_add(live()->resp.epsn, (u32) - (LIM_MSG / 1024)),
			 LIM_MSG);
	p.rkey ^= 0x80;
	wire_put(WIRE_TO_4, 1, &p);
	settle();
	CU_ASSERT_EQUAL(*repeats, n + 1);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT(wire_audit());
}

/* The whole answer, in portions, and again when the request is repeated. */
static void test_a_long_read_is_answered(void)
{
	u32 before = wire.n_sent, len = EMU_AREA & ~1023u, i;
	struct roce_pkt p;

	wire_make();
	wire_connect();
	p = read_request(wire.live.qpn, live()->resp.epsn, len);
	CU_ASSERT_FATAL(len > ROCE_READ_MAX);
	for (i = 1; i <= 2; i++) {
		wire_put(WIRE_TO_4, 1, &p);
		settle();
		CU_ASSERT_EQUAL(wire.n_sent, before + i * (len / 1024));
		CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_READ_RESP_LAST));
	}
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(p.psn, len / 1024));
	CU_ASSERT(wire_audit());
}

/* A switch has marked it. A notification is no answer to others, and comes once in a while. */
static void test_marks_of_congestion_are_answered_to_the_peer_alone(void)
{
	static const u8 data[64];
	struct roce_pkt p;
	u64 before;
	u32 i;

	wire_make();
	wire_connect();
	p = read_request(wire.live.qpn, 0, sizeof(data));
	p.opcode = ROCE_OPCODE(ROCE_RC, ROCE_WRITE_ONLY);
	p.tclass = 3;
	p.payload = data;
	p.payload_len = p.payload_cap = sizeof(data);
	introduce(2);
	before = wire_counts()->cnp_sent;
	for (i = 0; i < 100; i++) {
		p.psn = psn_add(live()->resp.epsn, 1 + i);
		wire_put(WIRE_TO_4, 2, &p);
	}
	settle();
	CU_ASSERT_EQUAL(wire_counts()->cnp_sent, before);
	for (i = 0; i < 100; i++)
		wire_put(WIRE_TO_4, 1, &p);
	settle();
	CU_ASSERT(wire_counts()->cnp_sent > before && wire_counts()->cnp_sent < before + 10);
	CU_ASSERT(wire_audit());
}

/* Return: its device; -1: it has no place. */
static int host_dev(u32 host)
{
	u8 gid[16], port;

	wire_host_gid(WIRE_TO_4, host, gid);
	return hca_find_gid(wire.m->hca, gid, &port);
}

/* A program's address handle. Return: 0 or -errno. */
static int handle_create(u32 host, u32 *handle)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_AH };
	int ret;

	cmd.ah.pd = wire.m->c[1].pd;
	cmd.ah.av.is_global = 1;
	cmd.ah.av.port_num = 1;
	wire_host_gid(WIRE_TO_4, host, cmd.ah.av.dgid);
	ret = emu_cmd(wire.m, 1, &cmd);
	*handle = cmd.handle;
	return ret;
}

static void handle_destroy(u32 handle)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_AH, .handle = handle };

	CU_ASSERT_EQUAL(emu_cmd(wire.m, 1, &cmd), 0);
}

static void test_a_flood_of_new_hosts_takes_no_place_that_is_in_use(void)
{
	const u32 flood = 10, end = flood + 2 * HCA_PEERS, known = 1000;
	int connected, handled;
	u32 i, handle;

	wire_make();
	wire_connect();
	connected = host_dev(1);
	CU_ASSERT_EQUAL(handle_create(known, &handle), 0);
	handled = host_dev(known);
	CU_ASSERT_FATAL(connected >= 0 && handled >= 0);
	for (i = flood; i < end; i++) {
		introduce(i);
		CU_ASSERT(host_dev(i) >= 0);
	}
	CU_ASSERT(wire.m->hca->wires.n_used <= HCA_PEERS / 2);
	CU_ASSERT_EQUAL(host_dev(1), connected);
	CU_ASSERT_EQUAL(host_dev(known), handled);
	CU_ASSERT(host_dev(flood) < 0);
	CU_ASSERT(wire_audit());
	/* A host that nothing refers to is one of many. */
	handle_destroy(handle);
	for (i = flood; i < end; i++)
		introduce(i);
	CU_ASSERT(host_dev(known) < 0);
	CU_ASSERT_EQUAL(host_dev(1), connected);
	CU_ASSERT(wire_audit());
}

static void test_hosts_that_send_keep_their_places_longest(void)
{
	const u32 faithful = 2000;
	u32 i;

	wire_make();
	for (i = 0; i < 2 * HCA_PEERS; i++) {
		introduce(3000 + i);
		if (i % 16 == 0)
			introduce(faithful);
		CU_ASSERT(host_dev(faithful) >= 0);
	}
}

/* The oldest hosts make room, also for the program that had them before. */
static void test_a_program_reaches_more_hosts_than_there_are_places(void)
{
	u32 i, handle[4];

	wire_make();
	memset(handle, 0xff, sizeof(handle));
	for (i = 0; i < 2 * HCA_PEERS; i++) {
		if (handle[i % 4] != ~0u)
			handle_destroy(handle[i % 4]);
		CU_ASSERT_EQUAL(handle_create(4000 + i, &handle[i % 4]), 0);
		/* The fabric process does nothing else meanwhile: its loop has to see it. */
		if (roce_due(wire.f, 0))
			wire_turn();
	}
	for (i = 0; i < 4; i++)
		handle_destroy(handle[i]);
	CU_ASSERT(wire_audit());
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a long READ of a queue pair that is not connected is refused",
		  test_a_long_read_of_a_queue_pair_that_is_not_connected_is_refused },
		{ "a long READ out of sequence is refused once",
		  test_a_long_read_out_of_sequence_is_refused_once },
		{ "a long READ that is repeated with a bad key is dropped once",
		  test_a_long_read_that_is_repeated_with_a_bad_key_is_dropped_once },
		{ "a long READ is answered", test_a_long_read_is_answered },
		{ "marks of congestion are answered to the peer alone",
		  test_marks_of_congestion_are_answered_to_the_peer_alone },
		{ "a flood of new hosts takes no place that is in use",
		  test_a_flood_of_new_hosts_takes_no_place_that_is_in_use },
		{ "hosts that send keep their places longest",
		  test_hosts_that_send_keep_their_places_longest },
		{ "a program reaches more hosts than there are places",
		  test_a_program_reaches_more_hosts_than_there_are_places },
		{ NULL, NULL },
	};

	return cu_run("input", tests);
}
