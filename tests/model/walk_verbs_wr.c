/* SPDX-License-Identifier: MIT */
/* Posting with the ibv_wr_* builders: all of a batch or nothing. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>

/* An error in a request of a batch, besides its place in it. */
enum wrong { NOTHING, BAD_FLAGS, MANY_SGES, LONG_INLINE, BAD_ACCESS, BAD_FLUSH };

static void begin(struct ibv_qp_ex *ex, const struct vwr *w, enum wrong wrong)
{
	struct ibv_mw_bind_info info = { 0 };

	ex->wr_id = w->id;
	ex->wr_flags = w->flags | (wrong == BAD_FLAGS ? 1u << 20 : 0);
	switch ((int)w->op) {
	case IBV_WR_SEND:
		ibv_wr_send(ex);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, w->imm);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(ex, w->rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, w->rkey, w->addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, w->rkey, w->addr, w->imm);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, w->rkey, w->addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, w->rkey, w->addr, w->compare_add, w->swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(ex, w->rkey, w->addr, w->compare_add);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(ex, w->rkey);
		break;
	case IBV_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(ex, w->rkey, w->addr, (void *)(uintptr_t)w->sge[0].addr);
		break;
	case VB_WR_FLUSH:
		vb_wr_flush(ex, w->rkey, w->addr, w->compare_add,
			    w->swap | (wrong == BAD_FLUSH ? 1u << (2 + vpick(2)) : 0));
		break;
	default:
		info = (struct ibv_mw_bind_info){ w->mr->ptr, w->addr, w->bind_len,
						  w->bind_access };
		info.mw_access_flags |= wrong == BAD_ACCESS ? 1u << 15 : 0;
		/* The key's index is ignored. */
		ibv_wr_bind_mw(ex, w->mw->ptr, w->rkey ^ (vchance(2) ? 1u << 12 : 0), &info);
	}
}

/* No setter follows its builder. */
static bool has_no_list(const struct vwr *w)
{
	return w->op == IBV_WR_LOCAL_INV || w->op == IBV_WR_BIND_MW || w->op == VB_WR_FLUSH ||
	       w->op == IBV_WR_ATOMIC_WRITE;
}

static void set_payload(struct ibv_qp_ex *ex, const struct vobj *o, const struct vwr *w,
			enum wrong wrong)
{
	struct ibv_data_buf buf[VSGE];

	if (has_no_list(w))
		return;
	if (!(w->flags & IBV_SEND_INLINE)) {
		if (w->n == 1 && wrong != MANY_SGES)
			ibv_wr_set_sge(ex, w->sge[0].lkey, w->sge[0].addr, w->sge[0].length);
		else
			ibv_wr_set_sge_list(
				ex, wrong == MANY_SGES ? o->qp.sq.max_sge + 1 : (size_t)w->n,
				w->sge);
		return;
	}
	for (int i = 0; i < w->n; i++)
		buf[i] = (struct ibv_data_buf){ (void *)(uintptr_t)w->sge[i].addr,
						w->sge[i].length };
	if (wrong == LONG_INLINE)
		buf[0].length = o->qp.max_inline + 1;
	if (w->n == 1)
		ibv_wr_set_inline_data(ex, buf[0].addr, buf[0].length);
	else
		ibv_wr_set_inline_data_list(ex, (size_t)w->n, buf);
}

static enum wrong some_wrong(const struct vwr *w)
{
	enum wrong wrong = (enum wrong)(1 + vpick(5));
	bool bare = has_no_list(w);
	bool inl = w->flags & IBV_SEND_INLINE;

	if ((wrong == MANY_SGES && (inl || bare)) ||
	    (wrong == LONG_INLINE && (!inl || bare || !w->n)) ||
	    (wrong == BAD_ACCESS && w->op != IBV_WR_BIND_MW) ||
	    (wrong == BAD_FLUSH && w->op != VB_WR_FLUSH))
		return NOTHING;
	return wrong;
}

bool vpost_built(struct vobj *o, const struct vwr *w, uint32_t n, uint32_t bad, int want)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(o->ptr);
	bool abort = vchance(12);

	if (!ex)
		vfail("ibv_qp_to_qp_ex: NULL");
	ibv_wr_start(ex);
	for (uint32_t i = 0; i < n; i++) {
		enum wrong wrong = vchance(40) ? some_wrong(&w[i]) : NOTHING;

		if (wrong && (!want || i < bad)) {
			want = EINVAL;
			bad = i;
		}
		begin(ex, &w[i], wrong);
		if (o->qp.type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(ex, w[i].ah ? w[i].ah->ptr : NULL, w[i].to, w[i].qkey);
		if (o->qp.type == IBV_QPT_XRC_SEND)
			ibv_wr_set_xrc_srqn(ex, w[i].to);
		set_payload(ex, o, &w[i], wrong);
	}
	if (abort) {
		ibv_wr_abort(ex);
		return false;
	}
	expect_ret("ibv_wr_complete", ibv_wr_complete(ex), want);
	return !want;
}
