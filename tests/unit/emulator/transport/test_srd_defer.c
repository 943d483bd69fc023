/* SPDX-License-Identifier: MIT */
/*
 * Messages of SRD that a rule defers: they hold up no other message, and begin after a time, or
 * when so many more were posted.
 */
#include "tests/unit/emulator/transport/srd_peer.h"

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;
static u32 ah;

/* The rule: message @DEFERRED waits. */
#define DEFERRED 2
static u64 hold_ns;
static u32 hold_posts;

static u32 decide(struct emu *e, struct hca_work *w)
{
	(void)e;
	if (!w->recv && w->wr_id == DEFERRED) {
		w->hold_ns = hold_ns;
		w->hold_posts = hold_posts;
	}
	return 0;
}

static void post(u64 id)
{
	emu_recv(m, &b, id, m->c[1].mem, 64);
	srd_post(m, &a, WR_SEND, id, 0, 8, ah, &b);
}

/* With the rule, and @n messages. */
static void up(u64 ns, u32 posts, u64 n)
{
	m = srd_pair(16, &a, &b, &ah);
	hold_ns = ns;
	hold_posts = posts;
	emu_fault(m, decide);
	for (u64 id = 1; id <= n; id++)
		post(id);
	emu_ring(m, &a);
}

/* The messages that have completed since, a decimal digit each. */
static u32 completed(void)
{
	struct cqe c;
	u32 ids = 0;

	while (emu_poll(m, &a.scq, &c, NULL)) {
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		ids = ids * 10 + (u32)c.wr_id;
	}
	return ids;
}

static void test_time(void)
{
	u64 begin;

	up(SEC, 0, 4);
	begin = m->clock;
	emu_run(m, begin + SEC - 1);
	CU_ASSERT_EQUAL(completed(), 134);
	emu_run(m, begin + 2 * SEC);
	CU_ASSERT_EQUAL(completed(), DEFERRED);
	emu_free(m);
}

static void test_posts(void)
{
	up(3600 * SEC, 2, 3);
	emu_run(m, m->clock + 10 * SEC);
	CU_ASSERT_EQUAL(completed(), 13);
	post(4);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(completed(), DEFERRED * 10 + 4);
	CU_ASSERT_TRUE(emu_run(m, m->clock + 7200 * SEC));
	CU_ASSERT_EQUAL(completed(), 0);
	emu_free(m);
}

static void test_posted_already(void)
{
	up(3600 * SEC, 2, 4);
	CU_ASSERT_EQUAL(completed(), 1234);
	emu_free(m);
}

/* A wait for a receive, after the rule's, is not shortened by posts. */
static void test_posts_after_rnr(void)
{
	u64 begin;

	up(SEC, 2, 0);
	srd_post(m, &a, WR_SEND, DEFERRED, 0, 8, ah, &b);
	emu_ring(m, &a);
	begin = m->clock;
	/* It is sent, and refused. */
	emu_run(m, begin + SEC + 1);
	CU_ASSERT_EQUAL(completed(), 0);
	for (u64 id = 3; id <= 5; id++)
		post(id);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(completed(), 345);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a deferred message holds up no other", test_time },
	{ "deferred until others were posted", test_posts },
	{ "not deferred, as the others were posted", test_posted_already },
	{ "posts do not end a wait for a receive", test_posts_after_rnr },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("SRD, deferred", tests);
}
