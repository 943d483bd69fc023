/* SPDX-License-Identifier: MIT */
/**
 * DOC: the RC requester: from posted WQEs to bursts.
 *
 * Theory of operation
 * -------------------
 * req_step() sends the next burst of the WQE at @next: up to CHUNK bytes, a whole number of packets
 * unless it ends the message. The new state is committed before the burst is put on the wire, since
 * a wire without delay delivers it, and its acknowledge, within the call. The ring stays writable to
 * the client, so a WQE is copied before it is looked at, and read again when it is completed or sent
 * once more: a client that changes it in between confuses only itself.
 *
 * A READ of more than CHUNK bytes is asked for in several requests, as the model does one bounded
 * thing at a time.
 */
#include "emulator/model.h"

#define CHUNK	   (1u << 20)
#define PSN_WINDOW (1 << 22)

static const struct {
	u8 op;
	u8 flags;
	bool ok;
} rc_ops[WR_COUNT] = {
	[WR_RDMA_WRITE] = { BOP_WRITE, 0, true },
	[WR_RDMA_WRITE_WITH_IMM] = { BOP_WRITE, BF_IMM, true },
	[WR_SEND] = { BOP_SEND, 0, true },
	[WR_SEND_WITH_IMM] = { BOP_SEND, BF_IMM, true },
	[WR_RDMA_READ] = { BOP_READ_REQ, 0, true },
	[WR_ATOMIC_CMP_AND_SWP] = { BOP_ATOMIC_REQ, 0, true },
	[WR_ATOMIC_FETCH_AND_ADD] = { BOP_ATOMIC_REQ, 0, true },
	[WR_SEND_WITH_INV] = { BOP_SEND, BF_INV, true },
};

u64 wqe_len(const struct hca_qp *qp, const struct sq_wqe *w)
{
	u32 i, n = min_u32(w->num_sge, qp->max_sge);
	u64 len = 0;

	if (w->hw & SQ_HW_INLINE)
		return w->total_len;
	for (i = 0; i < n; i++)
		len += w->sge[i].len;
	return len;
}

u32 wqe_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	      const struct sq_wqe *w, struct hca_mem *mem, u64 *len, u32 *cause, u32 *info)
{
	bool rd = wqe_is_rd(w->opcode);

	*cause = CAUSE_BAD_WQE;
	*info = w->opcode;
	if (w->opcode >= WR_COUNT || !rc_ops[w->opcode].ok)
		return WCS_LOC_QP_OP_ERR;
	if (rd && !qp->attr.max_rd_atomic) {
		*cause = CAUSE_RD_ATOMIC;
		*info = 0;
		return WCS_LOC_QP_OP_ERR;
	}
	if (w->hw & SQ_HW_INLINE) {
		if (w->total_len > qp->sq_stride - SQ_HDR || rd)
			return WCS_LOC_QP_OP_ERR;
		mem->client = qp->client - 1;
		mem->kind = MEM_SEG;
		mem->n = 1;
		mem->iov[0].addr = (u64)((const char *)slot->sge - (const char *)seg);
		mem->iov[0].len = *len = w->total_len;
		return WCS_SUCCESS;
	}
	if (w->num_sge > qp->max_sge)
		return WCS_LOC_QP_OP_ERR;
	if (mem_local(e->hca, qp, slot->sge, w->num_sge, rd ? ACC_LOCAL_WRITE : 0, ~0ULL, mem, len,
		      info)) {
		*cause = CAUSE_LKEY;
		return WCS_LOC_PROT_ERR;
	}
	if (*len > LIM_MSG || (rd && w->opcode != WR_RDMA_READ && *len < 8)) {
		*cause = CAUSE_LOCAL_LEN;
		*info = (u32)*len;
		return WCS_LOC_LEN_ERR;
	}
	return WCS_SUCCESS;
}

