/* SPDX-License-Identifier: MIT */
/**
 * DOC: what all responders need of a request: its queue, its protection domain, its payload.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/event.h"
#include "emulator/transport/mw.h"
#include "emulator/transport/responder.h"

void resp_start(const struct hca_qp *qp, u32 psn, u8 op, u8 syndrome, struct burst *b)
{
	*b = (struct burst){
		.op = op,
		.flags = BF_FIRST | BF_LAST,
		.aeth = syndrome,
		.path = qp->path,
		.psn = psn & IB_PSN_MASK,
		.npkts = 1,
		.mtu = qp->mtu,
		.msn = qp->resp.msn,
	};
}

u32 resp_pd(struct hca *hca, const struct hca_qp *qp, const struct burst *b)
{
	u32 i;

	if (likely(qp->type != QPT_XRC_RECV))
		return qp->pd;
	i = qp_xrc_srq(hca, qp, b->srqn);
	return i ? hca->srq[i - 1].pd : 0;
}

int resp_unreached(struct engine *e, const struct burst *b, int ret)
{
	if (ret == -EAGAIN)
		return ret;
	journal_drop(e, b, CAUSE_SENDER_GONE, 0);
	return 0;
}

int resp_fetch(struct engine *e, const struct hca_qp *qp, const struct burst *b,
	       const struct hca_mem *dst, u64 at)
{
	if (!b->len)
		return 0;
	return e->ops->copy(e->ctx, dst, at, b->mem, b->off, b->len,
			    (u64)qp->qpn << 32 | b->psn << 1 | 1);
}

int resp_invalidate(struct hca *hca, const struct hca_qp *qp, const struct burst *b)
{
	return mw_invalidate(hca, qp, resp_pd(hca, qp, b), b->inv_rkey, mw_turn_rq(qp), true);
}

bool resp_length_ok(const struct hca_qp *qp, const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	return likely(b->mtu == qp->mtu) ||
	       ((b->flags & whole) == whole && b->len <= min_u32(b->mtu, qp->mtu));
}

void resp_comm_est(struct engine *e, struct hca_qp *qp)
{
	struct resp_state s = qp->resp;

	qp_event_raise(e, qp, EV_COMM_EST, CAUSE_NONE, 0);
	s.flags |= RESP_COMM_EST;
	commit_resp(e, qp, &s, qp->state);
}
