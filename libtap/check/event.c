/* SPDX-License-Identifier: MIT */
/*
 * Completion events.
 *
 * A CQ makes one event for the first completion after it was armed. One that comes between the last
 * poll and the arming makes none: who sleeps then without another poll may sleep on. The order of
 * calls shows it, whether a completion has come or not. The first arming of a CQ before any poll is
 * not suspected: usually nothing can have completed yet.
 */
#include "libtap/check/object.h"

#include <unistd.h>

#define EVENT_WAIT_US  1000000u /* until another thread has acknowledged */
#define EVENT_SLEEP_US 10000u

void check_cq_polled(const struct tap_obj *cq)
{
	struct check_obj *c = check_obj_of(cq);

	if (!c)
		return;
	c->cq.polled = true;
	c->cq.armed = false;
}

static void event_cq_armed(struct check_obj *c)
{
	if (!c->cq.polled || !__atomic_load_n(&c->cq.outstanding, __ATOMIC_RELAXED))
		return;
	c->cq.armed = true;
	c->cq.arm_stack = check_stack_here();
}

static bool event_find_armed(struct check_obj *c, void *channel)
{
	const struct ibv_cq *cq = (void *)(uintptr_t)c->tap->key;

	if (cq->channel != channel || !c->cq.armed)
		return false;
	c->cq.armed = false;
	check_report(FINDING_CQ_NOTIFY_LOST, (struct check_other){ "armed", c->cq.arm_stack },
		     "cq%u was armed after it was polled, and not polled since: a completion in "
		     "between makes no event",
		     c->ord);
	return true;
}

enum tap_verdict check_cq_begin(struct tap_cqop *p)
{
	struct check_obj *c;

	if (p->what == TAP_CQ_EVENT) {
		check_obj_for_each(VOBJ_CQ, event_find_armed, p->channel);
	} else if (p->what == TAP_CQ_ACK) {
		c = check_obj_find(VOBJ_CQ, p->cq);
		if (c)
			__atomic_fetch_sub(&c->cq.events, (u32)p->n, __ATOMIC_RELAXED);
	}
	return TAP_PASS;
}

void check_cq_end(struct tap_cqop *p)
{
	struct check_obj *c;

	if (p->ret || p->what == TAP_CQ_ACK)
		return;
	c = check_obj_find(VOBJ_CQ, p->cq);
	if (!c)
		return;
	if (p->what == TAP_CQ_ARM) {
		event_cq_armed(c);
		return;
	}
	c->cq.event_stack = check_stack_here();
	__atomic_fetch_add(&c->cq.events, 1, __ATOMIC_RELAXED);
}

void check_cq_ending(const void *cq)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);
	u32 waited, events = 0;

	/* The call waits for acknowledgements of other threads, which is legal. */
	for (waited = 0; c && waited < EVENT_WAIT_US; waited += EVENT_SLEEP_US) {
		events = __atomic_load_n(&c->cq.events, __ATOMIC_RELAXED);
		if (!events)
			return;
		usleep(EVENT_SLEEP_US);
	}
	if (!c)
		return;
	check_report(
		FINDING_CQ_EVENT_UNACKED,
		(struct check_other){ "latest event taken", c->cq.event_stack },
		"cq%u is destroyed with %u events that were not acknowledged: ibv_destroy_cq() "
		"waits for them",
		c->ord, events);
}
