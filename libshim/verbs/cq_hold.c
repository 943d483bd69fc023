/* SPDX-License-Identifier: MIT */
/**
 * DOC: CQs that a rule holds: fabric/proto/cq_hold.h.
 *
 * Entries stay in the ring, and polls do not look at them. Without a rule polls do nothing for it;
 * arming and events note the phase.
 */
#include "libshim/client/call_fault.h"
#include "libshim/interpose/syscall.h"
#include "libshim/verbs/cq.h"

#define LOOK_NS 20000u /* between two looks for a completion */

/* Ask for a rule. Polls find nothing from now on if one hits. */
static void hold_ask(struct shim_cq *cq)
{
	u64 ns;

	if (!cq->cq.channel || !cq_hold_claim(&cq->hold))
		return;
	ns = call_fault_hold(cq->cq.handle);
	if (ns)
		cq_hold_close(&cq->hold, sys_now() + ns);
}

bool shim_cq_withholds(struct shim_cq *cq)
{
	int saved = errno;
	bool closed;

	hold_ask(cq);
	closed = cq_hold_is_closed(&cq->hold, sys_now());
	if (closed)
		shim_cq_idle(cq);
	errno = saved;
	return closed;
}

/* The thread is as one that loses its CPU between its last poll and the arming. */
static void hold_wait(struct shim_cq *cq)
{
	int saved = errno;

	/* A CQ that was not polled since the last event, or ever, may have what was announced. */
	if (load_relaxed(&cq->hold.phase) == CQ_HOLD_DRAINED)
		hold_ask(cq);
	while (cq_hold_is_closed(&cq->hold, sys_now()) && !shim_cq_has_entry(cq)) {
		shim_cq_idle(cq);
		sys_sleep(LOOK_NS);
	}
	errno = saved;
}

void shim_cq_hold_arm(struct shim_cq *cq)
{
	if (call_holds())
		hold_wait(cq);
	cq_hold_enter(&cq->hold, CQ_HOLD_ARMED);
}
