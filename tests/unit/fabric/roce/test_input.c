/* SPDX-License-Identifier: MIT */
/* Datagrams of hosts that mean no good, at a wire. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#include "emulator/mad.h"
#include "emulator/port.h"

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
	wire_introduce(2);
	before = dropped();
	p = read_request(wire.fresh.qpn, 0, LIM_MSG);
	wire_put(WIRE_TO_4, 2, &p);
	wire_settle();
	CU_ASSERT_EQUAL(dropped(), before + 1);
	/* One that is connected with another host. */
	p = read_request(wire.live.qpn, live()->resp.epsn, LIM_MSG);
	wire_put(WIRE_TO_4, 2, &p);
	wire_settle();
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
	wire_settle();
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
	wire_settle();
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
		wire_settle();
		CU_ASSERT_EQUAL(wire.n_sent, before + i * (len / 1024));
		CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_READ_RESP_LAST));
	}
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(p.psn, len / 1024));
	CU_ASSERT(wire.n_runs >= 2);
	CU_ASSERT(wire_audit());
}

#define RUN 5u /* packets that arrive in one piece */
#define MTU 1024u

static u8 run_data[RUN * MTU];

/* A message with the first packet on its own, which is longer. The rest is @run. */
static void write_begin_at(enum wire_to to, struct roce_pkt run[RUN], u32 len)
{
	struct roce_pkt p = read_request(wire.live.qpn, live()->resp.epsn, MTU + len);
	u32 i;

	for (i = 0; i < sizeof(run_data); i++)
		run_data[i] = (u8)(i * 7 + i / 256);
	memset(wire.m->c[1].mem, 0, MTU + sizeof(run_data));
	p.opcode = ROCE_OPCODE(ROCE_RC, ROCE_WRITE_FIRST);
	p.ack_req = false;
	p.payload = run_data;
	p.payload_len = p.payload_cap = MTU;
	wire_put(to, 1, &p);
	wire_settle();
	p.opcode = ROCE_OPCODE(ROCE_RC, ROCE_WRITE_MIDDLE);
	for (i = 0; i < RUN; i++) {
		run[i] = p;
		run[i].psn = psn_add(p.psn, i + 1);
		run[i].payload = run_data + (size_t)i * MTU;
		run[i].payload_len = run[i].payload_cap = min_u32(len - i * MTU, MTU);
	}
	run[RUN - 1].opcode = ROCE_OPCODE(ROCE_RC, ROCE_WRITE_LAST);
	run[RUN - 1].ack_req = true;
}

static void write_begin(struct roce_pkt run[RUN], u32 len)
{
	write_begin_at(WIRE_TO_4, run, len);
}

static void test_packets_that_arrive_together_are_one_burst(void)
{
	const u32 len = RUN * MTU - 13;
	struct roce_pkt run[RUN];
	u32 sent, copies;
	u64 numbered;

	wire_make();
	wire_connect();
	write_begin(run, len);
	sent = wire.n_sent;
	copies = wire.n_copies;
	numbered = wire_counts()->numbered;
	wire_put_run(WIRE_TO_4, 1, run, RUN, RUN);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_copies, copies + 1);
	CU_ASSERT_EQUAL(wire_counts()->numbered, numbered);
	CU_ASSERT_EQUAL(wire.n_sent, sent + 1);
	CU_ASSERT_EQUAL(wire.sent.psn, run[RUN - 1].psn);
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(run[RUN - 1].psn, 1));
	CU_ASSERT(!memcmp(wire.m->c[1].mem + MTU, run_data, len));
	/* They are duplicates now: each is acknowledged at most, and nothing is copied. */
	wire_put_run(WIRE_TO_4, 1, run, RUN, RUN);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_copies, copies + 1);
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(run[RUN - 1].psn, 1));
	CU_ASSERT(wire_audit());
}

