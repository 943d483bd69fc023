/* SPDX-License-Identifier: MIT */
/*
 * The connection protocol over a wire that loses, duplicates and reorders: programs see the same
 * events, only later. And its timers, when no answer comes at all.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"

#define MS	 1000000ULL
#define CM_TRIES 16u /* the first and 15 more */

static const struct emu_faults slow = { .delay = 10 * MS };

/*
 * A life of a connection, from request to TIMEWAIT's end. Return: whether all was told, in order.
 */
static bool life(struct emu_cm *c, u64 lose, u64 twice)
{
	struct cm_param p = emu_cm_param(0x1234, CM_REQ_DATA);
	struct emu_id a = emu_cm_active(c), b;
	struct emu *m = c->m;
	struct cm_event ev;

	m->carried = 0;
	m->lose = lose;
	m->twice = twice;
	if (emu_cm_connect(m, &a, &p))
		return false;
	b = emu_cm_request(c);
	if (emu_cm_accept(m, &b, NULL) || !emu_cm_await(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev))
		return false;
	if (emu_cm_rtu(m, &a) || !emu_cm_await(c, 1, CM_EV_ESTABLISHED, 0, &ev))
		return false;
	/* A request that comes late, after its connection's end, would be a new one. */
	emu_run(m, m->clock + 2 * m->faults.jitter);
	if (emu_cm_disconnect(m, &a) || !emu_cm_await(c, 1, CM_EV_DISCONNECTED, 0, &ev))
		return false;
	if (emu_cm_disconnect(m, &b) || !emu_cm_await(c, 0, CM_EV_DISCONNECTED, 0, &ev))
		return false;
	if (!emu_cm_await(c, 0, CM_EV_TIMEWAIT_EXIT, 0, &ev) ||
	    !emu_cm_await(c, 1, CM_EV_TIMEWAIT_EXIT, 0, &ev))
		return false;
	m->lose = m->twice = 0;
	if (emu_cm_destroy(m, &a) || emu_cm_destroy(m, &b))
		return false;
	/* Nothing is left of it: no timer, no message, no event, no identifier. */
	return emu_run(m, ~0ULL) && !emu_cm_next(c, 0, &ev) && !emu_cm_next(c, 1, &ev) &&
	       m->hca->tab[TAB_CMID].n == 1 && emu_cm_audit(m);
}

static void test_each_lost(void)
{
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	u64 n;

	emu_wire(c->m, &slow);
	CU_ASSERT_FATAL(life(c, 0, 0));
	CU_ASSERT_EQUAL(c->m->carried, 5);
	for (n = 1; n <= 5; n++) {
		CU_ASSERT(life(c, n, 0));
		CU_ASSERT(c->m->carried > 5);
	}
	emu_cm_free(c);
}

static void test_each_twice(void)
{
	struct emu_cm *c = emu_cm_new(2, CM_PS_TCP, 0);
	u64 n;

	emu_wire(c->m, &slow);
	for (n = 1; n <= 5; n++)
		CU_ASSERT(life(c, 0, n));
	emu_cm_free(c);
}

static void test_storm(void)
{
	static const struct emu_faults bad = {
		.loss = 250, .dup = 250, .late = 500, .delay = MS, .jitter = 12000 * MS
	};
	struct emu_cm *c = emu_cm_new(3, CM_PS_TCP, 0);
	u32 i;

	emu_wire(c->m, &bad);
	for (i = 0; i < 100; i++)
		CU_ASSERT_FATAL(life(c, 0, 0));
	CU_ASSERT(c->m->lost > 50 && c->m->dups > 50);
	emu_cm_free(c);
}

/*
 * A program that takes its time answers what comes again with an MRA; then the peer waits longer.
 */
