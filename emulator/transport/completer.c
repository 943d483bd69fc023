/* SPDX-License-Identifier: MIT */
/**
 * DOC: the RC completer: ACKs, NAKs, READ responses and atomic responses.
 *
 * Completions come in the order of the send queue. An ACK beyond an outstanding READ or atomic
 * means that its response was lost: the request is retransmitted (IBTA 9.7.5.1.1, implied NAK).
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/tag_match.h"
#include "emulator/transport/untrusted.h"
#include "emulator/transport/wc_fault.h"
#include "emulator/transport/wqe.h"

static const u8 wc_opcode[WR_COUNT] = {
	[WR_RDMA_WRITE] = WCO_RDMA_WRITE,
	[WR_RDMA_WRITE_WITH_IMM] = WCO_RDMA_WRITE,
	[WR_SEND] = WCO_SEND,
	[WR_SEND_WITH_IMM] = WCO_SEND,
	[WR_RDMA_READ] = WCO_RDMA_READ,
	[WR_ATOMIC_CMP_AND_SWP] = WCO_COMP_SWAP,
	[WR_ATOMIC_FETCH_AND_ADD] = WCO_FETCH_ADD,
	[WR_LOCAL_INV] = WCO_LOCAL_INV,
	[WR_BIND_MW] = WCO_BIND_MW,
	[WR_SEND_WITH_INV] = WCO_SEND,
	[WR_TSO] = WCO_TSO,
	[WR_FLUSH] = WCO_FLUSH,
	[WR_ATOMIC_WRITE] = WCO_ATOMIC_WRITE,
};

static inline void cqe_fill_send_inline(struct engine *e, const struct hca_qp *qp,
					const struct sq_wqe *w, u32 slot, u32 status,
					struct cqe *cqe)
{
	u32 opcode = w->opcode;

	cqe->wr_id = w->wr_id;
	cqe->ts = cq_timestamp(e, &e->hca->cq[qp->scq]);
	cqe->byte_len = opcode == WR_RDMA_READ	 ? (u32)wqe_len(qp, w)
			: wqe_has_result(opcode) ? 8
						 : 0;
	cqe->imm = 0;
	cqe->qpn = qp->qpn;
	cqe->src_qp = 0;
	cqe->slot = slot;
	cqe->vendor_err = 0;
	cqe->status = (u8)status;
	cqe->opcode = opcode < WR_COUNT ? wc_opcode[opcode] : WCO_SEND;
	cqe->wc_flags = 0;
	cqe->flags = 0;
}

void cqe_fill_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 slot,
		   u32 status, struct cqe *cqe)
{
	cqe_fill_send_inline(e, qp, w, slot, status, cqe);
}

/* Complete WQE @una; *s moves past it. Commits when there is an entry to publish. */
static void comp_complete_wqe(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			      struct req_state *s, const struct sq_wqe *w, u32 end_psn)
{
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	struct cqe *cqe = NULL;
	bool signaled = w->send_flags & SEND_SIGNALED;
	u32 was = qp->state;

	if (signaled) {
		cqe = cq_reserve(e, seg, cq);
		if (cqe)
			cqe_fill_send_inline(e, qp, w, s->una, WCS_SUCCESS, cqe);
	}
	if (w->opcode == WR_SEND || w->opcode == WR_SEND_WITH_IMM || w->opcode == WR_SEND_WITH_INV)
		count_send(e->hca, qp);
	s->una++;
	s->una_psn = s->una_first = end_psn;
	if (!signaled)
		return;
	/* A completion that finds no room fails the QP together with the CQ. */
	if (unlikely(!cqe))
		cq_entry_lost(e, qp, cq);
	commit_req(e, qp, s, cqe || cq->ignore_overrun ? was : QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, false);
}

/* As a rule the completion of a work request has published *s already. */
static void req_publish(struct engine *e, struct hca_qp *qp, const struct req_state *s)
{
	if (memcmp(s, &qp->req, sizeof(*s)) != 0)
		commit_req(e, qp, s, qp->state, NULL, NULL);
}

void req_complete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct req_state *s)
{
	comp_complete_wqe(e, qp, seg, s, sq_slot(seg, qp, s->una), s->next_psn);
	req_publish(e, qp, s);
}

/*
 * The PSN after the last packet of WQE @una. The list in the ring tells its length, and the program
 * may have changed it since: so the end of the last request, which is known, comes from *s. Then no
 * packet stays outstanding when no request is.
 */
