/* SPDX-License-Identifier: MIT */
/**
 * DOC: the RC responder: what a request does at its target (IBTA 9.7).
 *
 * Each burst passes these checks, in this order; the first one that fails decides. Every NAK but
 * those marked * takes the QP to ERR.
 *
 *  QP is in RTR, RTS or SQD (10.3.1)                 dropped: the requester times out
 *  PSN (9.7.4.1.1): ahead of the expected one        *NAK PSN sequence error, once, then dropped
 *                   behind: a duplicate (9.7.5.1.4)  READ: executed again; atomic: its
 *                                                    kept result; ATOMIC WRITE,
 *                                                    FLUSH: the response; else ACK
 *  opcode sequence (9.7.4.1.2), length (9.7.4.1.6)   NAK invalid request
 *  a fault rule has marked the request               the NAK that the rule names
 *  XRC: the SRQ is one of the QP's domain (A14)      NAK invalid request
 *  the opcode exists (9.7.4.1.3)                     NAK invalid request
 *
 * Then by opcode, SEND:
 *  a receive is posted (9.7.5.2.8)                   *RNR NAK
 *  a fault rule fails the receive                    NAK invalid request or remote operational
 *  the receive's L_Keys (9.7.4.1.7)                  NAK remote operational
 *  the receive is long enough (9.7.4.1.6)            NAK invalid request
 *  memory is there when it is copied                 NAK remote operational
 *  the key to invalidate is a window of the QP       no NAK, QP to ERR (9.9.6.3, class J)
 *  RDMA WRITE, ATOMIC WRITE:
 *  QP allows it, alignment, length (9.7.4.1.4, .6)   NAK invalid request
 *  ATOMIC WRITE: the QP has resources (A19)          NAK invalid request
 *  R_Key, range, access (9.7.4.1.5)                  NAK remote access
 *  with immediate: a receive, as for SEND            *RNR NAK, or the rule's
 *  memory is there when it is copied                 NAK remote operational
 *  RDMA READ, atomics (resp_read.c):
 *  QP allows it, has resources; alignment            NAK invalid request
 *  R_Key, range, access                              NAK remote access
 *  memory is there when it is copied                 NAK remote operational
 *  FLUSH (resp_read.c, A19):
 *  QP allows its placement types, has resources      NAK invalid request
 *  R_Key, range, the region's placement types        NAK remote access
 *
 * A WRITE packet with immediate that fails on the memory it names ends the receive that it would
 * have taken with LOC_ACCESS_ERR (11.6.2). The packets before it name no receive.
 *
 * The payload is copied first; then one commit publishes the new state and the receive's
 * completion; then the ACK leaves. So a holder that dies in between leaves a request
 * that looks lost.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/tag_match.h"
#include "emulator/transport/wc_fault.h"
#include "emulator/transport/wire.h"

int resp_nak_fail(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak,
		  u32 recv_status, u32 event, u32 cause, u32 info)
{
	struct hca_srq *srq = resp_srq(e->hca, qp, b);
	struct resp_state s = qp->resp;
	struct rx rx;

	if (recv_status && !rx_open(e, qp, srq, &rx))
		return -EAGAIN;
	dev_count(e->hca, qp, CNT_NAK_SENT);
	journal_nak(e, qp, b, b->psn, nak, cause, info);
	s.flags &= ~(u32)RESP_IN_MSG;
	qp_timer_arm(e, qp, 0);
	if (event)
		qp_event_raise(e, qp, event, cause, info);
	if (recv_status) {
		rx_journal(e, qp, &rx, b, recv_status, cause, info);
		rx_fail(e, qp, &rx, &s, recv_status, QPS_ERR);
	} else {
		commit_resp(e, qp, &s, QPS_ERR);
	}
	engine_ring(e, qp->client - 1, qp_slot(qp));
	return wire_send_ack(e, qp, b->psn, nak);
}

int resp_nak_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak, u32 rule)
{
	u32 event;

	switch (nak) {
	case AETH_NAK_INV_REQ:
		event = EV_QP_REQ_ERR;
		break;
	case AETH_NAK_REM_ACCESS:
		event = EV_QP_ACCESS_ERR;
		break;
	case AETH_NAK_REM_OP:
		event = EV_QP_FATAL;
		break;
	default:
		return 0; /* no request has that: dropped */
	}
	return resp_nak_fail(e, qp, b, nak, 0, event, CAUSE_FAULT, rule);
}

