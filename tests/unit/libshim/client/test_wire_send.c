/* SPDX-License-Identifier: MIT */
/* Packets that a program sends by itself. See tests/lib/program/program.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/program/program.h"

#include "emulator/qp.h"

#define OWNER 1u /* of wire.live */
#define MANY  20u /* flows, more than a program has sockets */

static struct hca_qp *live(void)
{
	return &wire.m->hca->qp[wire.live.slot];
}

/* A datagram socket that the fabric process has: it sent the latest packet. */
static bool fabric_has_sent(void)
{
	return !program_port(wire.sent_by);
}

static void test_sends_from_the_port_of_the_flow(void)
{
	u32 before, i;

	program_begin(OWNER);
	before = wire.n_sent;
	for (i = 1; i <= 3; i++) {
		program_send(&wire.live, 100);
		CU_ASSERT_EQUAL(wire.n_sent, before + i);
		CU_ASSERT_EQUAL(program_port(wire.sent_by), wire.sent.udp_src);
	}
	CU_ASSERT_EQUAL(program.n_opened, 1);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING_NOTHING);
}

/* Each message is longer than a packet in every second round: it leaves with the token held. */
static void test_many_flows_take_turns(void)
{
	static struct emu_qp q[MANY];
	struct emu_conn o = emu_conn_defaults;
	u32 round, i, before, psn, packets;

	program_begin(OWNER);
	for (i = 0; i < MANY; i++) {
		q[i] = emu_qp_new(wire.m, OWNER, &o, 1);
		wire_connect_qp(&q[i], 3);
	}
	for (round = 0; round < 4; round++) {
		packets = round % 2 ? 5 : 1;
		for (i = 0; i < MANY; i++) {
			before = wire.n_sent;
			psn = wire.m->hca->qp[q[i].slot].req.next_psn;
			program_send(&q[i], packets * 1024);
			CU_ASSERT_EQUAL(wire.n_sent, before + packets);
			CU_ASSERT_EQUAL(wire.sent.psn, psn_add(psn, packets - 1));
			CU_ASSERT_EQUAL(program_port(wire.sent_by), wire.sent.udp_src);
			CU_ASSERT_EQUAL(wire.m->hca->qp[q[i].slot].leaving, LEAVING_NOTHING);
		}
	}
	CU_ASSERT_TRUE(program.n_open < MANY);
	for (i = 0; i < MANY; i++)
		emu_destroy(wire.m, &q[i]);
	CU_ASSERT(wire_audit());
}

static void test_without_a_socket_the_fabric_process_sends(void)
{
	u32 before;

	program_begin(OWNER);
	program.refuses = true;
	before = wire.n_sent;
	program_send(&wire.live, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_TRUE(fabric_has_sent());
}

/* The program has closed what it does not know, and has a socket of its own with the number. */
static void test_nothing_enters_a_socket_of_the_program(void)
{
	u32 before;
	int fd;

	program_begin(OWNER);
	program_send(&wire.live, 100);
	fd = wire.sent_by;
	CU_ASSERT_NOT_EQUAL_FATAL(program_port(fd), 0);
	program_takes_number(fd);
	before = wire.n_sent;
	program_send(&wire.live, 100);
	program_send(&wire.live, 5000);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1 + 5);
	CU_ASSERT_NOT_EQUAL(wire.sent_by, fd);
	CU_ASSERT_TRUE(fabric_has_sent());
}

static int taken;

static void take_number(void)
{
	program_takes_number(taken);
	wire.full = false;
}

/* Another thread does so while the one that sends waits for room. */
static void test_nor_while_a_packet_waits_for_room(void)
{
	u64 lost = wire.m->hca->wires.n_lost[WIRE_TO_4];
	u32 before;

	program_begin(OWNER);
	program_send(&wire.live, 100);
	taken = wire.sent_by;
	before = wire.n_sent;
	wire.full = true;
	program.naps = take_number;
	program_send(&wire.live, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT_EQUAL(wire.m->hca->wires.n_lost[WIRE_TO_4], lost + 1);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING_NOTHING);
	/* What follows is not held back, and the timeout brings all three. */
	program_send(&wire.live, 100);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	wire.m->clock += 10 * NSEC_PER_SEC;
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1 + 3);
	CU_ASSERT_TRUE(fabric_has_sent());
}

static void test_waits_for_room(void)
{
	u32 before;

	program_begin(OWNER);
	before = wire.n_sent;
	wire.full = true;
	program_send(&wire.live, 100);
	CU_ASSERT_FALSE(wire.full);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING_NOTHING);
}

/* A thread loses its CPU between the token and its packet, and another one posts. */
static void test_packets_of_two_threads(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp other = emu_qp_new(wire.m, OWNER, &o, 1);
	u32 before;

	wire_connect_qp(&other, 3);
	program_begin(OWNER);
	program_send(&wire.live, 100);
	before = wire.n_sent;
	program.dies = true;
	program_send(&wire.live, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	program.dies = false;
	program_send(&other, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before + 2);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING_NOTHING);
	emu_destroy(wire.m, &other);
	CU_ASSERT(wire_audit());
}

/* Its queue pair ends with it. The one that gets its place has nothing that is about to leave. */
static void test_a_program_that_is_killed_before_it_sends(void)
{
	struct emu_conn o = emu_conn_defaults;
	const u32 slot = wire.live.slot;
	u32 before;

	program_begin(OWNER);
	program.dies = true;
	before = wire.n_sent;
	program_send(&wire.live, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING);
	program_end();
	CU_ASSERT(wire_audit());
	emu_client_new(wire.m, OWNER);
	/* Numbers come round late. */
	wire.m->hca->tab[TAB_QP].cursor = slot;
	wire.live = emu_qp_new(wire.m, OWNER, &o, 4);
	CU_ASSERT_EQUAL_FATAL(wire.live.slot, slot);
	program_begin(OWNER);
	before = wire.n_sent;
	program_send(&wire.live, 100);
	program_send(&wire.live, 100);
	CU_ASSERT_EQUAL(wire.n_sent, before + 2);
	CU_ASSERT(wire_audit());
}

static const struct cu_test tests[] = {
	{ "a program sends from the port of the flow", test_sends_from_the_port_of_the_flow },
	{ "more flows than sockets take turns", test_many_flows_take_turns },
	{ "without a socket the fabric process sends",
	  test_without_a_socket_the_fabric_process_sends },
	{ "a packet waits for room in its socket", test_waits_for_room },
	{ "nothing enters a socket of the program", test_nothing_enters_a_socket_of_the_program },
	{ "nor does it while a packet waits for room", test_nor_while_a_packet_waits_for_room },
	{ "packets of two threads leave one after the other", test_packets_of_two_threads },
	{ "a queue pair is used again when its program was killed before it sent",
	  test_a_program_that_is_killed_before_it_sends },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("wire_send", tests);
}
