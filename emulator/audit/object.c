/* SPDX-License-Identifier: MIT */
/* The audit of objects other than queue pairs. See audit.h. */
#include "emulator/audit/audit.h"
#include "emulator/ring.h"

static bool mw_is_within(const struct hca_mr *mr, const struct hca_mr *mw)
{
	return mw->addr >= mr->addr && mw->len <= mr->len &&
	       mw->addr - mr->addr <= mr->len - mw->len;
}

int audit_mr(struct audit *a, u32 i)
{
	const struct hca_mr *mr = &a->hca->mr[i];

	MUST(!mr_holds_pd(mr) || audit_use_pd(a, mr->pd, mr->client),
	     "MR %u: PD %u is not its owner's", i, mr->pd);
	MUST(mr->kind <= MW_2, "MR %u: kind %u", i, mr->kind);
	MUST(!mr->key || mr->key >> 8 == i, "MR %u: key %#x", i, mr->key);
	if (mr->kind < MW_1) {
		MUST(mr->addr + mr->len >= mr->addr && mr->iova + mr->len >= mr->iova,
		     "MR %u: range %#llx+%#llx wraps", i, (unsigned long long)mr->addr,
		     (unsigned long long)mr->len);
		MUST(!mr->dm || audit_is_live(a, TAB_DM, mr->dm - 1), "MR %u: no device memory %u",
		     i, mr->dm - 1);
		if (mr->dm)
			a->refs[TAB_DM][mr->dm - 1]++;
		return 0;
	}
	a->mws[mr->dev]++;
	if (!mr->key)
		return 0;
	MUST(mr->mr && audit_is_live(a, TAB_MR, mr->mr - 1) && a->hca->mr[mr->mr - 1].kind < MW_1,
	     "MW %u: is bound to MR %u, which there is not", i, mr->mr - 1);
	MUST(a->hca->mr[mr->mr - 1].pd == mr->pd, "MW %u: is bound to MR %u of another PD", i,
	     mr->mr - 1);
	MUST(mw_is_within(&a->hca->mr[mr->mr - 1], mr), "MW %u: reaches beyond MR %u", i,
	     mr->mr - 1);
	a->refs[TAB_MR][mr->mr - 1]++;
	if (mr->kind == MW_2) {
		u32 slot = mr->qpn & (HCA_MAX_QP - 1);

		if (audit_is_live(a, TAB_QP, slot) && a->hca->qp[slot].qpn == mr->qpn)
			a->refs[TAB_QP][slot]++;
	}
	return 0;
}

int audit_cq(struct audit *a, u32 i)
{
	const struct hca_cq *cq = &a->hca->cq[i];

	MUST(power_of_two(cq->depth) && cq->depth <= LIM_CQE + 1, "CQ %u: depth %u", i, cq->depth);
	MUST(seg_range_ok(cq->ring, CQ_HDR + (u64)cq->depth * sizeof(struct cqe)),
	     "CQ %u: ring at %#llx", i, (unsigned long long)cq->ring);
	MUST(cq->ignore_overrun || cq->prod - cq->cons <= cq->depth, "CQ %u: %u entries in %u", i,
	     cq->prod - cq->cons, cq->depth);
	MUST(cq->chan <= SEG_MAX_CHANS && cq->async_chan < SEG_MAX_CHANS, "CQ %u: channels %u, %u",
	     i, cq->chan, cq->async_chan);
	return 0;
}

/* The chain of a tag-matching SRQ has all of its tags, each once. */
static int audit_tags(const struct audit *a, u32 i)
{
	const struct hca_srq *srq = &a->hca->srq[i];
	u32 n, tag = srq->tags;

	MUST(srq->n_tags <= srq->max_tags, "SRQ %u: %u tags of %u", i, srq->n_tags, srq->max_tags);
	for (n = 0; tag && n <= srq->n_tags; n++) {
		MUST(audit_owner(a, TAB_TAG, tag - 1) == srq->client &&
			     a->hca->tag[tag - 1].srq == i,
		     "SRQ %u: tag %u is not its own", i, tag - 1);
		tag = a->hca->tag[tag - 1].next;
	}
	MUST(n == srq->n_tags, "SRQ %u: %u tags, %u in its list", i, srq->n_tags, n);
	return 0;
}

