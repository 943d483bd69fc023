/* SPDX-License-Identifier: MIT */
/*
 * A waiter gets the token after a bounded number of holdings by others, whatever became of the
 * waiters that queued before it.
 */
#include "emulator/init.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define BOUND(ahead) (((ahead) + 1) * (TOKEN_PASSES + 2))
#define BUSY	     8
#define TURNS	     200

static struct emu *m;

/* Holdings by @e, a poller that never waits, until it is refused; at most @max. */
static u32 holdings_until_refused(struct engine *e, u32 max)
{
	u32 n;

	for (n = 0; n < max && engine_try(e); n++)
		engine_leave(e);
	return n;
}

static void test_reserved(void)
{
	struct token_wait w = { 0 };
	u32 n;

	m = emu_new(1);
	CU_ASSERT_TRUE(engine_try(&m->c[0].e));
	CU_ASSERT_FALSE(token_queue_try(&m->c[1].e, &w));
	engine_leave(&m->c[0].e);
	n = holdings_until_refused(&m->c[0].e, 1000);
	CU_ASSERT_TRUE(n + 1 <= BOUND(0));
	CU_ASSERT_TRUE(n > 0);
	CU_ASSERT_FALSE(engine_try(&m->fabric));
	CU_ASSERT_TRUE(token_queue_try(&m->c[1].e, &w));
	engine_leave(&m->c[1].e);
	/* Nobody waits any more: nobody is refused. */
	CU_ASSERT_EQUAL(holdings_until_refused(&m->c[0].e, 1000), 1000);
	emu_free(m);
}

static void test_order(void)
{
	struct token_wait w[3] = { 0 };
	u32 i, j, n = 0;

	m = emu_new(1);
	CU_ASSERT_TRUE(engine_try(&m->c[0].e));
	for (i = 0; i < 3; i++)
		CU_ASSERT_FALSE(token_queue_try(&m->c[1 + i].e, &w[i]));
	engine_leave(&m->c[0].e);
	for (i = 0; i < 3; i++) {
		n += holdings_until_refused(&m->c[0].e, 1000) + 1;
		CU_ASSERT_TRUE(n <= BOUND(i));
		for (j = i + 1; j < 3; j++)
			CU_ASSERT_FALSE(token_queue_try(&m->c[1 + j].e, &w[j]));
		CU_ASSERT_TRUE(token_queue_try(&m->c[1 + i].e, &w[i]));
		engine_leave(&m->c[1 + i].e);
	}
	CU_ASSERT_EQUAL(holdings_until_refused(&m->c[0].e, 1000), 1000);
	emu_free(m);
}

/* The first in the queue has died: the next holder forgets it. */
static void test_dead(void)
{
	struct token_wait dead = { 0 }, w = { 0 };

	m = emu_new(1);
	CU_ASSERT_TRUE(engine_try(&m->c[0].e));
	CU_ASSERT_FALSE(token_queue_try(&m->c[1].e, &dead));
	CU_ASSERT_FALSE(token_queue_try(&m->c[2].e, &w));
	m->hca->client[m->c[1].id].state = CLIENT_DYING;
	engine_leave(&m->c[0].e);
	CU_ASSERT_TRUE(token_queue_try(&m->c[2].e, &w));
	engine_leave(&m->c[2].e);
	m->hca->client[m->c[1].id].state = CLIENT_LIVE;
	emu_free(m);
}

/* Looks of @w at the queue until it has the token. */
static u32 looks_until_taken(struct engine *e, struct token_wait *w)
{
	u32 n;

	for (n = 1; n < 3 * TOKEN_LAPSE_LOOKS; n++)
		if (token_queue_try(e, w))
			break;
	return n;
}

