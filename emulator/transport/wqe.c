/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests: which opcodes a QP has, what is wrong with one, and the burst it becomes.
 */
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/transport/opcode.h"
#include "emulator/transport/wqe.h"

#define T(type) (1u << QPT_##type)
#define T_RD	(T(RC) | T(XRC_SEND)) /* those that get answers */
#define T_CONN	(T_RD | T(UC))
#define T_MSG	(T_CONN | T(UD) | T(SRD))

const struct wqe_op wqe_ops[WR_COUNT] = {
	[WR_RDMA_WRITE] = { BOP_WRITE, 0, T_CONN | T(SRD) },
	[WR_RDMA_WRITE_WITH_IMM] = { BOP_WRITE, BF_IMM, T_CONN | T(SRD) },
	[WR_SEND] = { BOP_SEND, 0, T_MSG | T(RAW_PACKET) },
	[WR_SEND_WITH_IMM] = { BOP_SEND, BF_IMM, T_MSG },
	[WR_RDMA_READ] = { BOP_READ_REQ, 0, T_RD | T(SRD) },
	[WR_ATOMIC_CMP_AND_SWP] = { BOP_ATOMIC_REQ, 0, T_RD },
	[WR_ATOMIC_FETCH_AND_ADD] = { BOP_ATOMIC_REQ, 0, T_RD },
	[WR_LOCAL_INV] = { BOP_NONE, 0, T_CONN },
	[WR_BIND_MW] = { BOP_NONE, 0, T_CONN },
	[WR_SEND_WITH_INV] = { BOP_SEND, BF_INV, T_CONN },
	[WR_TSO] = { BOP_NONE, 0, T(RAW_PACKET) },
	[WR_FLUSH] = { BOP_FLUSH, 0, T_RD },
	[WR_ATOMIC_WRITE] = { BOP_ATOMIC_WRITE, 0, T_RD },
};

bool wqe_allowed(u32 qp_type, u32 opcode)
{
	return opcode < WR_COUNT && (wqe_ops[opcode].types >> qp_type & 1);
}

u32 wqe_type_mask(u32 qp_type)
{
	u32 mask = 0, op;

	for (op = 0; op < WR_COUNT; op++)
		if (qp_type < 32 && wqe_allowed(qp_type, op))
			mask |= 1u << op;
	return mask;
}

u32 wqe_mask(u32 qp_type, const struct hca_limits *lim)
{
	u32 mask = wqe_type_mask(qp_type);

	if (lim->atomic_cap == ATOMIC_NONE)
		mask &= ~(1u << WR_ATOMIC_CMP_AND_SWP | 1u << WR_ATOMIC_FETCH_AND_ADD);
	if (!(lim->caps & CAP_FLUSH))
		mask &= ~(1u << WR_FLUSH);
	if (!(lim->caps & CAP_ATOMIC_WRITE))
		mask &= ~(1u << WR_ATOMIC_WRITE);
	if (!(lim->caps & CAP_MEM_MGT_EXTENSIONS))
		mask &= ~(1u << WR_SEND_WITH_INV);
	return mask;
}

u64 wqe_len(const struct hca_qp *qp, const struct sq_wqe *w)
{
	u32 i, n = min_u32(w->num_sge, qp->max_sge);
	u64 len = 0;

	if (unlikely(w->opcode == WR_FLUSH))
		return 0;
	if (w->hw & SQ_HW_INLINE)
		return w->total_len;
	for (i = 0; i < n; i++)
		len += w->sge[i].len;
	return len;
}

u64 wqe_response_len(const struct hca_qp *qp, const struct sq_wqe *w)
{
	return w->opcode == WR_RDMA_READ ? wqe_len(qp, w) : 0;
}

/* The payload lies in the work request itself. */
static u32 wqe_inline_mem(const struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
			  const struct sq_wqe *w, struct hca_mem *mem, u64 *len)
{
	if (w->total_len > qp->sq_stride - SQ_HDR)
		return WCS_LOC_QP_OP_ERR;
	mem->client = qp->client - 1;
	mem->kind = MEM_SEG;
	mem->n = 1;
	mem->iov[0].addr = (u64)((const char *)slot->sge - (const char *)seg);
	mem->iov[0].len = *len = w->total_len;
	return WCS_SUCCESS;
}

static bool wqe_length_ok(const struct hca_qp *qp, const struct sq_wqe *w, u64 len)
{
	if (unlikely(len > qp->max_msg))
		return false;
	if (unlikely(qp_is_datagram(qp)) && wqe_ops[w->opcode].op == BOP_SEND)
		return len <= qp->mtu;
	if (unlikely(w->opcode == WR_ATOMIC_WRITE))
		return len == 8;
	if (unlikely(w->opcode == WR_FLUSH))
		return (w->swap & FLUSH_MR) || w->compare_add <= LIM_MSG;
	return !wqe_has_result(w->opcode) || w->opcode == WR_RDMA_READ || len >= 8;
}

