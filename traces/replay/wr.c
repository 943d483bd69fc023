/* SPDX-License-Identifier: MIT */
/* VT_WR: work requests that the program built by ibv_wr_*(). */
#include "traces/calls/wr_flush.h"
#include "traces/replay/memory.h"
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/post.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"

#include <errno.h>
#include <string.h>

static void wr_set_data(struct ibv_qp_ex *qp, const struct vt_wr *wr, const struct ibv_sge *sge)
{
	struct ibv_data_buf buf[VT_MAX_SGE];
	uint32_t i;

	if (wr->flags & VT_WR_INLINE_ONE) {
		ibv_wr_set_inline_data(qp, wr->n_sge ? (void *)(uintptr_t)sge->addr : NULL,
				       wr->n_sge ? sge->length : 0);
	} else if (wr->flags & VT_WR_INLINE_LIST) {
		for (i = 0; i < wr->n_sge; i++)
			buf[i] = (struct ibv_data_buf){ .addr = (void *)(uintptr_t)sge[i].addr,
							.length = sge[i].length };
		ibv_wr_set_inline_data_list(qp, wr->n_sge, buf);
	} else if (wr->flags & VT_WR_SGE_ONE && wr->n_sge) {
		ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
	} else if (wr->flags & VT_WR_SGE_LIST) {
		ibv_wr_set_sge_list(qp, wr->n_sge, sge);
	}
}

static void wr_bind_window(struct rp_thread *t, const struct vt_rec *rec, struct ibv_qp_ex *qp,
			   const struct vt_wr *wr)
{
	struct rp_prog *g = t->prog;
	struct ibv_mw_bind_info info = { .mr = rp_obj(g, VOBJ_MR, wr->mw_mr),
					 .addr = rp_addr_map(g, wr->mw_addr),
					 .length = wr->mw_len,
					 .mw_access_flags = wr->mw_access };
	int64_t delta;

	ibv_wr_bind_mw(qp, rp_obj(g, VOBJ_MW, wr->mw),
		       rp_key_map(g, wr->mw_rkey, rec->begin, &delta), &info);
}

/* Starts a work request by its opcode. Returns false: there is no call for it. */
static bool wr_begin_op(struct rp_thread *t, const struct vt_rec *rec, struct ibv_qp_ex *qp,
			const struct vt_wr *wr)
{
	struct rp_prog *g = t->prog;
	int64_t delta;
	uint32_t rkey = rp_key_map(g, wr->rkey, rec->begin, &delta);
	uint64_t addr = wr->remote_addr + (uint64_t)delta;

	switch ((int)wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		return true;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, rp_imm_map(t, rec, wr));
		return true;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qp, rp_key_map(g, wr->imm, rec->begin, &delta));
		return true;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qp, rp_key_map(g, wr->imm, rec->begin, &delta));
		return true;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, rkey, addr);
		return true;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, rkey, addr, wr->imm);
		return true;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, rkey, addr);
		return true;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, rkey, addr, wr->compare_add, wr->swap);
		return true;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, rkey, addr, wr->compare_add);
		return true;
	case IBV_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(qp, rkey, addr, &wr->swap);
		return true;
	case VT_IBV_WR_FLUSH:
		vcall_wr_flush_get(qp)(qp, rkey, addr, wr->mw_len, VT_FLUSH_TYPE(wr->mw_access),
				       VT_FLUSH_LEVEL(wr->mw_access));
		return true;
	case IBV_WR_BIND_MW:
		wr_bind_window(t, rec, qp, wr);
		return true;
	case IBV_WR_TSO:
		ibv_wr_send_tso(qp, (void *)vt_wr_tso(wr), wr->tso_hdr, wr->tso_mss);
		return true;
	default:
		return false;
	}
}

bool rp_play_post_wr(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct ibv_qp *plain = rp_obj(t->prog, VOBJ_QP, post->obj);
	struct ibv_qp_ex *qp = plain ? ibv_qp_to_qp_ex(plain) : NULL;
	const struct vt_wr *wr = vt_wr_first(rec);
	struct ibv_sge *sge;
	uint64_t bytes = 0;
	uint8_t *room;
	uint32_t i;

	if (!qp)
		return rp_fail_rec(t, rec, "ibv_wr_start() of qp%u, which is no extended QP",
				   post->obj);
	if (!rp_scratch_reserve(t, rec))
		return false;
	sge = t->scratch.sge;
	room = t->scratch.bytes;
	ibv_wr_start(qp);
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr)) {
		rp_sges_make(t, rec, wr, sge, &room);
		qp->wr_id = wr->wr_id;
		qp->wr_flags = wr->send_flags;
		if (!wr_begin_op(t, rec, qp, wr)) {
			ibv_wr_abort(qp);
			return rp_fail_rec(t, rec, "a work request of opcode %u", wr->opcode);
		}
		if (wr->ah || wr->remote_qpn)
			ibv_wr_set_ud_addr(qp, rp_obj(t->prog, VOBJ_AH, wr->ah),
					   rp_qpn_map(t->prog, wr->remote_qpn, rec->begin),
					   wr->remote_qkey);
		if (wr->srqn)
			ibv_wr_set_xrc_srqn(qp, rp_qpn_map(t->prog, wr->srqn, rec->begin));
		wr_set_data(qp, wr, sge);
		bytes += wr->payload;
	}
	__atomic_add_fetch(&t->prog->w->share->count.bytes, bytes, __ATOMIC_RELAXED);
	if (post->how == VT_ABORTED) {
		ibv_wr_abort(qp);
		return true;
	}
	return rp_post_compare(t, rec, ibv_wr_complete(qp), post->bad);
}