static void make_burst(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w,
		       const struct hca_mem *mem, u64 total, u64 chunk, struct burst *b)
{
	bool last = s->next_off + chunk == total;

	*b = (struct burst){
		.op = rc_ops[w->opcode].op,
		.src_dev = qp->dev,
		.dst_dev = qp->attr.av.dst_dev,
		.src_qpn = qp->qpn,
		.dst_qpn = qp->attr.dest_qpn,
		.psn = s->next_psn,
		.npkts = packets_of(chunk, qp->mtu),
		.mtu = qp->mtu,
		.rkey = w->rkey,
		.va = w->remote_addr,
		.dma_len = total,
		.len = chunk,
		.off = s->next_off,
		.mem = chunk ? mem : NULL,
	};
	if (b->op == BOP_READ_REQ) {
		b->flags = BF_FIRST | BF_LAST;
		b->va += s->next_off;
		b->dma_len = chunk;
		b->mem = NULL;
		return;
	}
	if (b->op == BOP_ATOMIC_REQ) {
		b->flags = BF_FIRST | BF_LAST;
		b->atomic_op = w->opcode;
		b->compare_add = w->compare_add;
		b->swap = w->swap;
		b->len = 0;
		b->mem = NULL;
		return;
	}
	b->flags = BF_ACK_REQ;
	if (!s->next_off)
		b->flags |= BF_FIRST;
	if (!last)
		return;
	b->flags |= BF_LAST | rc_ops[w->opcode].flags;
	if (w->send_flags & SEND_SOLICITED)
		b->flags |= BF_SOLICITED;
	b->imm = w->imm;
	b->inv_rkey = w->rkey;
}

/* Whether WQE @next may begin, or go on, now. */
static bool may_send(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w)
{
	if (qp->state == QPS_SQD && (s32)(s->sent - s->next) <= 0)
		return false;
	if (psn_diff(s->next_psn, s->una_psn) > PSN_WINDOW)
		return false;
	if ((w->send_flags & SEND_FENCE) && s->rd_out)
		return false;
	return !wqe_is_rd(w->opcode) || s->rd_out < qp->attr.max_rd_atomic;
}

/* Send the next burst. Return: whether it is worth while to call again. */
static bool req_step(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct req_state old = qp->req, s = old;
	const struct sq_wqe *slot;
	struct sq_wqe w;
	struct hca_mem mem;
	struct burst b;
	u32 status, cause, info;
	u64 total, chunk;
	u32 posted = sq_posted(seg, qp);

	if (s.next == posted || (s.flags & REQ_RNR_WAIT))
		return false;
	/* Several wait, nothing is under way, and the wire neither delays nor loses. */
	if (posted - s.next > 1 && s.una == s.next && !s.next_off && !e->host->wire &&
	    train_send(e, qp, seg, posted))
		return true;
	slot = sq_slot(seg, qp, s.next);
	memcpy(&w, slot, sizeof(w));
	status = wqe_check(e, qp, seg, slot, &w, &mem, &total, &cause, &info);
	if (status) {
		/* It is the oldest one's turn to complete first. */
		if (s.una != s.next)
			return false;
		req_fail(e, qp, seg, status, cause, info);
		return true;
	}
	if (!may_send(qp, &s, &w))
		return false;
	if (w.opcode != WR_RDMA_READ && wqe_is_rd(w.opcode))
		total = 0;
	if (s.next_off > total)
		s.next_off = total; /* the client shortened a WQE under way */
	/* A READ that is asked for again is asked for in the same portions as before. */
	chunk = min_u64(total - s.next_off, CHUNK - s.next_off % CHUNK);
	make_burst(qp, &s, &w, &mem, total, chunk, &b);
	s.next_psn = psn_add(s.next_psn, b.npkts);
	s.next_off += chunk;
	s.tx_pkts += b.npkts;
	s.tx_bytes += chunk;
	if (wqe_is_rd(w.opcode))
		s.rd_out++;
	if (s.next_off == total) {
		s.next++;
		s.next_off = 0;
	}
	if ((s32)(s.next + 1 - s.sent) > 0)
		s.sent = s.next_off ? s.next + 1 : s.next;
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	e->budget_bytes -= (s64)chunk;
	e->budget_wrs--;
	if (xmit(e, &b) != -EAGAIN)
		return true;
	commit_req(e, qp, &old, qp->state, NULL, NULL);
	qp_stall(e, qp);
	return false;
}

void req_rewind(struct req_state *s, u32 mtu)
{
	s->next = s->una;
	s->next_psn = s->una_psn;
	s->next_off = (u64)((s->una_psn - s->una_first) & IB_PSN_MASK) * mtu;
	s->rd_out = 0;
}

