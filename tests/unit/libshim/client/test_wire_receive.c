/* SPDX-License-Identifier: MIT */
/* Datagrams that a program receives by itself. See tests/lib/program/program.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/program/program.h"
#include "tests/lib/wire/wire_calls.h"

#include "emulator/ib.h"
#include "emulator/qp.h"

#define OTHER 0u /* a program */
#define OWNER 1u /* and that of wire.live */

static struct hca_qp *live(void)
{
	return &wire.m->hca->qp[wire.live.slot];
}

static void put_message_as(u32 psn)
{
	static const u8 data[64];
	const struct roce_pkt p = { .opcode = ROCE_OPCODE(ROCE_RC, ROCE_SEND_ONLY),
				    .pkey = IB_DEFAULT_PKEY,
				    .dqpn = wire.live.qpn,
				    .psn = psn,
				    .ack_req = true,
				    .payload = data,
				    .payload_len = sizeof(data),
				    .payload_cap = sizeof(data) };

	wire_put(WIRE_TO_4, 1, &p);
}

/* Host 1 sends a message to wire.live, which has a receive for it. */
static void put_message(void)
{
	emu_recv(wire.m, &wire.live, 1, wire.m->c[OWNER].mem, 64);
	put_message_as(live()->resp.epsn);
}

/* Completions that wire.live's program finds. */
static u32 completions(void)
{
	struct cqe c;
	u32 n = 0;

	while (emu_poll(wire.m, &wire.live.rcq, &c, wire.m->c[OWNER].mem))
		n++;
	return n;
}

/* A program, which has looked a moment ago. */
static void begin(u32 client)
{
	program_begin(client);
	(void)completions(); /* those of before come again: the queue pair is as new */
	wire.m->clock += 10 * NSEC_PER_SEC;
	program_open_wires();
	(void)program_look();
}

static void test_answers_what_it_has_received(void)
{
	u32 before;

	begin(OWNER);
	before = wire.n_sent;
	put_message();
	CU_ASSERT_EQUAL(program_look(), WIRE_FOUND);
	CU_ASSERT_EQUAL(completions(), 1);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_ACK));
	CU_ASSERT_EQUAL(program_port(wire.sent_by), wire.sent.udp_src);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
}

/* The message is not taken before its answer can leave: it would come again, and be a duplicate. */
static void test_an_answer_without_a_socket(void)
{
	u32 before, kicks;

	begin(OWNER);
	program.refuses = true;
	before = wire.n_sent;
	kicks = program.n_kicks;
	put_message();
	(void)program_look();
	CU_ASSERT_EQUAL(completions(), 0);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT_TRUE(program.n_kicks > kicks);
	CU_ASSERT_TRUE(roce_has_left(wire.f));
	wire_settle();
	CU_ASSERT_EQUAL(completions(), 1);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_ACK));
	CU_ASSERT_EQUAL(program_port(wire.sent_by), 0);
	CU_ASSERT_FALSE(roce_has_left(wire.f));
	CU_ASSERT(wire_audit());
}

/* The same when the program has a socket of its own with the number of the flow's. */
static void test_an_answer_enters_no_socket_of_the_program(void)
{
	u32 before;
	int fd;

	begin(OWNER);
	put_message();
	CU_ASSERT_EQUAL(program_look(), WIRE_FOUND);
	fd = wire.sent_by;
	CU_ASSERT_NOT_EQUAL_FATAL(program_port(fd), 0);
	program_takes_number(fd);
	before = wire.n_sent;
	put_message();
	(void)program_look();
	wire_settle();
	CU_ASSERT_EQUAL(completions(), 2);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_NOT_EQUAL(wire.sent_by, fd);
}

static void test_reads_no_socket_of_the_program(void)
{
	u32 before;

	begin(OWNER);
	before = wire.n_sent;
	program_takes_number(program_wire(WIRE_TO_4));
	program_takes_number(program_wire(WIRE_TO_6));
	put_message();
	(void)program_look();
	CU_ASSERT_PTR_NOT_NULL(wire_arriving.data);
	CU_ASSERT_EQUAL(program_look(), WIRE_OFF);
	wire_settle();
	CU_ASSERT_EQUAL(completions(), 1);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
}

/* Its answer is lost as on a network, and the queue pair, which is another program's, goes on. */
static void test_a_receiver_that_is_killed_before_it_answers(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp q;
	u32 before;

	program_begin(OTHER);
	q = emu_qp_new(wire.m, OTHER, &o, 1);
	wire_connect_qp(&q, 3);
	begin(OTHER);
	program.dies = true;
	before = wire.n_sent;
	put_message();
	CU_ASSERT_EQUAL(program_look(), WIRE_FOUND);
	CU_ASSERT_EQUAL(completions(), 1);
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT_EQUAL(live()->leaving, LEAVING_NOTHING);
	program_end();
	CU_ASSERT(wire_audit());
	emu_post(wire.m, &wire.live, WR_SEND, 1, wire.m->c[OWNER].mem, 100);
	emu_ring(wire.m, &wire.live);
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	/* The host sends it again. */
	put_message_as(psn_add(live()->resp.epsn, -1u));
	wire_settle();
	CU_ASSERT_EQUAL(wire.n_sent, before + 2);
	CU_ASSERT_EQUAL(wire.sent.opcode, ROCE_OPCODE(ROCE_RC, ROCE_ACK));
	CU_ASSERT_EQUAL(completions(), 0);
	CU_ASSERT(wire_audit());
}

static const struct cu_test tests[] = {
	{ "a program answers what it has received", test_answers_what_it_has_received },
	{ "what it cannot answer is left to the fabric process", test_an_answer_without_a_socket },
	{ "an answer enters no socket of the program",
	  test_an_answer_enters_no_socket_of_the_program },
	{ "no socket of the program is read", test_reads_no_socket_of_the_program },
	{ "a queue pair goes on when a program is killed before it answers for it",
	  test_a_receiver_that_is_killed_before_it_answers },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("wire_receive", tests);
}