static void test_mra(void)
{
	struct emu_cm *c = emu_cm_new(4, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct emu *m = c->m;
	struct cm_event ev;
	u64 start;

	emu_wire(m, &slow);
	start = m->clock;
	CU_ASSERT_EQUAL(emu_cm_connect(m, &a, NULL), 0);
	/* 2^20 * 4.096 us and the path there and back, in the kernel's milliseconds. */
	CU_ASSERT_EQUAL(emu_cmid(m, &a)->deadline - start, (4096 + 2 * 256) * MS);
	b = emu_cm_request(c);
	CU_ASSERT(!emu_run(m, start + 4700 * MS));
	CU_ASSERT_EQUAL(m->carried, 3);
	CU_ASSERT_EQUAL(emu_cmid(m, &a)->proto, CMP_MRA_REQ_RCVD);
	CU_ASSERT_EQUAL(emu_cmid(m, &a)->wait, (65536 + 512) * MS);
	CU_ASSERT(!emu_run(m, start + 70000 * MS));
	CU_ASSERT_EQUAL(m->carried, 3);
	CU_ASSERT_EQUAL(emu_cm_accept(m, &b, NULL), 0);
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	/* The same at the active side. */
	CU_ASSERT(!emu_run(m, m->clock + 4200 * MS));
	CU_ASSERT_EQUAL(emu_cmid(m, &b)->proto, CMP_MRA_REP_RCVD);
	CU_ASSERT_EQUAL(emu_cm_rtu(m, &a), 0);
	CU_ASSERT(emu_cm_await(c, 1, CM_EV_ESTABLISHED, 0, &ev));
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(c);
}

static void test_unreachable(void)
{
	static const struct emu_faults dead = { .loss = 1000 };
	struct emu_cm *c = emu_cm_new(5, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c);
	struct emu *m = c->m;
	struct cm_event ev;
	u64 start;

	emu_wire(m, &dead);
	start = m->clock;
	CU_ASSERT_EQUAL(emu_cm_connect(m, &a, NULL), 0);
	CU_ASSERT(emu_run(m, ~0ULL));
	CU_ASSERT_EQUAL(m->carried, CM_TRIES);
	CU_ASSERT_EQUAL(m->clock - start, CM_TRIES * 4608 * MS);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_UNREACHABLE, -ETIMEDOUT, &ev));
	CU_ASSERT_EQUAL(m->hca->error[0].cause, CAUSE_CM_TIMEOUT);
	CU_ASSERT_EQUAL(emu_cm_connect(m, &a, NULL), -EINVAL);
	CU_ASSERT_EQUAL(emu_cm_destroy(m, &a), 0);
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(c);
}

/* The passive side is told, too, when its reply is not answered. */
static void test_no_rtu(void)
{
	static const struct emu_faults dead = { .loss = 1000 };
	struct emu_cm *c = emu_cm_new(6, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c), b;
	struct emu *m = c->m;
	struct cm_event ev;

	CU_ASSERT_EQUAL(emu_cm_connect(m, &a, NULL), 0);
	b = emu_cm_request(c);
	emu_wire(m, &dead);
	CU_ASSERT_EQUAL(emu_cm_accept(m, &b, NULL), 0);
	CU_ASSERT(emu_cm_await(c, 1, CM_EV_UNREACHABLE, -ETIMEDOUT, &ev));
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_UNREACHABLE, -ETIMEDOUT, &ev));
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(c);
}

static void test_no_drep(void)
{
	static const struct emu_faults dead = { .loss = 1000 };
	struct emu_cm *c = emu_cm_new(7, CM_PS_TCP, 0);
	struct emu *m = c->m;
	struct emu_id a, b;
	struct cm_event ev;

	CU_ASSERT_FATAL(emu_cm_pair(c, &a, &b));
	emu_wire(m, &dead);
	CU_ASSERT_EQUAL(emu_cm_disconnect(m, &a), 0);
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_DISCONNECTED, -ETIMEDOUT, &ev));
	CU_ASSERT_EQUAL(m->carried, CM_TRIES);
	CU_ASSERT(emu_cm_await(c, 0, CM_EV_TIMEWAIT_EXIT, 0, &ev));
	/*
	 * The peer knows nothing. When it wants to end, nobody has such a connection: that will do.
	 */
	CU_ASSERT_EQUAL(emu_cm_destroy(m, &a), 0);
	emu_wire(m, &slow);
	CU_ASSERT_EQUAL(emu_cm_disconnect(m, &b), 0);
	CU_ASSERT(emu_cm_await(c, 1, CM_EV_DISCONNECTED, 0, &ev));
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(c);
}

/*
 * Let all come to its end; requests that come once more are refused. Return: events of @type seen.
 */
static u32 settle(struct emu_cm *c, u32 side, u32 type)
{
	struct emu_id again = { .client = 1, .ch = c->ch[1] };
	struct cm_event ev;
	u32 n = 0, s;
	bool more;

	do {
		more = false;
		CU_ASSERT(emu_run(c->m, ~0ULL));
		for (s = 0; s < 2; s++)
			while (emu_cm_next(c, s, &ev)) {
				more = true;
				n += s == side && ev.type == type;
				again.h = ev.id;
				if (ev.type == CM_EV_CONNECT_REQUEST)
					CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &again), 0);
			}
	} while (more);
	return n;
}

