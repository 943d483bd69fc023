/* SPDX-License-Identifier: MIT */
/**
 * DOC: the RC responder: what a request does at its target (IBTA 9.7).
 *
 * Theory of operation
 * -------------------
 * A burst is looked at in this order, as single packets would be: sequence (behind: duplicate; ahead:
 * one sequence NAK, then silence until recovered), opcode sequence, rights, resources, memory. The
 * payload is copied first; then the new state and the receive's completion are committed together;
 * then the acknowledge goes out. An error that the requester must hear of takes the QP to ERR.
 */
#include "emulator/model.h"

void resp_start(const struct hca_qp *qp, u32 psn, u8 op, u8 syndrome, struct burst *b)
{
	*b = (struct burst){
		.op = op,
		.flags = BF_FIRST | BF_LAST,
		.aeth = syndrome,
		.src_dev = qp->dev,
		.dst_dev = qp->attr.av.dst_dev,
		.src_qpn = qp->qpn,
		.dst_qpn = qp->attr.dest_qpn,
		.psn = psn & IB_PSN_MASK,
		.npkts = 1,
		.mtu = qp->mtu,
		.msn = qp->resp.msn,
	};
}

int resp_ack(struct engine *e, struct hca_qp *qp, u32 psn, u8 syndrome)
{
	struct burst ack;

	resp_start(qp, psn, BOP_ACK, syndrome, &ack);
	return xmit(e, &ack);
}

static void cqe_fill_recv(struct engine *e, const struct hca_qp *qp, const struct rq_wqe *w,
			  u32 slot, u32 status, struct cqe *cqe)
{
	cqe->wr_id = w->wr_id;
	cqe->ts = e->hca->cq[qp->rcq].want_ts ? e->host->now(e->ctx) : 0;
	cqe->byte_len = 0;
	cqe->imm = 0;
	cqe->qpn = qp->qpn;
	cqe->src_qp = qp->attr.dest_qpn;
	cqe->slot = slot;
	cqe->vendor_err = 0;
	cqe->status = (u8)status;
	cqe->opcode = WCO_RECV;
	cqe->wc_flags = 0;
	cqe->flags = CQE_RECV;
}

