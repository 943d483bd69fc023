/* SPDX-License-Identifier: MIT */
/**
 * DOC: the UC responder (IBTA 9.8.2): nothing is acknowledged, nothing is repaired.
 *
 * A packet that is not the next one means that some were lost: the message in progress is dropped,
 * and so is all that follows until a message starts. A request that cannot be served is dropped
 * with its message as well; only what is wrong with the receive itself is the receiver's error.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/mw.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/wc_fault.h"

/* Drop the message that this burst is of. */
static int uc_drop(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 cause, u32 info)
{
	struct resp_state s = qp->resp;

	dev_count(e->hca, qp, CNT_DROPPED);
	journal_drop(e, b, cause, info);
	s.epsn = psn_add(b->psn, b->npkts);
	s.flags &= ~(u32)(RESP_IN_MSG | RESP_SKIP);
	if (!(b->flags & BF_LAST))
		s.flags |= RESP_SKIP;
	s.off = 0;
	commit_resp(e, qp, &s, qp->state);
	return 0;
}

static int uc_fail(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
		   u32 status, u32 cause, u32 info)
{
	rx_error(e, qp, rx, b, status, cause, info);
	return 0;
}

/*
 * Find the receive that the message takes. Return: false: there is none for it; *@ret is what to
 * return.
 */
static bool uc_receive(struct engine *e, struct hca_qp *qp, const struct burst *b,
		       const struct resp_state *s, struct rx *rx, struct rx_wc *wc, int *ret)
{
	*ret = -EAGAIN;
	if (!rx_open(e, qp, resp_srq(e->hca, qp, b), rx))
		return false;
	*ret = 0;
	wc->wqe = rx_next(rx, qp, s, &wc->slot);
	if (!wc->wqe)
		uc_drop(e, qp, b, CAUSE_NO_RECEIVE, 0);
	return wc->wqe && likely(!e->ops->fault || !wc_fault_recv_error(e, qp, rx, b, wc->wqe));
}

static int uc_send(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct resp_state s = qp->resp;
	struct rx_wc wc = { .opcode = WCO_RECV };
	struct cqe *cqe = NULL;
	struct rx rx;
	int ret;

	if (!uc_receive(e, qp, b, &s, &rx, &wc, &ret))
		return ret;
	if ((b->flags & BF_INV) &&
	    mw_invalidate(e->hca, qp, qp->pd, b->inv_rkey, mw_turn_rq(qp), false))
		return uc_drop(e, qp, b, CAUSE_REFUSED, b->inv_rkey);
	if (b->flags & BF_LAST)
		cqe = cq_reserve(e, rx.seg, rx.cq);
	ret = rx_place(e, qp, &rx, b, s.off, &wc, cqe);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : uc_drop(e, qp, b, CAUSE_SENDER_GONE, 0);
	if (ret == -EACCES || ret == -EFAULT_DST)
		return uc_fail(e, qp, &rx, b, WCS_LOC_PROT_ERR, CAUSE_LKEY, wc.bad);
	if (ret == -EMSGSIZE)
		return uc_fail(e, qp, &rx, b, WCS_LOC_LEN_ERR, CAUSE_REQUEST_LEN, wc.room);
	if (ret)
		return uc_drop(e, qp, b, CAUSE_SENDER_GONE, 0);
	wc.len = s.off + (u32)b->len;
	s.op = b->op;
	resp_advance(&s, b, b->len);
	if (!(b->flags & BF_LAST)) {
		rx_hold(e, qp, &rx, &s, wc.slot);
		return 0;
	}
	if (b->flags & BF_INV)
		mw_invalidate(e->hca, qp, qp->pd, b->inv_rkey, mw_turn_rq(qp), true);
	rx_done(e, qp, &rx, &s, b, &wc, cqe);
	return 0;
}

static int uc_write(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	const bool has_imm = b->flags & BF_IMM;
	struct resp_state s = qp->resp;
	struct rx_wc wc = { .opcode = WCO_RECV_RDMA_WITH_IMM };
	struct hca_mem dst;
	struct rx rx;
	int ret;

	if (b->flags & BF_FIRST) {
		s.va = b->va;
		s.rkey = b->rkey;
		s.len = (u32)b->dma_len;
		s.off = 0;
	}
	if (!(qp->attr.access & ACC_REMOTE_WRITE) || s.off + b->len > s.len ||
	    ((b->flags & BF_LAST) && s.off + b->len != s.len) ||
	    mem_remote(e->hca, qp, qp->pd, s.rkey, s.va, s.len, ACC_REMOTE_WRITE, &dst))
		return uc_drop(e, qp, b, CAUSE_REFUSED, s.rkey);
	if (has_imm && !uc_receive(e, qp, b, &s, &rx, &wc, &ret))
		return ret;
	ret = resp_fetch(e, qp, b, &dst, s.off);
	if (ret)
		return ret == -EAGAIN ? ret : uc_drop(e, qp, b, CAUSE_SENDER_GONE, 0);
	s.op = b->op;
	resp_advance(&s, b, b->len);
	wc.len = s.len;
	if (has_imm)
		rx_done(e, qp, &rx, &s, b, &wc, cq_reserve(e, rx.seg, rx.cq));
	else
		commit_resp(e, qp, &s, qp->state);
	return 0;
}

int uc_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct resp_state s;
	bool fits;

	if (qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD &&
	    qp->state != QPS_SQE) {
		journal_drop(e, b, CAUSE_QP_STATE, qp->state);
		return 0;
	}
	if (qp->state == QPS_RTR && !(qp->resp.flags & RESP_COMM_EST))
		resp_comm_est(e, qp);
	fits = b->psn == qp->resp.epsn;
	if (!fits)
		dev_count(e->hca, qp, CNT_OUT_OF_SEQ);
	if (!(b->flags & BF_FIRST) &&
	    (!fits || !(qp->resp.flags & RESP_IN_MSG) || qp->resp.op != b->op))
		return uc_drop(e, qp, b, CAUSE_OUT_OF_SEQ, qp->resp.epsn);
	if ((b->flags & BF_FIRST) && (qp->resp.flags & (RESP_IN_MSG | RESP_SKIP))) {
		/* The last one never ended: its receive serves this one. */
		s = qp->resp;
		s.flags &= ~(u32)(RESP_IN_MSG | RESP_SKIP);
		s.off = 0;
		commit_resp(e, qp, &s, qp->state);
	}
	if (!resp_length_ok(qp, b))
		return uc_drop(e, qp, b, CAUSE_REFUSED, 0);
	if (b->op == BOP_SEND)
		return uc_send(e, qp, b);
	return b->op == BOP_WRITE ? uc_write(e, qp, b) : 0;
}
