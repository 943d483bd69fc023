/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows: binding and invalidating them by work requests (IBTA 10.6.7). See
 * verbs/mw.c.
 */
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/transport/mw.h"

struct hca_mr *mw_find(struct hca *hca, u32 index)
{
	struct hca_mr *mw = index && index < HCA_MAX_MR ? &hca->mr[index] : NULL;

	return mw && mw->client && mw->kind >= MW_1 ? mw : NULL;
}

/* Invalidate the window's key. */
void mw_unbind(struct hca *hca, struct hca_mr *mw)
{
	struct hca_qp *qp;

	if (!mw->key)
		return;
	store_release(&mw->key, 0);
	hca->mr[mw->mr - 1].windows--;
	qp = mw->kind == MW_2 ? hca_qp_by_num(hca, mw->qpn) : NULL;
	if (qp)
		qp->n_mw--;
}

int mw_invalidate(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u32 turn, bool go)
{
	struct hca_mr *mw = mw_find(hca, rkey >> 8);

	if (!mw || mw->kind != MW_2 || mw->pd != pd || mw->qpn != qp->qpn || mw->last_key != rkey)
		return -EACCES;
	if (!mw->key)
		return mw->turn == turn ? 0 : -EACCES;
	if (go) {
		mw->turn = turn;
		mw_unbind(hca, mw);
	}
	return 0;
}

/* The region that the bind names, if the bind is allowed. */
static struct hca_mr *mw_bind_region(struct hca *hca, const struct hca_mr *mw,
				     const struct sq_wqe *w)
{
	const u32 known = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC |
			  ACC_ZERO_BASED | (lim_of(hca, mw->dev)->caps & CAP_FLUSH ? ACC_FLUSH : 0);
	struct hca_mr *mr = hca_mr_by_key(hca, w->remote_qpn);
	u32 access = w->remote_qkey;

	if (!mr || mr->kind != MR_USER || mr->pd != mw->pd || !(mr->access & ACC_MW_BIND))
		return NULL;
	if ((access & ~known) ||
	    ((access & (ACC_REMOTE_WRITE | ACC_REMOTE_ATOMIC)) && !(mr->access & ACC_LOCAL_WRITE)))
		return NULL;
	if (w->remote_addr < mr->iova || w->swap > mr->len ||
	    w->remote_addr - mr->iova > mr->len - w->swap)
		return NULL;
	return mr;
}

static void mw_bind_apply(struct hca *hca, struct hca_qp *qp, struct hca_mr *mw, struct hca_mr *mr,
			  const struct sq_wqe *w)
{
	mw->mr = (u32)(mr - hca->mr) + 1;
	mw->access = w->remote_qkey & ~(u32)ACC_LOCAL_WRITE;
	mw->addr = mr->addr + (w->remote_addr - mr->iova);
	mw->iova = w->remote_qkey & ACC_ZERO_BASED ? 0 : w->remote_addr;
	mw->len = w->swap;
	store_release(&mw->key, w->rkey);
	mr->windows++;
	if (mw->kind == MW_2)
		qp->n_mw++;
}

u32 mw_bind(struct hca *hca, struct hca_qp *qp, const struct sq_wqe *w, u32 *info)
{
	struct hca_mr *mw = mw_find(hca, w->ah), *mr = NULL;
	u32 turn = mw_turn_sq(qp);

	*info = w->rkey;
	if (!mw || mw->pd != qp->pd || w->rkey >> 8 != w->ah)
		return WCS_MW_BIND_ERR;
	if (mw->last_key == w->rkey && mw->qpn == qp->qpn && mw->turn == turn &&
	    !mw->key == !w->swap)
		return WCS_SUCCESS;
	if (w->swap)
		mr = mw_bind_region(hca, mw, w);
	/* Only type 1 may be unbound by a bind, or bound while it is bound. */
	if ((w->swap && !mr) || (mw->kind == MW_2 && (mw->key || !mr)))
		return WCS_MW_BIND_ERR;
	mw_unbind(hca, mw);
	mw->last_key = w->rkey;
	mw->qpn = qp->qpn;
	mw->turn = turn;
	if (mr)
		mw_bind_apply(hca, qp, mw, mr, w);
	return WCS_SUCCESS;
}
