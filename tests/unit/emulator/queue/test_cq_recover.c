/* SPDX-License-Identifier: MIT */
/*
 * A token holder dies between a completion and its moderated event, at every instruction: the event
 * is raised nevertheless. tests/unit/emulator/engine/test_recover.c describes the method.
 */
#include "tests/lib/engine/deaths.h"
#include "tests/lib/engine/emu_cq.h"

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

/* Return: what had come of the entry when the holder died. */
static int after_death(struct emu *unused, void *arg, bool died)
{
	enum stage stage = settled() ? SETTLED : BEFORE;
	struct cqe c;

	(void)unused;
	(void)arg;
	CU_ASSERT_TRUE(died);
	emu_reap(m);
	emu_run(m, m->clock + SEC);
	if (!emu_poll(m, &q1.rcq, &c, NULL))
		return (int)stage;
	if (!emu_chan_events(m, 1))
		return LOST;
	return stage == BEFORE ? SEEN : (int)stage;
}

/* Deaths of the holder from instruction @first on, up to one at which the entry is in @enough. */
static struct emu_deaths deaths(u32 count, u32 period, long first, long step, enum stage enough)
{
	struct emu_deaths d = { .call = emu_die_ring,
				.after = after_death,
				.arg = &q0,
				.first = first,
				.step = step,
				.enough = (int)enough };

	m = emu_moderated(&q0, &q1, count, period);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	emu_recv(m, &q1, 0, m->c[1].mem, 64);
	emu_post(m, &q0, WR_SEND, 0, m->c[0].mem, 8);
	deaths_run(m, &d);
	emu_free(m);
	return d;
}

/*
 * A poller that finds an entry, and had armed, has its event within the period. The steps before
 * the entry are skipped in larger strides.
 */
static void die_everywhere(u32 count, u32 period)
{
	enum { STEP = 32 };
	struct emu_deaths d = deaths(count, period, STEP, STEP, SEEN);

	d = deaths(count, period, d.n > STEP ? d.n - STEP : 1, 1, SETTLED);
	CU_ASSERT_EQUAL(d.seen[SETTLED], 1);
	CU_ASSERT_EQUAL(d.seen[LOST], 0);
	if (d.seen[LOST])
		printf("# a completion without its event: died after %ld instructions\n", d.n);
	CU_ASSERT_TRUE(d.seen[SEEN] > 10);
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
