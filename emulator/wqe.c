/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests: which opcodes a QP has, what is wrong with one, and the burst it becomes.
 */
#include "emulator/model.h"

#define T(type) (1u << QPT_##type)
#define T_RD	(T(RC) | T(XRC_SEND)) /* those that get answers */
#define T_CONN	(T_RD | T(UC))
#define T_MSG	(T_CONN | T(UD))

/** ops - on the wire, and which QP types have the opcode: ibv_post_send(3). */
static const struct {
	u8 op;
	u8 flags;
	u16 types;
} ops[WR_COUNT] = {
	[WR_RDMA_WRITE] = { BOP_WRITE, 0, T_CONN },
	[WR_RDMA_WRITE_WITH_IMM] = { BOP_WRITE, BF_IMM, T_CONN },
	[WR_SEND] = { BOP_SEND, 0, T_MSG | T(RAW_PACKET) },
	[WR_SEND_WITH_IMM] = { BOP_SEND, BF_IMM, T_MSG },
	[WR_RDMA_READ] = { BOP_READ_REQ, 0, T_RD },
	[WR_ATOMIC_CMP_AND_SWP] = { BOP_ATOMIC_REQ, 0, T_RD },
	[WR_ATOMIC_FETCH_AND_ADD] = { BOP_ATOMIC_REQ, 0, T_RD },
	[WR_LOCAL_INV] = { BOP_NONE, 0, T_CONN },
	[WR_BIND_MW] = { BOP_NONE, 0, T_CONN },
	[WR_SEND_WITH_INV] = { BOP_SEND, BF_INV, T_CONN },
	[WR_TSO] = { BOP_NONE, 0, T(RAW_PACKET) },
	[WR_ATOMIC_WRITE] = { BOP_ATOMIC_WRITE, 0, T_RD },
};

/* What the device's capabilities leave out. */
static bool wqe_capable(const struct hca_limits *lim, const struct sq_wqe *w)
{
	switch (w->opcode) {
	case WR_ATOMIC_CMP_AND_SWP:
	case WR_ATOMIC_FETCH_AND_ADD:
		return lim->atomic_cap != ATOMIC_NONE;
	case WR_ATOMIC_WRITE:
		return lim->caps & CAP_ATOMIC_WRITE;
	case WR_SEND_WITH_INV:
		return lim->caps & CAP_MEM_MGT_EXTENSIONS;
	case WR_RDMA_READ:
		return w->num_sge <= lim->max_sge_rd;
	default:
		return true;
	}
}

bool wqe_allowed(u32 qp_type, u32 opcode)
{
	return opcode < WR_COUNT && (ops[opcode].types >> qp_type & 1);
}

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

/* The payload lies in the work request itself. */
static u32 inline_mem(const struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
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

static bool length_ok(const struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
		      u64 len)
{
	if (len > e->hca->dev[qp->dev].lim.max_msg)
		return false;
	if (qp->type == QPT_UD)
		return len <= qp->mtu;
	if (w->opcode == WR_ATOMIC_WRITE)
		return len == 8;
	return !wqe_is_rd(w->opcode) || w->opcode == WR_RDMA_READ || len >= 8;
}

u32 wqe_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	      const struct sq_wqe *w, struct hca_mem *mem, u64 *len, u32 *cause, u32 *info)
{
	bool rd = wqe_is_rd(w->opcode);
	u32 ret = WCS_SUCCESS;

	*cause = CAUSE_BAD_WQE;
	*info = w->opcode;
	if (!wqe_allowed(qp->type, w->opcode) || !wqe_capable(lim_of(e->hca, qp->dev), w))
		return WCS_LOC_QP_OP_ERR;
	if (rd && !qp->attr.max_rd_atomic) {
		*cause = CAUSE_RD_ATOMIC;
		*info = 0;
		return WCS_LOC_QP_OP_ERR;
	}
	if (w->hw & SQ_HW_INLINE) {
		ret = rd ? WCS_LOC_QP_OP_ERR : inline_mem(qp, seg, slot, w, mem, len);
	} else if (w->num_sge > qp->max_sge) {
		ret = WCS_LOC_QP_OP_ERR;
	} else if (mem_local(e->hca, qp->pd, slot->sge, w->num_sge, rd ? ACC_LOCAL_WRITE : 0, ~0ULL,
			     mem, len, info)) {
		*cause = CAUSE_LKEY;
		ret = WCS_LOC_PROT_ERR;
	}
	if (!ret && !length_ok(e, qp, w, *len)) {
		*cause = CAUSE_LOCAL_LEN;
		*info = (u32)*len;
		ret = WCS_LOC_LEN_ERR;
	}
	return ret;
}

/* What the opcode says of a burst beyond its payload. */
static void burst_request(const struct req_state *s, const struct sq_wqe *w, u64 chunk, bool last,
			  struct burst *b)
{
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
	b->flags |= BF_LAST | ops[w->opcode].flags;
	if (w->send_flags & SEND_SOLICITED)
		b->flags |= BF_SOLICITED;
	b->imm = w->imm;
	b->inv_rkey = w->rkey;
}

void wqe_burst(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w,
	       const struct hca_mem *mem, u64 total, u64 chunk, struct burst *b)
{
	*b = (struct burst){
		.op = ops[w->opcode].op,
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
	burst_request(s, w, chunk, s->next_off + chunk == total, b);
}