static int resp_answer_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	/* What another fabric's rules are called means nothing here. */
	return resp_nak_by_rule(e, qp, b, b->aeth, e->hca->dev[b->src_dev].member ? 0 : b->rule);
}

int resp_recv_nak_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	u32 status = qp->fault.recv_status;
	bool request = status == WCS_LOC_LEN_ERR || status == WCS_REM_INV_REQ_ERR;

	return resp_nak_fail(e, qp, b, request ? AETH_NAK_INV_REQ : AETH_NAK_REM_OP, status, 0,
			     CAUSE_FAULT, qp->fault.recv_rule);
}

int wire_send_rnr(struct engine *e, struct hca_qp *qp, u32 psn, u32 timer)
{
	dev_count(e->hca, qp, CNT_RNR_SENT);
	return wire_send_ack(e, qp, psn, (u8)(AETH_RNR_NAK | (timer & 0x1f)));
}

int resp_rnr(struct engine *e, struct hca_qp *qp, u32 psn)
{
	journal_nak(e, qp, NULL, psn, AETH_RNR_NAK, CAUSE_NO_RECEIVE, 0);
	return wire_send_rnr(e, qp, psn, qp->attr.min_rnr_timer);
}

int resp_ack_asked(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	if (b->flags & BF_ACK_REQ)
		wire_send_ack(e, qp, psn_add(b->psn, b->npkts - 1), AETH_ACK);
	return 0;
}

/* A receive that cannot take the message: say what is wrong with it. */
static int resp_refuse_recv(struct engine *e, struct hca_qp *qp, const struct burst *b,
			    const struct rx_wc *wc, int ret)
{
	u32 lkey = wc->wqe->num_sge ? wc->wqe->sge[0].lkey : 0;

	if (ret == -EACCES)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, WCS_LOC_PROT_ERR, 0, CAUSE_LKEY,
				     wc->bad);
	if (ret == -EMSGSIZE)
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, WCS_LOC_LEN_ERR, 0,
				     CAUSE_REQUEST_LEN, wc->room);
	if (ret == -EFAULT_SRC)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, 0, EV_QP_FATAL, CAUSE_MEM_FAULT, 0);
	return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, WCS_LOC_PROT_ERR, 0, CAUSE_MEM_FAULT, lkey);
}

int resp_invalidate_refused(struct engine *e, struct hca_qp *qp, struct rx *rx,
			    const struct burst *b)
{
	qp_timer_arm(e, qp, 0);
	rx_error(e, qp, rx, b, WCS_REM_INV_REQ_ERR, CAUSE_WINDOW, b->inv_rkey);
	return 0;
}

/* The memory of a WRITE is refused: a packet with immediate ends its receive, if there is one. */
static int resp_refuse_write(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak,
			     u32 event, u32 cause, u32 rkey)
{
	u32 slot, status = WCS_SUCCESS;
	struct rx rx;

	if ((b->flags & BF_IMM) && b->npkts == 1) {
		if (!rx_open(e, qp, resp_srq(e->hca, qp, b), &rx))
			return -EAGAIN;
		if (rx_next(&rx, qp, &qp->resp, &slot))
			status = WCS_LOC_ACCESS_ERR;
	}
	return resp_nak_fail(e, qp, b, nak, status, event, cause, rkey);
}

static bool rx_is_tagged(const struct rx *rx)
{
	return rx->srq && rx->srq->type == SRQ_TM;
}

/* Inlined twice: what own queues do not need is left out for them. */
static inline __attribute__((always_inline)) int resp_send(struct engine *e, struct hca_qp *qp,
							   struct rx *rx, const struct burst *b)
{
	struct rx_wc wc = { .opcode = WCO_RECV };
	struct cqe *cqe = NULL;
	struct resp_state s;
	int ret;