void req_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	      u32 info)
{
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	struct req_state s = qp->req;
	const struct sq_wqe *w = sq_slot(seg, qp, s.una);
	struct cqe *cqe = cq_reserve(e, seg, cq);
	struct journal_entry j = {
		.kind = JRN_COMPLETION,
		.status = (u8)status,
		.cause = (u8)cause,
		.info = info,
		.qpn = qp->qpn,
		.peer_qpn = qp->attr.dest_qpn,
		.psn = s.una_psn,
		.client = qp->client - 1,
	};

	journal_add(e, &j);
	if (cqe)
		cqe_fill_send(e, qp, w, s.una, status, cqe);
	s.una++;
	s.next = s.una;
	s.next_off = 0;
	s.next_psn = s.una_psn = s.una_first;
	timer_arm(e, qp, 0);
	commit_req(e, qp, &s, QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

/* Nothing came back in time: send again, or give up. */
static void ack_timeout(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct req_state s = qp->req;

	dev_count(e->hca, qp, CNT_TIMEOUT);
	if (!s.retry) {
		dev_count(e->hca, qp, CNT_RETRY_EXC);
		req_fail(e, qp, seg, WCS_RETRY_EXC_ERR, CAUSE_RETRY, qp->attr.retry_cnt);
		return;
	}
	s.retry--;
	s.flags &= ~(u32)REQ_RESENT;
	qp->n_retry++;
	req_rewind(&s, qp->mtu);
	commit_req(e, qp, &s, qp->state, NULL, NULL);
}

void req_timeout(struct engine *e, struct hca_qp *qp)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	struct req_state s = qp->req;

	if (!seg || (qp->state != QPS_RTS && qp->state != QPS_SQD))
		return;
	if (s.flags & REQ_RNR_WAIT) {
		s.flags &= ~(u32)REQ_RNR_WAIT;
		commit_req(e, qp, &s, qp->state, NULL, NULL);
	} else if (s.next_psn != s.una_psn) {
		ack_timeout(e, qp, seg);
	}
}

static void drained(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;

	if (s.next_psn != s.una_psn || (s.flags & REQ_DRAINED) || (s32)(s.sent - s.next) > 0)
		return;
	s.flags |= REQ_DRAINED;
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	if (qp->attr.en_sqd_async_notify)
		qp_event(e, qp, EV_SQ_DRAINED, CAUSE_NONE, 0);
}

/* Arm the ack timer while something is unacknowledged (IBTA 9.9.2.1.1). */
static void ack_timer(struct engine *e, struct hca_qp *qp)
{
	const struct req_state *s = &qp->req;

	if (qp->stalled || (s->flags & REQ_RNR_WAIT))
		return;
	if (s->next_psn == s->una_psn || !qp->attr.timeout)
		timer_arm(e, qp, 0);
	else if (!qp->deadline)
		timer_arm(e, qp, e->host->now(e->ctx) + ib_ack_timeout_ns(qp->attr.timeout));
}

void engine_run_qp(struct engine *e, u32 slot)
{
	struct hca_qp *qp = &e->hca->qp[slot];
	struct seg_hdr *seg;
	bool more = true;

	if (!qp->client)
		return;
	seg = seg_of(e, qp->client);
	if (!seg || (qp->stalled && e->self != ENGINE_FABRIC)) {
		qp_stall(e, qp);
		return;
	}
	qp->stalled = 0;
	if (e->self == ENGINE_FABRIC)
		store_relaxed(&qp->n_fabric, qp->n_fabric + 1);
	e->hca->cur_qp = slot + 1;
	while (more && budget_left(e)) {
		if (qp->state == QPS_ERR)
			more = !qp_flush(e, qp, seg);
		else if (qp->state == QPS_RTS || qp->state == QPS_SQD)
			more = req_step(e, qp, seg);
		else
			more = false;
	}
	e->hca->cur_qp = 0;
	if (more) {
		engine_ring(e, qp->client - 1, slot);
		e->kick = true;
	}
	if (qp->state == QPS_RTS || qp->state == QPS_SQD)
		ack_timer(e, qp);
	if (qp->state == QPS_SQD)
		drained(e, qp);
}