int audit_srq(struct audit *a, u32 i)
{
	const struct hca_srq *srq = &a->hca->srq[i];
	u64 size = srq_slots_off(srq->depth) + (u64)srq->depth * srq->stride;

	MUST((srq->srqn & (HCA_MAX_SRQ - 1)) == i && srq->srqn <= IB_QPN_MASK, "SRQ %u: number %#x",
	     i, srq->srqn);
	MUST(srq->type <= SRQ_TM, "SRQ %u: type %u", i, srq->type);
	MUST(audit_use_pd(a, srq->pd, srq->client), "SRQ %u: PD %u is not its owner's", i, srq->pd);
	MUST((srq->type != SRQ_BASIC) == !!srq->cq, "SRQ %u: type %u, CQ %u", i, srq->type,
	     srq->cq);
	MUST(!srq->cq || audit_use(a, TAB_CQ, srq->cq - 1, srq->client),
	     "SRQ %u: CQ %u is not its owner's", i, srq->cq - 1);
	MUST((srq->type == SRQ_XRC) == !!srq->xrcd, "SRQ %u: type %u, XRCD %u", i, srq->type,
	     srq->xrcd);
	MUST(!srq->xrcd || audit_is_live(a, TAB_XRCD, srq->xrcd - 1), "SRQ %u: its XRCD %u is gone",
	     i, srq->xrcd - 1);
	if (srq->xrcd)
		a->refs[TAB_XRCD][srq->xrcd - 1]++;
	audit_use_xref(a, srq->xref);
	MUST(power_of_two(srq->depth) && srq->depth <= 2 * LIM_QP_WR, "SRQ %u: depth %u", i,
	     srq->depth);
	MUST(srq->max_sge <= LIM_SGE && srq->stride == rq_stride(srq->max_sge),
	     "SRQ %u: %u entries, stride %u", i, srq->max_sge, srq->stride);
	MUST(seg_range_ok(srq->ring, size), "SRQ %u: ring at %#llx", i,
	     (unsigned long long)srq->ring);
	MUST(srq->async_chan < SEG_MAX_CHANS, "SRQ %u: channel %u", i, srq->async_chan);
	return audit_tags(a, i);
}

int audit_ah(struct audit *a, u32 i)
{
	const struct hca_ah *ah = &a->hca->ah[i];

	MUST(audit_use_pd(a, ah->pd, ah->client), "AH %u: PD %u is not its owner's", i, ah->pd);
	MUST(ah->av.dst_dev == ~0u || ah->av.dst_dev < a->hca->n_devs, "AH %u: leads to device %u",
	     i, ah->av.dst_dev);
	MUST(hca_peer_has_address(a->hca, ah->av.dst_dev), "AH %u: leads to no host", i);
	MUST(ah->av.sgid_index < HCA_GIDS && ah->av.port_num && ah->av.port_num <= HCA_MAX_PORTS,
	     "AH %u: GID %u of port %u", i, ah->av.sgid_index, ah->av.port_num);
	return 0;
}

int audit_xrcd(struct audit *a, u32 i)
{
	const struct hca_xrcd *x = &a->hca->xrcd[i];

	MUST(x->opens, "XRCD %u: nobody has it open", i);
	return 0;
}

int audit_ref(struct audit *a, u32 i)
{
	const struct hca_ref *r = &a->hca->ref[i];
	u32 owner;

	audit_use_xref(a, r->xref);
	switch (r->kind) {
	case REF_XRCD:
		MUST(audit_is_live(a, TAB_XRCD, r->index), "reference %u: no XRCD %u", i, r->index);
		a->opens[r->index]++;
		return 0;
	case REF_QP:
	case REF_OWNED:
		owner = audit_owner(a, TAB_QP, r->index);
		MUST(owner && a->hca->qp[r->index].type == QPT_XRC_RECV,
		     "reference %u: no target QP %#x", i, r->index);
		MUST(a->hca->qp[r->index].qpn == r->qpn, "reference %u: no QP %#x, but %#x", i,
		     r->qpn, a->hca->qp[r->index].qpn);
		MUST(r->kind == REF_QP || owner == r->client,
		     "reference %u: target QP %#x has become another's", i, r->index);
		return 0;
	case REF_PD:
		MUST(audit_is_live(a, TAB_PD, r->index), "reference %u: no PD %u", i, r->index);
		return 0;
	case REF_CONTEXT:
		MUST(r->index < a->hca->n_devs && r->dev == r->index, "context %u: device %u", i,
		     r->index);
		return 0;
	}
	return audit_fail(a, "reference %u: kind %u", i, r->kind);
}