/* An IPv6 header has no identification by which packets could follow each other. */
static void test_packets_of_ipv6_that_arrive_together_are_one_burst(void)
{
	struct roce_pkt run[RUN];
	u64 numbered;
	u32 copies;

	wire_make();
	wire_connect_at(&wire.live, WIRE_TO_6, 3);
	write_begin_at(WIRE_TO_6, run, RUN * MTU);
	copies = wire.n_copies;
	numbered = wire.f->hca->wires.n_numbered[WIRE_TO_6];
	wire_put_run(WIRE_TO_6, 1, run, RUN, RUN);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_copies, copies + 1);
	CU_ASSERT_EQUAL(wire.f->hca->wires.n_numbered[WIRE_TO_6], numbered);
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(run[RUN - 1].psn, 1));
	CU_ASSERT(!memcmp(wire.m->c[1].mem + MTU, run_data, RUN * MTU));
	CU_ASSERT(wire_audit());
}

/* As long as the answer to its first portion cannot leave, a long READ waits in the inbox. */
static void test_a_datagram_that_is_offered_again_counts_once(void)
{
	struct roce_pkt p;
	u64 numbered;

	wire_make();
	wire_connect();
	numbered = wire_counts()->numbered;
	p = read_request(wire.live.qpn, live()->resp.epsn, EMU_AREA & ~1023u);
	wire.full = true;
	wire_put_numbered(WIRE_TO_4, 1, &p, 77);
	CU_ASSERT(wire_turn());
	CU_ASSERT(wire_turn());
	wire.full = false;
	wire_settle();
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(p.psn, EMU_AREA / 1024));
	CU_ASSERT_EQUAL(wire_counts()->numbered, numbered + 1);
	CU_ASSERT(wire_audit());
}

static void test_a_damaged_packet_among_them_is_lost_alone(void)
{
	struct roce_pkt run[RUN];
	u64 bad;

	wire_make();
	wire_connect();
	write_begin(run, RUN * MTU);
	bad = wire_counts()->dropped[ROCE_DROP_BAD_ICRC];
	wire_put_run(WIRE_TO_4, 1, run, RUN, 2);
	wire_settle();
	CU_ASSERT_EQUAL(wire_counts()->dropped[ROCE_DROP_BAD_ICRC], bad + 1);
	CU_ASSERT_EQUAL(live()->resp.epsn, run[2].psn);
	CU_ASSERT_EQUAL(wire.sent.syndrome, AETH_NAK_PSN_SEQ);
	CU_ASSERT(!memcmp(wire.m->c[1].mem + MTU, run_data, 2 * MTU));
	CU_ASSERT_EQUAL(wire.m->c[1].mem[3 * MTU], 0);
	/* The requester goes back. */
	wire_put_run(WIRE_TO_4, 1, run + 2, RUN - 2, RUN);
	wire_settle();
	CU_ASSERT(!memcmp(wire.m->c[1].mem + MTU, run_data, RUN * MTU));
	CU_ASSERT_EQUAL(live()->resp.epsn, psn_add(run[RUN - 1].psn, 1));
	CU_ASSERT(wire_audit());
}

/* Of other messages, of other queue pairs, or out of sequence: each is judged on its own. */
static void test_packets_that_do_not_follow_are_not_merged(void)
{
	struct roce_pkt run[RUN];
	u32 i;

	for (i = 0; i < 5; i++) {
		wire_make();
		wire_connect();
		write_begin(run, RUN * MTU);
		if (i == 0)
			run[1].psn = psn_add(run[1].psn, 1);
		else if (i == 1)
			run[1].dqpn = wire.fresh.qpn;
		else if (i == 2)
			run[1].pkey = 0x1234;
		else if (i == 3)
			run[1].opcode = ROCE_OPCODE(ROCE_UC, ROCE_WRITE_MIDDLE);
		else
			run[1].opcode = ROCE_OPCODE(ROCE_RC, ROCE_SEND_MIDDLE);
		wire_put_run(WIRE_TO_4, 1, run, RUN, RUN);
		wire_settle();
		/* The packet after the first of them is refused or lost, and so is what follows. */
		CU_ASSERT_EQUAL(live()->resp.epsn, run[1].psn - (i == 0));
		CU_ASSERT(!memcmp(wire.m->c[1].mem + MTU, run_data, MTU));
		CU_ASSERT_EQUAL(wire.m->c[1].mem[2 * MTU + 1], 0);
		CU_ASSERT_EQUAL(live()->state, i == 4 ? QPS_ERR : QPS_RTS);
		CU_ASSERT(wire_audit());
	}
}

