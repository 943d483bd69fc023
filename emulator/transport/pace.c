/* SPDX-License-Identifier: MIT */
/* See pace.h. */
#include "emulator/transport/pace.h"

#include "emulator/queue/commit.h"
#include "emulator/ring.h"
#include "emulator/transport/qp_timer.h"

#define KBPS_NS 8000000ull /* ns that a byte takes at 1 kbit/s */

/* How long @bytes take at the QP's rate. */
static u64 pace_ns(const struct hca_qp *qp, u64 bytes)
{
	return bytes * KBPS_NS / qp->attr.rate_limit;
}

bool pace_waits(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;
	u64 burst;

	if (likely(!qp->attr.rate_limit))
		return false;
	burst = pace_ns(qp, qp->attr.max_burst);
	if (qp->pace_at <= e->ops->now(e->ctx) + burst)
		return false;
	s.flags |= REQ_RNR_WAIT;
	qp_timer_arm(e, qp, qp->pace_at - burst);
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	return true;
}

void pace_sent(struct engine *e, struct hca_qp *qp, u32 bytes)
{
	u64 now;

	if (likely(!qp->attr.rate_limit))
		return;
	now = e->ops->now(e->ctx);
	qp->pace_at = (qp->pace_at > now ? qp->pace_at : now) + pace_ns(qp, bytes);
}

void pace_changed(struct engine *e, struct hca_qp *qp)
{
	qp->pace_at = 0;
	if (qp->req.flags & REQ_RNR_WAIT)
		qp_timer_arm(e, qp, e->ops->now(e->ctx));
}