int audit_dm(struct audit *a, u32 i)
{
	const struct hca_dm *dm = &a->hca->dm[i];

	MUST(dm->len && dm->len <= a->hca->dev[dm->dev].lim.max_dm, "device memory %u: %llu bytes",
	     i, (unsigned long long)dm->len);
	a->dm[dm->dev] += dm->len;
	return 0;
}

int audit_mcast(struct audit *a, u32 i)
{
	const struct hca_mcast *m = &a->hca->mcast[i];
	u32 slot = m->qpn & (HCA_MAX_QP - 1);

	MUST(audit_owner(a, TAB_QP, slot) == m->client && a->hca->qp[slot].qpn == m->qpn,
	     "membership %u: QP %#x is not its owner's", i, m->qpn);
	MUST(a->hca->qp[slot].type == QPT_UD, "membership %u: QP %#x is no UD QP", i, m->qpn);
	return 0;
}

int audit_wq(struct audit *a, u32 i)
{
	const struct hca_wq *wq = &a->hca->wq[i];

	MUST(audit_use_pd(a, wq->pd, wq->client), "WQ %u: PD %u is not its owner's", i, wq->pd);
	MUST(audit_use(a, TAB_CQ, wq->cq, wq->client), "WQ %u: CQ %u is not its owner's", i,
	     wq->cq);
	MUST(power_of_two(wq->depth) && wq->depth <= LIM_QP_WR, "WQ %u: depth %u", i, wq->depth);
	MUST(wq->max_sge <= LIM_SGE && wq->stride == rq_stride(wq->max_sge),
	     "WQ %u: %u entries, stride %u", i, wq->max_sge, wq->stride);
	MUST(seg_range_ok(wq->ring, sizeof(struct wq_ctl) + (u64)wq->depth * wq->stride),
	     "WQ %u: ring at %#llx", i, (unsigned long long)wq->ring);
	MUST(wq->state <= 2, "WQ %u: state %u", i, wq->state);
	return 0;
}

int audit_ind(struct audit *a, u32 i)
{
	const struct hca_ind *ind = &a->hca->ind[i];
	u32 k;

	MUST(power_of_two(ind->n) && ind->n <= LIM_IND, "table %u of WQs: %u entries", i, ind->n);
	for (k = 0; k < ind->n; k++)
		MUST(audit_use(a, TAB_WQ, ind->wq[k], ind->client),
		     "table %u of WQs: WQ %u is not its owner's", i, ind->wq[k]);
	return 0;
}

int audit_flow(struct audit *a, u32 i)
{
	const struct hca_flow *f = &a->hca->flow[i];
	u32 slot = f->qpn & (HCA_MAX_QP - 1);

	MUST(audit_owner(a, TAB_QP, slot) == f->client && a->hca->qp[slot].qpn == f->qpn,
	     "flow %u: QP %#x is not its owner's", i, f->qpn);
	MUST(!f->counters || audit_use(a, TAB_CTR, f->counters - 1, f->client),
	     "flow %u: counters %u are not its owner's", i, f->counters - 1);
	return 0;
}

int audit_tag(struct audit *a, u32 i)
{
	const struct hca_tag *t = &a->hca->tag[i];

	MUST(audit_owner(a, TAB_SRQ, t->srq) == t->client && a->hca->srq[t->srq].type == SRQ_TM,
	     "tag %u: SRQ %u is not its owner's", i, t->srq);
	return 0;
}
