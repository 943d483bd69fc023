/* SPDX-License-Identifier: MIT */
/**
 * DOC: a QP in ERR, or SQE, completes what is left on its queues with WR_FLUSH_ERR, in order, signaled or
 * not (IBTA 10.7.3.1 lets errors complete always).
 */
#include "emulator/model.h"

static void flush_send_wqe(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	struct cqe *cqe = cq_reserve(e, seg, cq);
	struct req_state s = qp->req;

	if (cqe)
		cqe_fill_send(e, qp, sq_slot(seg, qp, s.una), s.una, WCS_WR_FLUSH_ERR, cqe);
	s.una++;
	s.next = s.una;
	s.next_off = 0;
	s.rd_out = 0;
	s.flags = 0;
	s.next_psn = s.una_first = s.una_psn;
	commit_req(e, qp, &s, qp->state, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

bool qp_flush(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	/*
	 * ERR was published, the queues are looked at now; a poster of receives publishes the
	 * entry, then looks at the state. One of the two sees the other.
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