/* Post a READ and have it answered, all but the first packet in one piece. */
static void test_responses_that_arrive_together_are_one_burst(void)
{
	const u32 len = (RUN + 2) * MTU;
	struct roce_pkt p, run[RUN];
	u8 *mem = wire.m->c[1].mem;
	u32 copies, i;
	struct sq_wqe *w;
	struct cqe c;

	wire_make();
	wire_connect();
	for (i = 0; i < sizeof(run_data); i++)
		run_data[i] = (u8)(i * 11 + i / 256);
	memset(mem, 0, len);
	w = emu_post(wire.m, &wire.live, WR_RDMA_READ, 2, mem, len);
	emu_remote(wire.m, w, 1, mem);
	emu_ring(wire.m, &wire.live);
	wire_settle();
	CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_READ_REQ));
	p = (struct roce_pkt){ .opcode = ROCE_OPCODE(ROCE_RC, ROCE_READ_RESP_FIRST),
			       .pkey = IB_DEFAULT_PKEY,
			       .dqpn = wire.live.qpn,
			       .psn = wire.sent.psn,
			       .syndrome = 31,
			       .payload = run_data,
			       .payload_len = MTU,
			       .payload_cap = MTU };
	wire_put(WIRE_TO_4, 1, &p);
	wire_settle();
	for (i = 0; i < RUN; i++) {
		run[i] = p;
		run[i].opcode = ROCE_OPCODE(ROCE_RC, ROCE_READ_RESP_MIDDLE);
		run[i].psn = psn_add(p.psn, i + 1);
		run[i].payload = run_data + (size_t)i * MTU;
	}
	copies = wire.n_copies;
	wire_put_run(WIRE_TO_4, 1, run, RUN, RUN);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_copies, copies + 1);
	CU_ASSERT_EQUAL(live()->req.una_psn, psn_add(run[RUN - 1].psn, 1));
	p.opcode = ROCE_OPCODE(ROCE_RC, ROCE_READ_RESP_LAST);
	p.psn = psn_add(run[RUN - 1].psn, 1);
	wire_put(WIRE_TO_4, 1, &p);
	wire_settle();
	CU_ASSERT_FATAL(emu_poll(wire.m, &wire.live.scq, &c, mem));
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT(!memcmp(mem + MTU, run_data, RUN * MTU));
	CU_ASSERT(wire_audit());
}

/* The poller copies it: the fabric process reaches no memory of the program for it. */
static void test_the_payload_of_a_small_send_is_in_its_completion(void)
{
	static const u8 data[] = "small";
	u8 *mem = wire.m->c[1].mem;
	struct roce_pkt p;
	struct cqe c;
	u32 copies;

	wire_make();
	wire_connect();
	p = read_request(wire.live.qpn, live()->resp.epsn, 0);
	p.opcode = ROCE_OPCODE(ROCE_RC, ROCE_SEND_ONLY);
	p.payload = data;
	p.payload_len = p.payload_cap = sizeof(data);
	emu_recv(wire.m, &wire.live, 1, mem, sizeof(data));
	memset(mem, 0, sizeof(data));
	copies = wire.n_copies;
	wire_put(WIRE_TO_4, 1, &p);
	wire_settle();
	CU_ASSERT_FATAL(emu_poll(wire.m, &wire.live.rcq, &c, mem));
	CU_ASSERT_EQUAL(wire.n_copies, copies);
	CU_ASSERT_EQUAL(c.byte_len, sizeof(data));
	CU_ASSERT(!memcmp(mem, data, sizeof(data)));
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
	wire_introduce(2);
	before = wire_counts()->cnp_sent;
	for (i = 0; i < 100; i++) {
		p.psn = psn_add(live()->resp.epsn, 1 + i);
		wire_put(WIRE_TO_4, 2, &p);
	}
	wire_settle();
	CU_ASSERT_EQUAL(wire_counts()->cnp_sent, before);
	for (i = 0; i < 100; i++)
		wire_put(WIRE_TO_4, 1, &p);
	wire_settle();
	CU_ASSERT(wire_counts()->cnp_sent > before && wire_counts()->cnp_sent < before + 10);
	CU_ASSERT(wire_audit());
}

