/* SPDX-License-Identifier: MIT */
/**
 * DOC: CQs of real devices that a rule holds: fabric/proto/cq_hold.h.
 *
 * Polls of a held CQ find nothing without asking the library below, which therefore keeps the
 * completions in their order, also those of an extended CQ. Whether the CQ has any cannot be known
 * without taking one out, so the arming waits for the hold's whole time.
 */
#include "libtap/users/hold_faults.h"
#include "fabric/proto/cq_hold.h"

#include <stdlib.h>

static struct cq_hold *hold_of(const struct tap_obj *o)
{
	return o ? o->user[TAP_FAULTS] : NULL;
}

static struct cq_hold *hold_of_cq(const struct ibv_cq *cq)
{
	return cq ? hold_of(tap_obj_find(VOBJ_CQ, cq)) : NULL;
}

/* Without memory for it the CQ is never held. */
void hold_fault_object_new(struct tap_obj *o)
{
	const struct ibv_cq *cq = (const struct ibv_cq *)(uintptr_t)o->key;

	if (o->kind == VOBJ_CQ && cq->channel)
		o->user[TAP_FAULTS] = calloc(1, sizeof(struct cq_hold));
}

void hold_fault_object_gone(struct tap_obj *o)
{
	if (o->kind != VOBJ_CQ)
		return;
	free(o->user[TAP_FAULTS]);
	o->user[TAP_FAULTS] = NULL;
}

static void hold_faults_ask(struct cq_hold *h, u32 handle)
{
	u64 ns;

	if (!cq_hold_claim(h))
		return;
	ns = tap_fabric_hold(handle);
	if (ns)
		cq_hold_close(h, tap_now() + ns);
}

bool hold_fault_withholds(struct tap_obj *cq)
{
	struct cq_hold *h = hold_of(cq);
	int saved = errno;
	bool closed;

	if (!h)
		return false;
	hold_faults_ask(h, ((const struct ibv_cq *)(uintptr_t)cq->key)->handle);
	closed = cq_hold_is_closed(h, tap_now());
	errno = saved;
	return closed;
}

void hold_fault_drained(struct tap_obj *cq)
{
	struct cq_hold *h = hold_of(cq);

	if (h)
		cq_hold_drained(h);
}

void hold_fault_arm(const struct ibv_cq *cq)
{
	struct cq_hold *h = hold_of_cq(cq);
	struct timespec until;
	u64 ns;

	if (!h)
		return;
	/* A CQ that was never armed is asked about when it is polled. */
	if (tap_fabric_has_hold() && load_relaxed(&h->phase) == CQ_HOLD_DRAINED)
		hold_faults_ask(h, cq->handle);
	if (cq_hold_is_closed(h, tap_now())) {
		ns = load_relaxed(&h->until);
		until = (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	}
	cq_hold_enter(h, CQ_HOLD_ARMED);
}

void hold_fault_event(const struct ibv_cq *cq)
{
	struct cq_hold *h = hold_of_cq(cq);

	if (h)
		cq_hold_enter(h, CQ_HOLD_EVENT);
}