/*
 * Checks for requests that get a response. Local keys of READs and atomics are those of a scatter
 * list: the completer checks them when it writes the response there, as HCAs do. By then the
 * responder has executed the request, or has found another error.
 */
static struct verdict wqe_rd_check(struct engine *e, const struct hca_qp *qp,
				   const struct sq_wqe *w)
{
	if (!qp->attr.max_rd_atomic && qp->type != QPT_SRD)
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_RD_ATOMIC, 0);
	if (!wqe_has_result(w->opcode))
		return wqe_verdict(WCS_SUCCESS, CAUSE_BAD_WQE, w->opcode);
	if (w->opcode == WR_RDMA_READ && w->num_sge > lim_of(e->hca, qp->dev)->max_sge_rd)
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	if ((w->hw & SQ_HW_INLINE) || w->num_sge > qp->max_sge)
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	return wqe_verdict(WCS_SUCCESS, CAUSE_BAD_WQE, w->opcode);
}

struct verdict wqe_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			 const struct sq_wqe *slot, const struct sq_wqe *w, struct hca_mem *mem,
			 u64 *len)
{
	struct verdict v;
	u32 bad_lkey;

	if (unlikely(w->opcode >= 32 || !(qp->wr_mask >> w->opcode & 1)))
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	if (unlikely(wqe_is_rd(w->opcode))) {
		v = wqe_rd_check(e, qp, w);
		if (v.status)
			return v;
	}
	if (unlikely(wqe_has_result(w->opcode) || w->opcode == WR_FLUSH)) {
		*len = wqe_len(qp, slot);
	} else if (w->hw & SQ_HW_INLINE) {
		if (unlikely(wqe_inline_mem(qp, seg, slot, w, mem, len)))
			return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	} else if (unlikely(w->num_sge > qp->max_sge)) {
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	} else if (unlikely(mem_local(e->hca, qp->pd, slot->sge, w->num_sge, 0, ~0ULL, mem, len,
				      &bad_lkey))) {
		return wqe_verdict(WCS_LOC_PROT_ERR, CAUSE_LKEY, bad_lkey);
	}
	if (likely(wqe_length_ok(qp, w, *len)))
		return wqe_verdict(WCS_SUCCESS, CAUSE_BAD_WQE, w->opcode);
	return wqe_verdict(WCS_LOC_LEN_ERR, CAUSE_LOCAL_LEN, (u32)*len);
}

/* Whether a burst of @chunk bytes from @at on, in the midst of a message, asks for an ACK. */
static bool wqe_asks_ack(const struct hca_qp *qp, u64 at, u64 chunk)
{
	return likely(!qp->ack_span) || at / qp->ack_span != (at + chunk) / qp->ack_span;
}

/* Fill in the fields of a burst that depend on the opcode. */
static void wqe_burst_request(const struct hca_qp *qp, const struct req_state *s,
			      const struct sq_wqe *w, u64 chunk, bool last, struct burst *b)
{
	if (b->op == BOP_READ_REQ) {
		b->flags = BF_FIRST | BF_LAST;
		b->va += s->next_off;
		b->off = 0;
		b->dma_len = chunk;
		b->mem = NULL;
		return;
	}
	if (b->op == BOP_FLUSH) {
		b->flags = BF_FIRST | BF_LAST;
		b->dma_len = min_u64(w->compare_add, LIM_MSG);
		b->swap = w->swap & FLUSH_KNOWN;
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
	b->flags = last || wqe_asks_ack(qp, s->next_off, chunk) ? BF_ACK_REQ : 0;
	if (!s->next_off)
		b->flags |= BF_FIRST;
	if (!last)
		return;
	b->flags |= BF_LAST | wqe_ops[w->opcode].flags;
	if (w->send_flags & SEND_SOLICITED)
		b->flags |= BF_SOLICITED;
	b->imm = w->imm;
	b->inv_rkey = w->rkey;
}

void wqe_burst(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w,
	       const struct hca_mem *mem, u64 total, u64 chunk, struct burst *b)
{
	*b = (struct burst){
		.op = wqe_ops[w->opcode].op,
		.path = qp->path,
		.psn = s->next_psn,
		.npkts = packets_of(chunk, qp->mtu),
		.mtu = qp->mtu,
		.rkey = w->rkey,
		.va = w->remote_addr,
		.dma_len = total,
		.srqn = w->remote_qpn,
		.len = chunk,
		.off = s->next_off,
		.mem = chunk ? mem : NULL,
	};
	wqe_burst_request(qp, s, w, chunk, s->next_off + chunk == total, b);
}
