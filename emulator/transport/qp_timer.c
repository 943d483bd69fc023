/* SPDX-License-Identifier: MIT */
/**
 * DOC: the one timer of a QP: ACK timeout or RNR wait.
 *
 * An armed timer has a bit in hca->timer_bits; the fabric process runs those that are due.
 * Disarming only clears the deadline: the next scan clears the bit.
 */
#include "emulator/deadline.h"
#include "emulator/engine.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/requester.h"

static void qp_timer_fire(struct engine *e, u32 slot)
{
	struct hca_qp *qp = &e->hca->qp[slot];

	qp->deadline = 0;
	if (unlikely(relay_timer_early(e, qp)))
		return;
	if (!qp->stalled || (qp->req.flags & REQ_RNR_WAIT) || relay_ack_overdue(e, qp))
		req_timeout(e, qp);
	req_run_qp(e, slot);
}

/* As deadline_fn. */
static u64 qp_timer_check(struct engine *e, u32 slot, u64 now)
{
	struct hca_qp *qp = &e->hca->qp[slot];

	if (qp->client && qp->deadline && qp->deadline <= now) {
		e->due = qp->deadline;
		qp_timer_fire(e, slot);
		e->due = 0;
	}
	return qp->client ? qp->deadline : 0;
}

u64 qp_timers(struct engine *e, u64 now)
{
	struct hca *hca = e->hca;

	return deadline_scan(e, hca->timer_bits, hca->timer_sum, HCA_MAX_QP, now, qp_timer_check);
}