void resp_flush_one(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct hca_cq *cq = &e->hca->cq[qp->rcq];
	struct cqe *cqe = cq_reserve(e, seg, cq);
	struct resp_state s = qp->resp;

	if (cqe)
		cqe_fill_recv(e, qp, rq_slot(seg, qp, s.rq_cons), s.rq_cons, WCS_WR_FLUSH_ERR, cqe);
	s.rq_cons++;
	commit_resp(e, qp, &s, QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

int resp_nak_fail(struct engine *e, struct hca_qp *qp, u32 psn, u8 nak, u32 recv_status, u32 event,
		  u32 cause, u32 info)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	struct hca_cq *cq = &e->hca->cq[qp->rcq];
	struct resp_state s = qp->resp;
	struct cqe *cqe = NULL;
	struct journal_entry j = {
		.kind = JRN_COMPLETION,
		.status = (u8)recv_status,
		.cause = (u8)cause,
		.info = info,
		.qpn = qp->qpn,
		.peer_qpn = qp->attr.dest_qpn,
		.psn = psn,
		.client = qp->client - 1,
	};

	if (!seg)
		return -EAGAIN;
	dev_count(e->hca, qp, CNT_NAK_SENT);
	if (recv_status) {
		journal_add(e, &j);
		cqe = cq_reserve(e, seg, cq);
		if (cqe)
			cqe_fill_recv(e, qp, rq_slot(seg, qp, s.rq_cons), s.rq_cons, recv_status,
				      cqe);
		s.rq_cons++;
	}
	s.flags &= ~(u32)RESP_IN_MSG;
	timer_arm(e, qp, 0);
	commit_resp(e, qp, &s, QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
	if (event)
		qp_event(e, qp, event, cause, info);
	engine_ring(e, qp->client - 1, qp_slot(e->hca, qp));
	return resp_ack(e, qp, psn, nak);
}

/* No receive is posted: the requester shall wait. */
static int rnr(struct engine *e, struct hca_qp *qp, u32 psn)
{
	dev_count(e->hca, qp, CNT_RNR_SENT);
	return resp_ack(e, qp, psn, (u8)(AETH_RNR_NAK | (qp->attr.min_rnr_timer & 0x1f)));
}

/* Copy a request's payload. Return: 0, -EAGAIN, -ESRCH (drop: its sender has died), -EFAULT_*. */
static int fetch(struct engine *e, const struct hca_qp *qp, const struct burst *b,
		 const struct hca_mem *dst, u64 at)
{
	if (!b->len)
		return 0;
	return e->host->copy(e->ctx, dst, at, b->mem, b->off, b->len,
			     (u64)qp->qpn << 32 | b->psn << 1 | 1);
}

/* A small message that lies in a WQE rides in the completion and is laid out by the poll. */
static bool rides_in_cqe(struct engine *e, const struct burst *b, struct cqe *cqe)
{
	const u8 whole = BF_FIRST | BF_LAST;
	struct seg_hdr *src;

	if (b->len > CQE_INLINE || (b->flags & whole) != whole || b->mem->kind != MEM_SEG)
		return false;
	src = e->host->seg(e->ctx, b->mem->client);
	if (!src)
		return false;
	memcpy(cqe->data, seg_ptr(src, b->mem->iov[0].addr + b->off), b->len);
	return true;
}

/* Publish the end of a message that takes a receive. */
static void recv_done(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		      struct resp_state *s, const struct burst *b, u32 opcode, u32 len,
		      struct cqe *cqe, u8 cqe_flags)
{
	struct hca_cq *cq = &e->hca->cq[qp->rcq];

	if (cqe) {
		cqe_fill_recv(e, qp, rq_slot(seg, qp, s->rq_cons), s->rq_cons, WCS_SUCCESS, cqe);
		cqe->opcode = (u8)opcode;
		cqe->byte_len = len;
		cqe->flags |= cqe_flags;
		if (b->flags & BF_IMM) {
			cqe->wc_flags = WCF_WITH_IMM;
			cqe->imm = b->imm;
		} else if (b->flags & BF_INV) {
			cqe->wc_flags = WCF_WITH_INV;
			cqe->imm = b->inv_rkey;
		}
	}
	s->rq_cons++;
	commit_resp(e, qp, s, cqe ? qp->state : QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, b->flags & BF_SOLICITED);
	if (!cqe)
		engine_ring(e, qp->client - 1, qp_slot(e->hca, qp));
}

static void advance(struct resp_state *s, const struct burst *b, u64 len)
{
	s->epsn = psn_add(b->psn, b->npkts);
	s->flags &= ~(u32)RESP_NAK_SENT;
	s->rx_pkts += b->npkts;
	s->rx_bytes += len;
	if (b->flags & BF_LAST) {
		s->msn = (s->msn + 1) & IB_PSN_MASK;
		s->flags &= ~(u32)RESP_IN_MSG;
		s->off = 0;
	} else {
		s->flags |= RESP_IN_MSG;
		s->off += (u32)len;
	}
}

static int ack_if_asked(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	if (b->flags & BF_ACK_REQ)
		resp_ack(e, qp, psn_add(b->psn, b->npkts - 1), AETH_ACK);
	return 0;
}

static int resp_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		     const struct burst *b)
{
	struct resp_state s = qp->resp;
	struct hca_cq *cq = &e->hca->cq[qp->rcq];
	const struct rq_wqe *w;
	struct hca_mem dst;
	struct cqe *cqe = NULL;
	u64 room, at = s.off;
	u32 bad = 0;
	int ret;

	if (s.rq_cons == rq_posted(seg, qp))
		return rnr(e, qp, b->psn);
	w = rq_slot(seg, qp, s.rq_cons);
	if (mem_local(e->hca, qp, w->sge, min_u32(w->num_sge, qp->max_rsge), ACC_LOCAL_WRITE,
		      at + b->len, &dst, &room, &bad))
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_REM_OP, WCS_LOC_PROT_ERR, 0,
				     CAUSE_LKEY, bad);
	if (at + b->len > room)
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_INV_REQ, WCS_LOC_LEN_ERR, 0,
				     CAUSE_REQUEST_LEN, (u32)room);
	if (b->flags & BF_LAST)
		cqe = cq_reserve(e, seg, cq);
	if (b->len && cqe && rides_in_cqe(e, b, cqe)) {
		advance(&s, b, b->len);
		recv_done(e, qp, seg, &s, b, WCO_RECV, (u32)b->len, cqe, CQE_HAS_DATA);
		return ack_if_asked(e, qp, b);
	}
	ret = fetch(e, qp, b, &dst, at);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (ret)
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_REM_OP,
				     ret == -EFAULT_DST ? WCS_LOC_PROT_ERR : 0, 0, CAUSE_MEM_FAULT,
				     w->num_sge ? w->sge[0].lkey : 0);
	s.op = BOP_SEND;
	advance(&s, b, b->len);
	if (b->flags & BF_LAST)
		recv_done(e, qp, seg, &s, b, WCO_RECV, (u32)(at + b->len), cqe, 0);
	else
		commit_resp(e, qp, &s, qp->state, NULL, NULL);
	return ack_if_asked(e, qp, b);
}

