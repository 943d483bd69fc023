/* SPDX-License-Identifier: MIT */
/* CPUs that are given away between two looks, as long as who gets them gives them back soon. */
#ifndef EMULATOR_YIELD_H
#define EMULATOR_YIELD_H

#include "emulator/types.h"

#include <sched.h>

#define CROWD_LONG_NS 500000ull /* a yield of that length: somebody busy had a time slice */
#define CROWD_NS      50000000ull /* the first pause after it */

#define BRIEF_REST_NS  1000000ull /* after a look that found nothing */
#define BRIEF_REST_MAX 128000000ull

/**
 * struct crowd - what somebody who yields knows of the others. All 0 at first.
 * @until: CPUs are taken to be busy with others until then
 * @ns: for so long, the last time
 */
struct crowd {
	u64 until;
	u64 ns;
};

/**
 * yield_adaptive() - sched_yield(), unless that has taken long a moment ago.
 *
 * Where others are busy each yield costs the time slices of all of them.
 *
 * @clock: CLOCK_MONOTONIC in ns
 * @max: pauses double up to that, where one follows another
 *
 * Return: whether the CPU came back soon; false: who waits is to sleep.
 */
static inline bool yield_adaptive(struct crowd *c, u64 (*clock)(void), u64 max)
{
	u64 now = clock(), after;

	if (now < c->until)
		return false;
	sched_yield();
	after = clock();
	if (after - now < CROWD_LONG_NS)
		return true;
	c->ns = c->ns && now - c->until < max ? min_u64(2 * c->ns, max) : CROWD_NS;
	c->until = after + c->ns;
	return false;
}

/**
 * struct brief - looks of one who does not yield, in place of a sleep. All 0 at first.
 * @until: none before that
 * @ns: for so long, after the latest
 */
struct brief {
	u64 until;
	u64 ns;
};

/** brief_may_look() - whether to look before a sleep. */
static inline bool brief_may_look(const struct brief *b, u64 now)
{
	return now >= b->until;
}

/**
 * brief_looked() - such a look has ended. If it found nothing, whoever would bring something may be
 * waiting for this very CPU: then the pause before the next look doubles each time.
 */
static inline void brief_looked(struct brief *b, u64 now, bool found)
{
	if (found)
		b->ns = 0;
	else
		b->ns = b->ns ? min_u64(2 * b->ns, BRIEF_REST_MAX) : BRIEF_REST_NS;
	b->until = now + b->ns;
}

#endif
