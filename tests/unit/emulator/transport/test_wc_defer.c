/* SPDX-License-Identifier: MIT */
/*
 * Work requests that a rule defers: how long they and what follows wait, and what the end of their
 * queue pair does with them.
 */
#include "tests/unit/emulator/transport/wc_rule.h"

/* Request 2 is deferred for @ns, or until @posts more were posted. */
static void up_deferred(u32 type, u64 ns, u32 posts)
{
	up(type, false, 2, 0);
	rule.hold_ns = ns;
	rule.hold_posts = posts;
}

static void post_ring(u32 opcode, u64 id)
{
	post(opcode, id, 1000);
	emu_ring(m, &a);
}

static void test_deferred(void)
{
	static const u32 type[] = { QPT_RC, QPT_UC };
	u64 begin;

	for (u32 t = 0; t < ARRAY_SIZE(type); t++) {
		up_deferred(type[t], SEC, 0);
		begin = m->clock;
		for (u64 id = 1; id <= 3; id++)
			post(WR_SEND, id, 1000);
		emu_ring(m, &a);
		emu_run(m, begin + SEC - 1);
		CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
		CU_ASSERT_EQUAL(ends(&a.scq, 0), 255);
		CU_ASSERT_EQUAL(rule.later, 0);
		CU_ASSERT_TRUE(emu_run(m, begin + 2 * SEC));
		CU_ASSERT_EQUAL(ends(&a.scq, 2), WCS_SUCCESS);
		CU_ASSERT_EQUAL(ends(&a.scq, 3), WCS_SUCCESS);
		CU_ASSERT_EQUAL(rule.asked, 1);
		CU_ASSERT_EQUAL(rule.later, 1);
		for (u32 id = 101; id <= 103; id++)
			CU_ASSERT_EQUAL(ends(&b.rcq, id), WCS_SUCCESS);
		down();
	}
}

/* What comes before it completes while it is held, and the ACK timeout of that counts as ever. */
static void test_deferred_after_slow(void)
{
	const struct emu_faults wire = { .delay = 100000 };

	up_deferred(QPT_RC, SEC, 0);
	emu_wire(m, &wire);
	m->lose = 1;
	for (u64 id = 1; id <= 3; id++)
		post(WR_SEND, id, 1000);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_run(m, m->clock + 100 * SEC));
	for (u64 id = 1; id <= 3; id++)
		CU_ASSERT_EQUAL(ends(&a.scq, id), WCS_SUCCESS);
	CU_ASSERT_EQUAL(rule.asked, 1);
	CU_ASSERT_EQUAL(m->lost, 1);
	down();
}

/* Work without packets is deferred, too. */
static void test_deferred_local(void)
{
	up_deferred(QPT_RC, SEC, 0);
	post(WR_SEND, 1, 100);
	emu_post(m, &a, WR_LOCAL_INV, 2, NULL, 0);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC - 1);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 0), 255);
	emu_run(m, m->clock + 2 * SEC);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), WCS_MW_BIND_ERR);
	down();
}

static void test_deferred_until_posts(void)
{
	up_deferred(QPT_RC, 3600 * SEC, 2);
	for (u64 id = 1; id <= 3; id++)
		post_ring(WR_SEND, id);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 0), 255);
	post_ring(WR_SEND, 4);
	emu_run(m, m->clock + SEC);
	for (u64 id = 2; id <= 4; id++)
		CU_ASSERT_EQUAL(ends(&a.scq, id), WCS_SUCCESS);
	CU_ASSERT_TRUE(emu_run(m, m->clock + 7200 * SEC));
	down();
}

/* All of them are there when the rule is asked. */
static void test_deferred_not_at_all(void)
{
	up_deferred(QPT_RC, 3600 * SEC, 2);
	for (u64 id = 1; id <= 4; id++)
		post(WR_SEND, id, 1000);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	for (u64 id = 1; id <= 4; id++)
		CU_ASSERT_EQUAL(ends(&a.scq, id), WCS_SUCCESS);
	CU_ASSERT_EQUAL(rule.asked, 1);
	down();
}

/* ERR flushes a deferred request, RESET forgets it, and the queue pair works afterwards. */
static void test_deferred_ends(void)
{
	const struct hca_qp_attr err = { .state = QPS_ERR }, reset = { .state = QPS_RESET };

	up_deferred(QPT_RC, 3600 * SEC, 0);
	for (u64 id = 1; id <= 3; id++)
		post_ring(WR_SEND, id);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &err, QPA_STATE), 0);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ends(&a.scq, 3), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&b.rcq, 0), 255);
	down();

	up_deferred(QPT_RC, 3600 * SEC, 0);
	for (u64 id = 1; id <= 3; id++)
		post_ring(WR_SEND, id);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &reset, QPA_STATE), 0);
	CU_ASSERT_TRUE(emu_run(m, m->clock + 7200 * SEC));
	CU_ASSERT_EQUAL(ends(&a.scq, 0), 255);
	down();
}

static const struct cu_test tests[] = {
	{ "a deferred request", test_deferred },
	{ "a deferred request after one that is repeated", test_deferred_after_slow },
	{ "deferred work without packets", test_deferred_local },
	{ "deferred until others were posted", test_deferred_until_posts },
	{ "not deferred, as the others were posted", test_deferred_not_at_all },
	{ "a deferred request of a queue pair that ends", test_deferred_ends },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("deferred", tests);
}