	if (unlikely(rx_is_tagged(rx)) && !tm_accept(e, qp, rx, b, &wc, &ret))
		return ret;
	s = qp->resp;
	wc.wqe = rx_next(rx, qp, &s, &wc.slot);
	if (!wc.wqe)
		return resp_rnr(e, qp, b->psn);
	if (unlikely(e->ops->fault) &&
	    wc_fault_recv(e, qp, rx, b, wc.wqe->wr_id, wc.wqe->total_len))
		return resp_recv_nak_by_rule(e, qp, b);
	if (b->flags & BF_LAST)
		cqe = cq_reserve(e, rx->seg, rx->cq);
	ret = rx_place(e, qp, rx, b, s.off, &wc, cqe);
	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret)
		return resp_refuse_recv(e, qp, b, &wc, ret);
	if (unlikely(b->flags & BF_INV) && resp_invalidate(e->hca, qp, b))
		return resp_invalidate_refused(e, qp, rx, b);
	wc.len = s.off + (u32)b->len;
	s.op = BOP_SEND;
	resp_advance(&s, b, b->len);
	if (b->flags & BF_LAST) {
		rx_done_fast(e, qp, rx, &s, b, &wc, cqe);
	} else {
		rx_hold(e, qp, rx, &s, wc.slot);
	}
	return resp_ack_asked(e, qp, b);
}

static int resp_send_own(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct rx rx;

	return likely(rx_open_own(e, qp, &rx)) ? resp_send(e, qp, &rx, b) : -EAGAIN;
}

static int resp_send_shared(struct engine *e, struct hca_qp *qp, struct hca_srq *srq,
			    const struct burst *b)
{
	struct rx rx;

	return likely(rx_open_srq(e, qp, srq, &rx)) ? resp_send(e, qp, &rx, b) : -EAGAIN;
}

static int resp_write_begin(struct hca *hca, struct hca_qp *qp, const struct burst *b,
			    struct resp_state *s, u32 *cause, u32 *info)
{
	*cause = CAUSE_ACCESS_FLAGS;
	*info = qp->attr.access;
	if (!(qp->attr.access & ACC_REMOTE_WRITE))
		return -EACCES;
	*cause = CAUSE_RD_ATOMIC;
	*info = 0;
	if (b->op == BOP_ATOMIC_WRITE && !qp->attr.max_dest_rd_atomic)
		return -EINVAL;
	*cause = CAUSE_MISALIGNED;
	*info = (u32)b->va & 7;
	if (b->op == BOP_ATOMIC_WRITE && ((b->va & 7) || b->dma_len != 8)) {
		mem_note_alignment(hca, b->va, b->dma_len, *info);
		return -EINVAL;
	}
	s->va = b->va;
	s->rkey = b->rkey;
	s->len = (u32)b->dma_len;
	s->off = 0;
	return 0;
}

static int resp_write(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct resp_state s = qp->resp;
	struct rx_wc wc = { .opcode = WCO_RECV_RDMA_WITH_IMM };
	const bool imm = b->flags & BF_IMM;
	struct hca_mem dst;
	u32 cause, info;
	struct rx rx;
	u64 at;
	int ret;

	if ((b->flags & BF_FIRST) && resp_write_begin(e->hca, qp, b, &s, &cause, &info))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, cause, info);
	at = s.off;
	if (at + b->len > s.len || ((b->flags & BF_LAST) && at + b->len != s.len))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_BAD_WQE,
				     b->op);
	/* The whole range each time: the region may go while a message is under way. */
	if (mem_remote(e->hca, qp, resp_pd(e->hca, qp, b), s.rkey, s.va, s.len, ACC_REMOTE_WRITE,
		       &dst))
		return resp_refuse_write(e, qp, b, AETH_NAK_REM_ACCESS, EV_QP_ACCESS_ERR,
					 CAUSE_RKEY, s.rkey);
	if (imm) {
		if (!rx_open(e, qp, resp_srq(e->hca, qp, b), &rx))
			return -EAGAIN;
		wc.wqe = rx_next(&rx, qp, &s, &wc.slot);
		if (!wc.wqe)
			return resp_rnr(e, qp, b->psn);
		if (unlikely(e->ops->fault) &&
		    wc_fault_recv(e, qp, &rx, b, wc.wqe->wr_id, wc.wqe->total_len))
			return resp_recv_nak_by_rule(e, qp, b);
	}
	ret = resp_fetch(e, qp, b, &dst, at);
	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret == -EFAULT_SRC)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, 0, EV_QP_FATAL, CAUSE_MEM_FAULT, 0);
	if (ret)
		return resp_refuse_write(e, qp, b, AETH_NAK_REM_OP, EV_QP_FATAL, CAUSE_MEM_FAULT,
					 s.rkey);
	s.op = b->op;
	resp_advance(&s, b, b->len);
	wc.len = s.len;
	if (imm)
		rx_done(e, qp, &rx, &s, b, &wc, cq_reserve(e, rx.seg, rx.cq));
	else
		commit_resp(e, qp, &s, qp->state);
	return unlikely(b->op == BOP_ATOMIC_WRITE) ? resp_empty(e, qp, b->psn)
						   : resp_ack_asked(e, qp, b);
}

