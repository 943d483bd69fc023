/* SPDX-License-Identifier: MIT */
/* Keys and memory windows in the model: which accesses they allow. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

struct vobj *mr_by_key(int actor, uint32_t key)
{
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[actor][V_MR][i].live && wd->obj[actor][V_MR][i].mr.key == key)
			return &wd->obj[actor][V_MR][i];
	return NULL;
}

static struct vobj *mw_by_key(int actor, uint32_t key)
{
	for (int i = 0; i < VMAX; i++) {
		struct vobj *mw = &wd->obj[actor][V_MW][i];

		if (mw->live && mw->mw.key && mw->mw.key == key)
			return mw;
	}
	return NULL;
}

bool vregion_of(int actor, uint32_t key, struct vregion *r)
{
	const struct vobj *mr = mr_by_key(actor, key), *mw = mw_by_key(actor, key);

	if (mr)
		*r = (struct vregion){ mr->mr.addr,   mr->mr.iova,    mr->mr.len,
				       mr->mr.access, mr->uses[U_PD], 0 };
	else if (mw)
		*r = (struct vregion){
			mw->mw.addr,	mw->mw.iova,
			mw->mw.len,	mw->mw.access,
			mw->uses[U_PD], mw->mw.type == IBV_MW_TYPE_2 ? mw->mw.qpn : 0,
		};
	return mr || mw;
}

bool vregion_has(const struct vregion *r, uint64_t addr, uint64_t len)
{
	return addr >= r->iova && len <= r->len && addr - r->iova <= r->len - len;
}

int vmodel_local(int actor, const struct vobj *pd, const struct vwr *w, unsigned int need,
		 uint64_t used)
{
	uint64_t total = 0;

	for (int i = 0; i < w->n; i++) {
		const struct ibv_sge *s = &w->sge[i];
		struct vregion r;
		uint64_t len = s->length < used - total ? s->length : used - total;

		if (!s->length)
			continue;
		if (total >= used)
			break;
		if (!mr_by_key(actor, s->lkey) || !vregion_of(actor, s->lkey, &r) || r.pd != pd ||
		    (r.access & need) != need || !vregion_has(&r, s->addr, len))
			return IBV_WC_LOC_PROT_ERR;
		total += s->length;
	}
	return IBV_WC_SUCCESS;
}

int vreal_list(int actor, const struct ibv_sge *sge, int n, struct ibv_sge *out)
{
	struct vregion r;

	for (int i = 0; i < n; i++) {
		out[i] = sge[i];
		if (vregion_of(actor, sge[i].lkey, &r))
			out[i].addr = sge[i].addr - r.iova + r.addr;
	}
	return n;
}

/* --- windows */

void vmodel_unbind(struct vobj *mw)
{
	if (!mw->mw.key)
		return;
	mw->mw.key = 0;
	mw->mw.mr->refs--;
}

void vmodel_drop_windows(const struct vobj *qp)
{
	for (int i = 0; i < VMAX; i++) {
		struct vobj *mw = &wd->obj[qp->actor][V_MW][i];

		if (mw->live && mw->mw.type == IBV_MW_TYPE_2 && mw->mw.qpn == qp->qp.qpn)
			vmodel_unbind(mw);
	}
}

/* Whether the region lets itself be bound to like that. */
static bool may_bind(const struct vobj *mw, const struct vwr *w)
{
	const struct vobj *mr = w->mr;
	struct vregion r;

	return mr && vregion_of(mr->actor, mr->mr.key, &r) && r.pd == mw->uses[U_PD] &&
	       (r.access & IBV_ACCESS_MW_BIND) &&
	       (!(w->bind_access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) ||
		(r.access & IBV_ACCESS_LOCAL_WRITE)) &&
	       vregion_has(&r, w->addr, w->bind_len);
}

static int bind(struct vobj *a, const struct vwr *w)
{
	struct vobj *mw = w->mw;
	struct vmw *m = &mw->mw;

	if (mw->uses[U_PD] != a->uses[U_PD] || (w->bind_len && !may_bind(mw, w)) ||
	    (m->type == IBV_MW_TYPE_2 && (m->key || !w->bind_len)))
		return IBV_WC_MW_BIND_ERR;
	vmodel_unbind(mw);
	m->last = w->rkey;
	m->qpn = a->qp.qpn;
	if (!w->bind_len)
		return IBV_WC_SUCCESS;
	m->key = w->rkey;
	m->mr = w->mr;
	m->mr->refs++;
	m->addr = w->addr - w->mr->mr.iova + w->mr->mr.addr;
	m->iova = w->bind_access & IBV_ACCESS_ZERO_BASED ? 0 : w->addr;
	m->len = w->bind_len;
	m->access = w->bind_access;
	return IBV_WC_SUCCESS;
}

bool vmodel_invalidate(int actor, const struct vobj *pd, const struct vobj *b, uint32_t rkey,
		       bool go)
{
	struct vobj *mw = mw_by_key(actor, rkey);

	if (!mw || mw->mw.type != IBV_MW_TYPE_2 || mw->uses[U_PD] != pd || mw->mw.qpn != b->qp.qpn)
		return false;
	if (go)
		vmodel_unbind(mw);
	return true;
}

int vmodel_window(struct vobj *a, const struct vwr *w)
{
	if (w->op == IBV_WR_BIND_MW)
		return bind(a, w);
	return vmodel_invalidate(a->actor, a->uses[U_PD], a, w->rkey, true) ? IBV_WC_SUCCESS
									    : IBV_WC_MW_BIND_ERR;
}