/* SEND_WITH_INV: the key goes first; one that cannot be refuses the message. */
static int resp_send_inv(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			 const struct burst *b)
{
	struct hca_mr *mr;

	if (!(b->flags & BF_INV))
		return resp_send(e, qp, seg, b);
	mr = hca_mr_by_key(e->hca, b->inv_rkey);
	if (!mr || mr->client != qp->client || mr->pd != qp->pd)
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_REM_ACCESS, 0, EV_QP_ACCESS_ERR,
				     CAUSE_RKEY, b->inv_rkey);
	if (qp->resp.rq_cons != rq_posted(seg, qp)) {
		u32 before = qp->resp.msn;
		int ret = resp_send(e, qp, seg, b);

		if (qp->resp.msn != before)
			mr_invalidate(e->hca, qp, b->inv_rkey);
		return ret;
	}
	return rnr(e, qp, b->psn);
}

static int write_refused(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 rkey)
{
	return resp_nak_fail(e, qp, b->psn, AETH_NAK_REM_ACCESS, 0, EV_QP_ACCESS_ERR, CAUSE_RKEY,
			     rkey);
}

static int resp_write(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		      const struct burst *b)
{
	struct resp_state s = qp->resp;
	struct hca_cq *cq = &e->hca->cq[qp->rcq];
	struct cqe *cqe = NULL;
	struct hca_mem dst;
	u64 at;
	int ret;

	if (b->flags & BF_FIRST) {
		if (!(qp->attr.access & ACC_REMOTE_WRITE))
			return resp_nak_fail(e, qp, b->psn, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR,
					     CAUSE_ACCESS_FLAGS, qp->attr.access);
		s.va = b->va;
		s.rkey = b->rkey;
		s.len = (u32)b->dma_len;
		s.off = 0;
	}
	at = s.off;
	if (at + b->len > s.len || ((b->flags & BF_LAST) && at + b->len != s.len))
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR,
				     CAUSE_BAD_WQE, b->op);
	/* The whole range each time: the region may go while a message is under way. */
	if (mem_remote(e->hca, qp, s.rkey, s.va, s.len, ACC_REMOTE_WRITE, &dst))
		return write_refused(e, qp, b, s.rkey);
	if ((b->flags & BF_IMM) && s.rq_cons == rq_posted(seg, qp))
		return rnr(e, qp, b->psn);
	ret = fetch(e, qp, b, &dst, at);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (ret)
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_REM_OP, 0, EV_QP_FATAL,
				     CAUSE_MEM_FAULT, s.rkey);
	s.op = BOP_WRITE;
	advance(&s, b, b->len);
	if (b->flags & BF_IMM) {
		cqe = cq_reserve(e, seg, cq);
		recv_done(e, qp, seg, &s, b, WCO_RECV_RDMA_WITH_IMM, s.len, cqe, 0);
	} else {
		commit_resp(e, qp, &s, qp->state, NULL, NULL);
	}
	return ack_if_asked(e, qp, b);
}

