/* SPDX-License-Identifier: MIT */
/**
 * DOC: a QP in ERR or SQE completes all work requests on its queues with WR_FLUSH_ERR, in order,
 * signaled or not (IBTA 10.7.3.1 lets errors complete always).
 */
#include "emulator/engine.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/flush.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/srd.h"
#include "emulator/transport/tag_match.h"

static void flush_send_wqe(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	struct cqe *cqe = cq_reserve(e, seg, cq);
	struct req_state s = qp->req;
	u32 wqe = s.una;

	if (unlikely(qp->type == QPT_SRD)) {
		srd_retire(&s, wqe);
		s.next = (s32)(s.next - s.una) > 0 ? s.next : s.una;
	} else {
		s.una++;
		s.next = s.una;
		s.next_off = 0;
	}
	if (cqe) {
		cqe_fill_send(e, qp, sq_slot(seg, qp, wqe), s.una - 1, WCS_WR_FLUSH_ERR, cqe);
		cqe->vendor_err = qp->type == QPT_SRD ? SRD_FLUSHED : 0;
	}
	s.rd_out = 0;
	s.flags = 0;
	s.next_psn = s.una_first = s.una_psn;
	commit_req(e, qp, &s, qp->state, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

/* The SRQ that a QP takes from, or whose receive it holds; NULL: it has a queue of its own. */
static struct hca_srq *rx_flush_srq(struct hca *hca, const struct hca_qp *qp)
{
	if (qp->resp.held)
		return rx_holds(hca, qp);
	return qp->srq ? &hca->srq[qp->srq - 1] : NULL;
}

/* The QP takes no more receives of the SRQ: raise the event once. */
static void srq_last_wqe_event(struct engine *e, struct hca_qp *qp)
{
	struct resp_state s = qp->resp;

	if (!qp->srq || (s.flags & RESP_LAST_WQE))
		return;
	qp_event_raise(e, qp, EV_QP_LAST_WQE_REACHED, CAUSE_NONE, 0);
	s.flags |= RESP_LAST_WQE;
	commit_resp(e, qp, &s, qp->state);
}

/* Flush a QP's receives. Return: whether none is left. */
static bool rx_flush(struct engine *e, struct hca_qp *qp)
{
	struct hca_srq *srq = rx_flush_srq(e->hca, qp);
	struct resp_state s;
	struct rx rx;

	if (!srq && !qp->rq_depth)
		return true;
	if (!rx_open(e, qp, srq, &rx)) {
		/* Its owner has gone, or is out of reach from here. */
		if (e->self != ENGINE_FABRIC)
			qp_stall(e, qp);
		return true;
	}
	while (srq ? qp->resp.held != 0 : qp->resp.rq_cons != rq_posted(rx.seg, qp)) {
		if (!budget_left(e))
			return false;
		s = qp->resp;
		rx_fail(e, qp, &rx, &s, WCS_WR_FLUSH_ERR, QPS_ERR);
		e->budget_wrs--;
	}
	if (unlikely(qp->rndv) && !rndv_flush(e, qp, &rx))
		return false;
	srq_last_wqe_event(e, qp);
	return true;
}

bool qp_flush(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	/*
	 * ERR was published before the queues are read; a poster of receives publishes the entry
	 * before it reads the state. One of the two sees the other.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (qp->req.una != sq_posted(seg, qp)) {
		if (!budget_left(e))
			return false;
		flush_send_wqe(e, qp, seg);
		e->budget_wrs--;
	}
	return qp->state == QPS_SQE || rx_flush(e, qp);
}
