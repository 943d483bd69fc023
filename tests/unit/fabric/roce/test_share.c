/* SPDX-License-Identifier: MIT */
/* A wire whose inbox programs have as well. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

/* A request that the responder refuses, once for each connection: a NAK leaves when it arrives. */
static void put_request(void)
{
	const struct hca_qp *qp = &wire.m->hca->qp[wire.live.slot];
	const struct roce_pkt p = { .opcode = ROCE_OPCODE(ROCE_RC, ROCE_READ_REQ),
				    .pkey = IB_DEFAULT_PKEY,
				    .dqpn = wire.live.qpn,
				    .psn = psn_add(qp->resp.epsn, 5),
				    .ack_req = true,
				    .va = (uintptr_t)wire.m->c[1].mem,
				    .rkey = wire.m->c[1].key,
				    .dma_len = 8 };

	wire_put(WIRE_TO_4, 1, &p);
}

static struct roce_inbox *inbox(void)
{
	return &wire.f->roce->wire[WIRE_TO_4].box;
}

static struct hca_wires *wires(void)
{
	return &wire.m->hca->wires;
}

static bool is_due(void)
{
	return roce_due(wire.f, wire.m->clock);
}

/* A wire that a program has asked for, and may read from now on. @pass: since the test before */
static void begin(u64 pass)
{
	int fd;

	wire_make();
	wire_connect();
	wire_settle();
	wire.m->clock += pass;
	wires()->looked = 0;
	CU_ASSERT_EQUAL_FATAL(roce_share(wire.f, WIRE_TO_4, false, &fd), 0);
	CU_ASSERT_FALSE_FATAL(is_due());
}

#define LONG (10 * NSEC_PER_SEC)

static void test_reads_when_nobody_looks(void)
{
	u32 before;

	begin(LONG);
	before = wire.n_sent;
	put_request();
	CU_ASSERT_TRUE(is_due());
	CU_ASSERT_EQUAL(wire.n_sent, before);
	wire_turn();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
}

static void test_leaves_it_to_programs(void)
{
	u32 before, i;

	begin(LONG);
	before = wire.n_sent;
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_TRUE(inbox()->deferred && wires()->deferred);
	for (i = 0; i < 1000; i++) {
		wires()->looked = wire.m->clock += 100 * NSEC_PER_USEC;
		CU_ASSERT_FALSE(is_due());
	}
	CU_ASSERT_EQUAL(wire.n_sent, before);
	/* It looks no more. */
	wire.m->clock += 20 * NSEC_PER_MSEC;
	CU_ASSERT_TRUE(is_due());
	wire_turn();
	CU_ASSERT_FALSE(inbox()->deferred || wires()->deferred);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
}

static void test_stops_relying_on_programs(void)
{
	begin(LONG);
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_TRUE(inbox()->deferred);
	wire.m->clock += 20 * NSEC_PER_MSEC;
	wire_turn();
	/* The datagram has waited, and programs had read none. */
	begin(0);
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_FALSE(inbox()->deferred);
	CU_ASSERT_TRUE(is_due());
	wire_turn();
	begin(LONG);
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_TRUE(inbox()->deferred);
	wires()->looked = 0;
	wire_turn();
}

static void test_program_says_that_it_sleeps(void)
{
	u32 before;

	begin(LONG);
	before = wire.n_sent;
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_FALSE(is_due());
	wires()->looked = 0;
	CU_ASSERT_TRUE(is_due());
	wire_turn();
	CU_ASSERT_FALSE(inbox()->deferred);
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
}

/* As a program reads. */
static void read_as_program(void)
{
	wire.on = true;
	CU_ASSERT_EQUAL(ingress_read(inbox()->w.fd, inbox()->got, 4), 1);
	wire.on = false;
}

static void test_goes_on_with_what_is_left(void)
{
	u32 before;

	begin(LONG);
	before = wire.n_sent;
	wires()->looked = wire.m->clock;
	put_request();
	CU_ASSERT_FALSE(is_due());
	inbox()->got->owner = 1;
	read_as_program();
	CU_ASSERT_FALSE(is_due());
	inbox()->got->owner = 0;
	CU_ASSERT_TRUE(is_due());
	wire_turn();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT_FALSE(roce_has_left(wire.f));
}

/* It may have been in the midst of a burst. */
static void test_forgets_what_a_dead_program_has_read(void)
{
	struct ingress_box *got;
	u32 before;

	begin(LONG);
	got = inbox()->got;
	before = wire.n_sent;
	put_request();
	got->owner = 1;
	read_as_program();
	got->in[0].held = got->in[0].end;
	wire_turn();
	CU_ASSERT_EQUAL(wire.n_sent, before);
	CU_ASSERT_TRUE(!got->owner && got->at == got->n);
	put_request();
	wire_turn();
	CU_ASSERT_EQUAL(wire.n_sent, before + 1);
	CU_ASSERT(wire_audit());
}

static const struct cu_test tests[] = {
	{ "datagrams are read in a turn where no program looks", test_reads_when_nobody_looks },
	{ "datagrams wait for programs that look", test_leaves_it_to_programs },
	{ "programs that let one wait are not relied on", test_stops_relying_on_programs },
	{ "a program that is about to sleep ends the wait", test_program_says_that_it_sleeps },
	{ "what a program has left is delivered", test_goes_on_with_what_is_left },
	{ "what a dead program has read is lost", test_forgets_what_a_dead_program_has_read },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("share", tests);
}
