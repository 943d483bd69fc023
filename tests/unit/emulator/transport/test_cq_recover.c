/* SPDX-License-Identifier: MIT */
/*
 * A token holder dies between a completion and its moderated event, at every instruction: the event
 * is raised nevertheless. tests/unit/emulator/engine/test_recover.c describes the method.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/emu_cq.h"

#include <stdlib.h>

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp q0, q1; /* 0 sends to 1, whose receive CQ is moderated */

/* The event was sent, or all is done that leads to it. */
static bool settled(void)
{
	const struct chan_ring *r = &m->c[1].seg->chan[EMU_CHAN];
	const struct hca_cq *cq = &m->hca->cq[q1.rcq.index];

	return !m->hca->commit.event_cq &&
	       (r->prod != r->cons || (cq->mod_seen && m->hca->next_deadline != ~0ULL));
}

enum stage { BEFORE, SEEN, SETTLED, LOST };

/* One death after @n instructions. Return: what had come of the entry by then. */
static enum stage one_death(u32 count, u32 period, long n)
{
	enum stage stage = BEFORE;
	struct cqe c;

	m = emu_moderated(&q0, &q1, count, period);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	emu_recv(m, &q1, 0, m->c[1].mem, 64);
	emu_post(m, &q0, WR_SEND, 0, m->c[0].mem, 8);
	CU_ASSERT_TRUE_FATAL(emu_die_after(m, &q0, n));
	if (settled())
		stage = SETTLED;
	emu_reap(m);
	emu_run(m, m->clock + SEC);
	if (emu_poll(m, &q1.rcq, &c, NULL)) {
		if (stage == BEFORE)
			stage = SEEN;
		if (!emu_chan_events(m, 1))
			stage = LOST;
	}
	emu_free(m);
	return stage;
}

/*
 * A poller that finds an entry, and had armed, has its event within the period. The steps before
 * the entry are skipped in larger strides.
 */
static void die_everywhere(u32 count, u32 period)
{
	enum { STEP = 32 };
	enum stage stage = BEFORE;
	long n, between = 0;

	for (n = STEP; stage == BEFORE; n += STEP)
		stage = one_death(count, period, n);
	for (n -= 2 * STEP, stage = BEFORE; stage < SETTLED; n++) {
		stage = one_death(count, period, n);
		between += stage == SEEN;
	}
	CU_ASSERT_EQUAL(stage, SETTLED);
	if (stage == LOST)
		printf("# a completion without its event: died after %ld instructions\n", n - 1);
	CU_ASSERT_TRUE(between > 10);
}

static void test_death_count(void)
{
	die_everywhere(1, 0);
}

static void test_death_period(void)
{
	die_everywhere(0, 50);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "death of a holder, count", test_death_count },
		{ "death of a holder, period", test_death_period },
		{ NULL, NULL },
	};

	return cu_run("cqdeath", tests);
}