/* The first in the queue lives, but never comes: others skip it, and it queues anew. */
static void test_absent(bool reserved)
{
	struct token_wait absent = { 0 }, w = { 0 };

	m = emu_new(1);
	CU_ASSERT_TRUE(engine_try(&m->c[0].e));
	CU_ASSERT_FALSE(token_queue_try(&m->c[1].e, &absent));
	engine_leave(&m->c[0].e);
	if (reserved)
		CU_ASSERT_TRUE(holdings_until_refused(&m->c[0].e, 1000) < 1000);
	CU_ASSERT_TRUE(looks_until_taken(&m->fabric, &w) <= TOKEN_LAPSE_LOOKS + 2);
	CU_ASSERT_FALSE(token_queue_try(&m->c[1].e, &absent));
	engine_leave(&m->fabric);
	CU_ASSERT_TRUE(token_queue_try(&m->c[1].e, &absent));
	engine_leave(&m->c[1].e);
	CU_ASSERT_EQUAL(holdings_until_refused(&m->c[0].e, 1000), 1000);
	emu_free(m);
}

static void test_absent_free(void)
{
	test_absent(false);
}

static void test_absent_reserved(void)
{
	test_absent(true);
}

/* A doorbell that is rung while the token is reserved, and the waiter's turn comes. */
static void test_doorbell(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct token_wait w = { 0 };
	struct emu_qp a, b;
	struct cqe cqe;

	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	CU_ASSERT_TRUE(engine_try(&m->c[0].e));
	CU_ASSERT_FALSE(token_queue_try(&m->c[2].e, &w));
	engine_leave(&m->c[0].e);
	CU_ASSERT_TRUE(holdings_until_refused(&m->c[1].e, 1000) < 1000);
	m->kicks = 0;
	emu_remote(m, emu_post(m, &a, WR_RDMA_WRITE, 7, m->c[0].mem, 64), 1, m->c[1].mem);
	emu_publish(m, &a);
	engine_doorbell(&m->c[0].e, m->c[0].seg, a.slot);
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &cqe, NULL));
	/* Should the waiter never come, the fabric process knows. */
	CU_ASSERT_EQUAL(m->kicks, 1);
	CU_ASSERT_TRUE(token_queue_try(&m->c[2].e, &w));
	engine_leave(&m->c[2].e);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &cqe, NULL));
	emu_free(m);
}

/* Threads that take the token whenever it is free. */
struct busy {
	struct engine e;
	pthread_t thread;
};
static u32 stop;
static u32 foreign; /* holdings of theirs; under the token */

static void *busy_main(void *arg)
{
	struct busy *b = arg;

	while (!load_relaxed(&stop)) {
		if (!engine_try(&b->e))
			continue;
		store_relaxed(&foreign, foreign + 1);
		engine_leave(&b->e);
	}
	return NULL;
}

static void test_busy(void)
{
	struct token_wait w = { 0 };
	struct busy busy[BUSY];
	u32 i, before, most = 0;

	m = emu_new(1);
	stop = 0;
	for (i = 0; i < BUSY; i++) {
		busy[i].e = m->c[0].e;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&busy[i].thread, NULL, busy_main, &busy[i]),
				      0);
	}
	for (i = 0; i < TURNS; i++) {
		bool taken = token_queue_try(&m->c[1].e, &w);

		before = load_relaxed(&foreign);
		for (; !taken; taken = token_queue_try(&m->c[1].e, &w))
			sched_yield();
		most = foreign - before > most && foreign >= before ? foreign - before : most;
		engine_leave(&m->c[1].e);
	}
	store_relaxed(&stop, 1);
	for (i = 0; i < BUSY; i++)
		pthread_join(busy[i].thread, NULL);
	CU_ASSERT_TRUE(most <= BOUND(0));
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "the token is reserved for a waiter after a bounded number of holdings", test_reserved },
	{ "waiters get the token in the order in which they came", test_order },
	{ "a waiter that died holds nobody up", test_dead },
	{ "a waiter that never comes is skipped while the token is free", test_absent_free },
	{ "a waiter that never comes is skipped while the token is reserved",
	  test_absent_reserved },
	{ "a doorbell rung while the token is reserved is served", test_doorbell },
	{ "a waiter among busy threads gets the token within the bound", test_busy },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("token queue", tests);
}