/* FIRST, MIDDLE, LAST in order and of one kind (IBTA 9.7.4.1.2). */
static bool opcode_sequence_ok(const struct resp_state *s, const struct burst *b)
{
	bool in_msg = s->flags & RESP_IN_MSG;

	if (b->flags & BF_FIRST)
		return !in_msg;
	return in_msg && s->op == b->op;
}

/*
 * All packets of a message but the last are as long as the path MTU, which both sides set: where
 * they disagree only single packets that fit both pass (IBTA 9.7.4.1.6).
 */
static bool length_ok(const struct hca_qp *qp, const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	return likely(b->mtu == qp->mtu) ||
	       ((b->flags & whole) == whole && b->len <= min_u32(b->mtu, qp->mtu));
}

static int in_order(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct burst *b)
{
	if (!opcode_sequence_ok(&qp->resp, b) || !length_ok(qp, b))
		return resp_nak_fail(e, qp, b->psn, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR,
				     CAUSE_BAD_WQE, b->op);
	switch (b->op) {
	case BOP_SEND:
		return resp_send_inv(e, qp, seg, b);
	case BOP_WRITE:
		return resp_write(e, qp, seg, b);
	case BOP_READ_REQ:
		return resp_read(e, qp, b, false);
	case BOP_ATOMIC_REQ:
		return resp_atomic(e, qp, b, false);
	default:
		return 0;
	}
}

/* Ahead of what is expected: something was lost. Say so once. */
static int out_of_sequence(struct engine *e, struct hca_qp *qp)
{
	struct resp_state s = qp->resp;

	dev_count(e->hca, qp, CNT_SEQ_ERR);
	if (s.flags & RESP_NAK_SENT)
		return 0;
	s.flags |= RESP_NAK_SENT;
	commit_resp(e, qp, &s, qp->state, NULL, NULL);
	return resp_ack(e, qp, s.epsn, AETH_NAK_PSN_SEQ);
}

static int duplicate(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		     const struct burst *b, u32 behind)
{
	struct burst rest;

	dev_count(e->hca, qp, CNT_DUP_REQUEST);
	if (b->op == BOP_READ_REQ)
		return resp_read(e, qp, b, true);
	if (b->op == BOP_ATOMIC_REQ)
		return resp_atomic(e, qp, b, true);
	if (behind >= b->npkts)
		return resp_ack(e, qp, qp->resp.epsn - 1, AETH_ACK);
	burst_split(b, behind, b->npkts - behind, &rest);
	return in_order(e, qp, seg, &rest);
}

static void comm_est(struct engine *e, struct hca_qp *qp)
{
	struct resp_state s = qp->resp;

	s.flags |= RESP_COMM_EST;
	commit_resp(e, qp, &s, qp->state, NULL, NULL);
	qp_event(e, qp, EV_COMM_EST, CAUSE_NONE, 0);
}

int resp_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	s32 diff;

	if (!seg)
		return -EAGAIN;
	if (qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD)
		return 0;
	if (qp->state == QPS_RTR && !(qp->resp.flags & RESP_COMM_EST))
		comm_est(e, qp);
	diff = psn_diff(b->psn, qp->resp.epsn);
	if (unlikely(diff > 0))
		return out_of_sequence(e, qp);
	if (unlikely(diff < 0))
		return duplicate(e, qp, seg, b, (u32)-diff);
	return in_order(e, qp, seg, b);
}