/* FIRST, MIDDLE, LAST in order and of one kind (IBTA 9.7.4.1.2). */
static bool resp_opcode_sequence_ok(const struct resp_state *s, const struct burst *b)
{
	bool in_msg = s->flags & RESP_IN_MSG;

	if (b->flags & BF_FIRST)
		return !in_msg;
	return in_msg && s->op == b->op;
}

/* XRC: a request names an SRQ of the target's domain (IBTA A14), all its packets the same. */
static bool resp_srq_named(struct hca *hca, const struct hca_qp *qp, const struct burst *b)
{
	const struct hca_srq *srq = resp_srq(hca, qp, b);

	return srq && (!qp->resp.held || srq == rx_holds(hca, qp));
}

static inline int resp_in_order(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct hca_srq *srq;

	if (!resp_opcode_sequence_ok(&qp->resp, b) || !resp_length_ok(qp, b))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_BAD_WQE,
				     b->op);
	if (unlikely(b->aeth))
		return resp_answer_by_rule(e, qp, b);
	if (unlikely(qp->type == QPT_XRC_RECV) && !resp_srq_named(e->hca, qp, b))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_SRQN,
				     b->srqn);
	switch (b->op) {
	case BOP_SEND:
		srq = resp_srq(e->hca, qp, b);
		return likely(!srq) ? resp_send_own(e, qp, b) : resp_send_shared(e, qp, srq, b);
	case BOP_WRITE:
	case BOP_ATOMIC_WRITE:
		return resp_write(e, qp, b);
	case BOP_READ_REQ:
		return resp_read(e, qp, b, false);
	case BOP_ATOMIC_REQ:
		return resp_atomic(e, qp, b, false);
	case BOP_FLUSH:
		return resp_flush(e, qp, b);
	default:
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_BAD_WQE,
				     b->op);
	}
}

/* Ahead of what is expected: something was lost. Say so once. */
static int resp_out_of_sequence(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct resp_state s = qp->resp;

	dev_count(e->hca, qp, CNT_OUT_OF_SEQ);
	if (s.flags & RESP_NAK_SENT)
		return 0;
	s.flags |= RESP_NAK_SENT;
	commit_resp(e, qp, &s, qp->state);
	journal_nak(e, qp, b, s.epsn, AETH_NAK_PSN_SEQ, CAUSE_PSN, b->psn);
	return wire_send_ack(e, qp, s.epsn, AETH_NAK_PSN_SEQ);
}

static int resp_duplicate(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 behind)
{
	struct burst rest;

	dev_count(e->hca, qp, CNT_DUP_REQUEST);
	if (b->op == BOP_READ_REQ)
		return resp_read(e, qp, b, true);
	if (b->op == BOP_ATOMIC_REQ)
		return resp_atomic(e, qp, b, true);
	if (b->op == BOP_ATOMIC_WRITE || b->op == BOP_FLUSH)
		return resp_empty(e, qp, b->psn);
	if (behind >= b->npkts)
		return wire_send_ack(e, qp, qp->resp.epsn - 1, AETH_ACK);
	burst_split(b, behind, b->npkts - behind, &rest);
	return resp_in_order(e, qp, &rest);
}

int resp_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	s32 diff;

	if (unlikely(!seg_of(e, qp->client)))
		return -EAGAIN;
	if (unlikely(qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD)) {
		journal_drop(e, b, CAUSE_QP_STATE, qp->state);
		return 0;
	}
	if (qp->state == QPS_RTR && !(qp->resp.flags & RESP_COMM_EST))
		resp_comm_est(e, qp);
	diff = psn_diff(b->psn, qp->resp.epsn);
	if (unlikely(diff > 0))
		return resp_out_of_sequence(e, qp, b);
	if (unlikely(diff < 0))
		return resp_duplicate(e, qp, b, (u32)-diff);
	return resp_in_order(e, qp, b);
}
