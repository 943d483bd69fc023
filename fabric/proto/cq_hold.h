/* SPDX-License-Identifier: MIT */
/**
 * DOC: which completions `cq hold` of rdmaemu-faults(7) may withhold from the polls of a CQ.
 *
 * A program that sleeps until an event comes has to poll once more after it has armed the CQ: a
 * completion that arrives between its last poll and the arming raises no event. In a held CQ each
 * completion arrives there that can. One can if no event has announced it, so a CQ may be held
 *
 *  - from its creation until it is armed;
 *  - after an event, from the first poll that has found all there was until it is armed.
 *
 * An armed CQ is never held, and an event or the end of the hold's time releases it: a correct
 * program finds everything later, but finds it.
 *
 * The process of the program keeps the phase, the shim for emulated CQs (libshim/verbs/cq_hold.c)
 * and the tap for real ones (libtap/users/hold_faults.c). The fabric process decides whether a rule
 * hits (fabric/fault/hold.c). Any thread may call these functions.
 */
#ifndef FABRIC_PROTO_CQ_HOLD_H
#define FABRIC_PROTO_CQ_HOLD_H

#include "emulator/types.h"

/** enum cq_hold_phase - what may be withheld from the next poll. */
enum cq_hold_phase {
	CQ_HOLD_NEW, /* all: the CQ was neither armed nor polled */
	CQ_HOLD_EVENT, /* nothing: the program looks for what an event has announced */
	CQ_HOLD_DRAINED, /* all: a poll has found less than it had room for */
	CQ_HOLD_CLOSED, /* all is withheld, until @until */
	CQ_HOLD_OPEN, /* nothing, until the CQ is armed: no rule has hit, or the time is over */
	CQ_HOLD_ARMED, /* nothing */
};

/** struct cq_hold - of a CQ. @phase: enum cq_hold_phase; @until: as the caller's clock, ns */
struct cq_hold {
	u32 phase;
	u64 until;
};

static inline bool cq_hold_move(struct cq_hold *h, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&h->phase, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/** cq_hold_enter() - the CQ is about to be armed, or an event has come. */
static inline void cq_hold_enter(struct cq_hold *h, enum cq_hold_phase phase)
{
	store_release(&h->phase, (u32)phase);
}

/** cq_hold_drained() - a poll has found less than it had room for. */
static inline void cq_hold_drained(struct cq_hold *h)
{
	if (!cq_hold_move(h, CQ_HOLD_EVENT, CQ_HOLD_DRAINED))
		cq_hold_move(h, CQ_HOLD_NEW, CQ_HOLD_DRAINED);
}

/**
 * cq_hold_claim() - Return: whether completions may be withheld now, and the caller is the one to
 * ask for a rule.
 */
static inline bool cq_hold_claim(struct cq_hold *h)
{
	return cq_hold_move(h, CQ_HOLD_NEW, CQ_HOLD_OPEN) ||
	       cq_hold_move(h, CQ_HOLD_DRAINED, CQ_HOLD_OPEN);
}

/** cq_hold_close() - a rule has hit: withhold everything until @until. */
static inline void cq_hold_close(struct cq_hold *h, u64 until)
{
	store_relaxed(&h->until, until);
	cq_hold_move(h, CQ_HOLD_OPEN, CQ_HOLD_CLOSED);
}

/** cq_hold_is_closed() - whether polls find nothing at @now. */
static inline bool cq_hold_is_closed(struct cq_hold *h, u64 now)
{
	if (load_acquire(&h->phase) != CQ_HOLD_CLOSED)
		return false;
	if (now < load_relaxed(&h->until))
		return true;
	cq_hold_move(h, CQ_HOLD_CLOSED, CQ_HOLD_OPEN);
	return false;
}

#endif