/* Whether the program of the live queue pair is to be woken up by what has arrived. */
static bool is_woken_up(struct client *cl)
{
	bool woken;

	wire_settle();
	woken = wire.f->wake.list == cl;
	CU_ASSERT(wire.f->wake.received);
	wire.f->wake = (struct poller_wakes){ 0 };
	cl->wake = false;
	return woken;
}

/* A poller would find nothing, and sleep again, while the fabric process waits for its CPU. */
static void test_a_program_is_woken_up_by_the_end_of_a_message_alone(void)
{
	static struct client program = { .helper_fd = -1, .lent_fd = -1 };
	struct client **place;
	struct roce_pkt run[RUN], ack;
	struct sq_wqe *w;

	wire_make();
	wire_connect();
	place = &wire.f->clients.by_id[live()->client - 1];
	*place = &program;
	write_begin(run, RUN * MTU);
	CU_ASSERT(!is_woken_up(&program));
	wire_put_run(WIRE_TO_4, 1, run, RUN - 1, RUN);
	CU_ASSERT(!is_woken_up(&program));
	wire_put(WIRE_TO_4, 1, &run[RUN - 1]);
	CU_ASSERT(is_woken_up(&program));
	/* ACKs of the program's own message, of which the last ends it. */
	w = emu_post(wire.m, &wire.live, WR_RDMA_WRITE, 3, wire.m->c[1].mem, 3 * MTU);
	emu_remote(wire.m, w, 1, wire.m->c[1].mem);
	emu_ring(wire.m, &wire.live);
	wire_settle();
	ack = (struct roce_pkt){ .opcode = ROCE_OPCODE(ROCE_RC, ROCE_ACK),
				 .pkey = IB_DEFAULT_PKEY,
				 .dqpn = wire.live.qpn,
				 .psn = live()->req.una_psn,
				 .syndrome = 31 };
	wire_put(WIRE_TO_4, 1, &ack);
	CU_ASSERT(!is_woken_up(&program));
	ack.psn = psn_add(live()->req.next_psn, (u32)-1);
	wire_put(WIRE_TO_4, 1, &ack);
	CU_ASSERT(is_woken_up(&program));
	*place = NULL;
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
		{ "packets that arrive together are one burst",
		  test_packets_that_arrive_together_are_one_burst },
		{ "packets of IPv6 that arrive together are one burst",
		  test_packets_of_ipv6_that_arrive_together_are_one_burst },
		{ "a datagram that is offered again counts once",
		  test_a_datagram_that_is_offered_again_counts_once },
		{ "a damaged packet among them is lost alone",
		  test_a_damaged_packet_among_them_is_lost_alone },
		{ "packets that do not follow are not merged",
		  test_packets_that_do_not_follow_are_not_merged },
		{ "responses that arrive together are one burst",
		  test_responses_that_arrive_together_are_one_burst },
		{ "the payload of a small SEND is in its completion",
		  test_the_payload_of_a_small_send_is_in_its_completion },
		{ "marks of congestion are answered to the peer alone",
		  test_marks_of_congestion_are_answered_to_the_peer_alone },
		{ "a program is woken up by the end of a message alone",
		  test_a_program_is_woken_up_by_the_end_of_a_message_alone },
		{ NULL, NULL },
	};

	return cu_run("input", tests);
}