/* Up to a phase: 0 requested, 1 replied, 2 established, 3 disconnecting. */
static void up_to(struct emu_cm *c, u32 phase, struct emu_id id[2])
{
	struct cm_event ev;

	id[0] = emu_cm_active(c);
	CU_ASSERT_EQUAL_FATAL(emu_cm_connect(c->m, &id[0], NULL), 0);
	id[1] = emu_cm_request(c);
	if (phase < 1)
		return;
	CU_ASSERT_EQUAL(emu_cm_accept(c->m, &id[1], NULL), 0);
	CU_ASSERT(emu_cm_want(c, 0, CM_EV_CONNECT_RESPONSE, 0, &ev));
	if (phase < 2)
		return;
	CU_ASSERT_EQUAL(emu_cm_rtu(c->m, &id[0]), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_ESTABLISHED, 0, &ev));
	if (phase < 3)
		return;
	CU_ASSERT_EQUAL(emu_cm_disconnect(c->m, &id[0]), 0);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_DISCONNECTED, 0, &ev));
}

/* Destroyed in each phase, on each side: the other one is told. */
static void test_destroyed(void)
{
	/* The other side's event, by phase and by the side that was destroyed; 0: none. */
	static const u32 told[4][2] = { { CM_EV_REJECTED, CM_EV_REJECTED },
					{ CM_EV_REJECTED, CM_EV_REJECTED },
					{ CM_EV_DISCONNECTED, CM_EV_DISCONNECTED },
					{ 0, CM_EV_DISCONNECTED } };
	struct emu_cm *c = emu_cm_new(8, CM_PS_TCP, 0);
	u32 phase, side, want, seen;
	struct emu_id id[2];

	for (phase = 0; phase < 4; phase++)
		for (side = 0; side < 2; side++) {
			up_to(c, phase, id);
			CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &id[side]), 0);
			want = told[phase][side];
			seen = settle(c, !side, want);
			/* A side that has not accepted yet has no event: its next call fails. */
			CU_ASSERT_EQUAL(seen, want && (phase || side) ? 1 : 0);
			CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &id[!side]), 0);
			settle(c, 0, 0);
			CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 1);
			CU_ASSERT(emu_cm_audit(c->m));
		}
	emu_cm_free(c);
}

static void test_destroyed_storm(void)
{
	static const struct emu_faults bad = { .loss = 300, .dup = 100, .delay = MS };
	struct emu_cm *c = emu_cm_new(10, CM_PS_TCP, 0);
	struct emu_id id[2];
	u32 n;

	for (n = 0; n < 400; n++) {
		emu_wire(c->m, NULL);
		up_to(c, n / 2 % 4, id);
		emu_wire(c->m, &bad);
		CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &id[n % 2]), 0);
		/* An established connection's end is told, whatever gets lost. */
		if (n / 2 % 4 == 2)
			CU_ASSERT_EQUAL(settle(c, !(n % 2), CM_EV_DISCONNECTED), 1);
		CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &id[!(n % 2)]), 0);
		settle(c, 0, 0);
		CU_ASSERT_EQUAL(c->m->hca->tab[TAB_CMID].n, 1);
		CU_ASSERT(emu_cm_audit(c->m));
	}
	emu_cm_free(c);
}

/* Ten thousand at a time, by ids that come again. */
static void test_many(void)
{
	enum { N = 10000 };
	static struct emu_id a[N], b[N];
	struct emu_cm *c = emu_cm_new(9, CM_PS_TCP, 0);
	struct emu *m = c->m;
	struct cm_event ev;
	u32 i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < N; i++)
			CU_ASSERT_FATAL(emu_cm_pair(c, &a[i], &b[i]));
		CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 2 * N + 1);
		for (i = 0; i < N; i++)
			CU_ASSERT_EQUAL_FATAL(emu_cm_destroy(m, &a[i]), 0);
		for (i = 0; i < N; i++) {
			CU_ASSERT_FATAL(emu_cm_want(c, 1, CM_EV_DISCONNECTED, 0, &ev));
			CU_ASSERT_EQUAL_FATAL(ev.id, b[i].h);
			CU_ASSERT_EQUAL_FATAL(emu_cm_destroy(m, &b[i]), 0);
		}
		CU_ASSERT(emu_run(m, ~0ULL));
		CU_ASSERT_EQUAL(m->hca->tab[TAB_CMID].n, 1);
	}
	CU_ASSERT(emu_cm_audit(m));
	emu_cm_free(c);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "each message lost", test_each_lost },
		{ "each message twice", test_each_twice },
		{ "lost, repeated and late at random", test_storm },
		{ "MRA", test_mra },
		{ "no answer to a REQ", test_unreachable },
		{ "no answer to a REP", test_no_rtu },
		{ "no answer to a DREQ", test_no_drep },
		{ "destroyed in each phase", test_destroyed },
		{ "destroyed in each phase, with losses", test_destroyed_storm },
		{ "10,000 connections", test_many },
		{ NULL, NULL },
	};

	return cu_run("cmwire", tests);
}