static u32 comp_wqe_end(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w)
{
	if (s->una + 1 == s->next && !s->next_off)
		return s->next_psn;
	return psn_add(s->una_first, packets_of(wqe_len(qp, w), qp->mtu));
}

/*
 * Everything before @end is acknowledged.
 * Return: false when an outstanding request that gets a response is in the way.
 */
static bool comp_ack_upto(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			  struct req_state *s, u32 end)
{
	bool moved = false;
	bool ok = true;

	if (unlikely(req_own(s)))
		return rndv_ack(qp, s, end);
	while (psn_diff(end, s->una_psn) > 0 && (s->una != s->next || s->next_off)) {
		const struct sq_wqe *w = sq_slot(seg, qp, s->una);
		u32 wqe_end;

		if (wqe_is_rd(w->opcode)) {
			ok = false;
			break;
		}
		moved = true;
		wqe_end = comp_wqe_end(qp, s, w);
		if (psn_diff(end, wqe_end) < 0) {
			s->una_psn = end;
			break;
		}
		comp_complete_wqe(e, qp, seg, s, w, wqe_end);
	}
	if (moved)
		req_progress(qp, s);
	return ok;
}

/*
 * Retransmit from the oldest unacknowledged packet, if a retry is left, but only once: further NAKs
 * for it were sent before the retransmission arrived. If it is lost again, the ACK timer expires.
 */
static void comp_resend(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			struct req_state *s, u32 cause)
{
	if (s->flags & REQ_RESENT) {
		commit_req(e, qp, s, qp->state, NULL, NULL);
		return;
	}
	if (!s->retry) {
		commit_req(e, qp, s, qp->state, NULL, NULL);
		dev_count(e->hca, qp, CNT_RETRY_EXC);
		req_fail(e, qp, seg, WCS_RETRY_EXC_ERR,
			 cause == CAUSE_SEQ_NAK ? CAUSE_RETRY_NAK : CAUSE_RETRY_RESPONSE,
			 qp->attr.retry_cnt);
		return;
	}
	s->retry--;
	s->flags |= REQ_RESENT;
	qp->n_retry++;
	dev_count(e->hca, qp, CNT_RETRY);
	qp->deadline = 0;
	req_rewind(s, qp->mtu);
	commit_req(e, qp, s, qp->state, NULL, NULL);
	journal_retry(e, qp, cause, 0);
}

static void comp_rnr_nak(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			 struct req_state *s, u32 timer)
{
	enum { RNR_FOR_EVER = 7 };

	dev_count(e->hca, qp, CNT_RNR_RCVD);
	qp->n_rnr++;
	if (!s->rnr_retry) {
		commit_req(e, qp, s, qp->state, NULL, NULL);
		dev_count(e->hca, qp, CNT_RNR_RETRY_EXC);
		req_fail(e, qp, seg, WCS_RNR_RETRY_EXC_ERR, CAUSE_RNR_RETRY, qp->attr.rnr_retry);
		return;
	}
	if (qp->attr.rnr_retry != RNR_FOR_EVER)
		s->rnr_retry--;
	s->flags |= REQ_RNR_WAIT;
	req_rewind(s, qp->mtu);
	commit_req(e, qp, s, qp->state, NULL, NULL);
	journal_retry(e, qp, CAUSE_RNR, timer);
	qp_timer_arm(e, qp, e->ops->now(e->ctx) + ib_rnr_timer_ns(timer));
}

static void comp_nak_fatal(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u8 syndrome)
{
	u32 status = syndrome == AETH_NAK_INV_REQ      ? WCS_REM_INV_REQ_ERR
		     : syndrome == AETH_NAK_REM_ACCESS ? WCS_REM_ACCESS_ERR
						       : WCS_REM_OP_ERR;

	bool fault = unlikely(qp->fault.nak == syndrome) && qp->fault.wqe == qp->req.una + 1;

	req_fail(e, qp, seg, status, fault ? CAUSE_FAULT : CAUSE_NAK,
		 fault ? qp->fault.rule : syndrome);
}

static void comp_ack_input(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 psn,
			   u8 aeth)
{
	struct req_state s = qp->req;
	bool positive = aeth < AETH_RNR_NAK;
	bool clear = comp_ack_upto(e, qp, seg, &s, positive ? psn_add(psn, 1) : psn);

	if (qp->state == QPS_ERR)
		return; /* the CQ has overrun */
	if (aeth == AETH_NAK_PSN_SEQ)
		dev_count(e->hca, qp, CNT_SEQ_ERR);
	if (!clear || aeth == AETH_NAK_PSN_SEQ)
		comp_resend(e, qp, seg, &s, clear ? CAUSE_SEQ_NAK : CAUSE_LOST_RESPONSE);
	else if (positive)
		req_publish(e, qp, &s);
	else if (aeth < AETH_NAK_PSN_SEQ)
		comp_rnr_nak(e, qp, seg, &s, aeth & 0x1f);
	else {
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		comp_nak_fatal(e, qp, seg, aeth);
	}
}

/* Copy a response's data to the scatter list of the READ or atomic. */
static int response_place(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			  const struct sq_wqe *w, u64 at, const struct burst *b, u32 *bad)
{
	const struct hca_mem *src = b->mem;
	struct hca_mem dst, result;
	u64 len = b->len, off = b->off, total;

	if (!wqe_has_result(w->opcode))
		return 0;
	if (b->op == BOP_ATOMIC_ACK)
		len = sizeof(u64);
	if (mem_local(e->hca, qp->pd, w->sge, min_u32(w->num_sge, qp->max_sge), ACC_LOCAL_WRITE,
		      at + len, &dst, &total, bad))
		return -EFAULT_DST;
	if (b->op == BOP_ATOMIC_ACK) {
		comp_note_result(qp, seg, b->orig, &result);
		src = &result;
		off = 0;
	}
	if (at + len > total)
		return -EFAULT_DST;
	if (!len)
		return 0;
	return e->ops->copy(e->ctx, &dst, at, src, off, len, (u64)qp->qpn << 32 | b->psn << 1);
}

static int comp_response_input(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			       const struct burst *b)
{
	struct req_state s = qp->req;
	const struct sq_wqe *w;
	u32 bad = 0, end, wqe_end, status;
	u64 at;
	int ret;

	if (!comp_ack_upto(e, qp, seg, &s, b->psn)) {
		comp_resend(e, qp, seg, &s, CAUSE_LOST_RESPONSE);
		return 0;
	}
	if (qp->state == QPS_ERR)
		return 0;
	if (unlikely(req_own(&s)))
		return rndv_response(e, qp, seg, &s, b);
	w = sq_slot(seg, qp, s.una);
	if (!wqe_is_rd(w->opcode) || wqe_response_op(w->opcode) != b->op ||
	    req_response_is_beyond(&s, b)) {
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		req_fail(e, qp, seg, WCS_BAD_RESP_ERR, CAUSE_BAD_WQE, b->op);
		return 0;
	}
	if (wc_fault_is_bad_resp(qp, &s)) {
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		req_fail(e, qp, seg, WCS_BAD_RESP_ERR, CAUSE_FAULT, qp->fault.rule);
		return 0;
	}
	at = (u64)((s.una_psn - s.una_first) & IB_PSN_MASK) * qp->mtu;
	if (unlikely(b->flags & BF_FOREIGN) &&
	    (status = untrusted_response_status(qp, at, wqe_response_len(qp, w), b))) {
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		req_fail(e, qp, seg, status, CAUSE_BAD_WQE, b->op);
		return 0;
	}
	ret = response_place(e, qp, seg, w, at, b, &bad);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (ret) {
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		req_fail(e, qp, seg, ret == -EFAULT_DST ? WCS_LOC_PROT_ERR : WCS_REM_OP_ERR,
			 bad ? CAUSE_LKEY : CAUSE_MEM_FAULT, bad);
		return 0;
	}
	req_progress(qp, &s);
	end = psn_add(b->psn, b->npkts);
	wqe_end = b->op == BOP_READ_RESP ? comp_wqe_end(qp, &s, w) : psn_add(s.una_first, 1);
	if ((b->flags & BF_LAST) && s.rd_out)
		s.rd_out--;
	s.una_psn = end;
	if (psn_diff(end, wqe_end) >= 0)
		comp_complete_wqe(e, qp, seg, &s, w, wqe_end);
	if (qp->state != QPS_ERR)
		req_publish(e, qp, &s);
	return 0;
}

int comp_ack(struct engine *e, struct hca_qp *qp, u32 psn, u8 aeth)
{
	struct seg_hdr *seg = seg_of(e, qp->client);

	if (unlikely(!seg))
		return -EAGAIN;
	/* An ACK for a PSN that is not outstanding is a late duplicate. */
	if (likely(req_outstanding(qp, psn)))
		comp_ack_input(e, qp, seg, psn, aeth);
	return 0;
}

int comp_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct seg_hdr *seg = seg_of(e, qp->client);

	if (!seg)
		return -EAGAIN;
	return req_outstanding(qp, b->psn) ? comp_response_input(e, qp, seg, b) : 0;
}
