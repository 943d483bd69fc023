/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs: creation, query, destruction.
 *
 * A QP number is the slot with the low byte of the slot's generation above it, so that a late
 * packet to a destroyed QP does not reach its successor.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/srd.h"
#include "emulator/transport/wqe.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

struct hca_qp *own_qp(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_QP, client, handle);
}

struct hca_qp *shared_qp(struct hca *hca, u32 client, u32 handle, bool opened)
{
	const struct hca_ref *r;
	struct hca_qp *qp;

	if (!opened)
		return own_qp(hca, client, handle);
	r = tab_owned(hca, TAB_REF, client, handle);
	if (!r || (r->kind != REF_QP && r->kind != REF_OWNED))
		return NULL;
	qp = hca_qp_by_num(hca, r->qpn);
	return qp && qp->type == QPT_XRC_RECV ? qp : NULL;
}

static bool is_queue_depth(u32 depth, u32 max)
{
	return !(depth & (depth - 1)) && depth / 2 < max;
}

/** qp_has - the parts of QPs of each type. */
static const struct {
	bool known, pd, sq, rq, srq, xrcd;
} qp_has[] = {
	[QPT_RC] = { true, true, true, true, true, false },
	[QPT_UC] = { true, true, true, true, false, false },
	[QPT_UD] = { true, true, true, true, true, false },
	[QPT_SRD] = { true, true, true, true, false, false },
	[QPT_RAW_PACKET] = { true, true, true, true, false, false },
	[QPT_XRC_SEND] = { true, true, true, false, false, false },
	[QPT_XRC_RECV] = { true, false, false, false, false, true },
};

static int qp_create_check_rings(struct engine *e, u32 client, const struct cmd_qp *c)
{
	const struct hca_limits *lim = lim_of(e->hca, c->dev);
	u64 sq = sizeof(struct wq_ctl) + (u64)c->sq_depth * qp_sq_stride(c);
	u64 rq = sizeof(struct wq_ctl) + (u64)c->rq_depth * rq_stride(c->max_rsge);
	u32 waiting = c->type == QPT_SRD ? SRD_WINDOW : 0;
	int ret = 0;

	if (!is_queue_depth(c->sq_depth, lim->max_qp_wr + waiting) || c->sq_depth > LIM_QP_WR ||
	    !is_queue_depth(c->rq_depth, lim->max_qp_wr) || c->max_sge > lim->max_sge ||
	    c->max_rsge > lim->max_sge || c->max_inline > lim->max_inline ||
	    c->max_tso_hdr > LIM_INLINE)
		return -EINVAL;
	if (c->type == QPT_RAW_PACKET)
		sq += LIM_FRAME;
	if (c->sq_depth)
		ret = seg_ring_check(e, client, c->sq_ring, sq);
	if (!ret && c->rq_depth)
		ret = seg_ring_check(e, client, c->rq_ring, rq);
	return ret;
}

/* Entries without a timestamp are those of a free-running clock to the device, as is no CQ. */
static bool is_cq_real_time(const struct hca *hca, bool has_cq, u32 cq)
{
	return has_cq && hca->cq[cq].ts_format == TS_REAL_TIME;
}

/*
 * A QP has one format of timestamps (get_qp_ts_format() of the kernel's mlx5 driver). Its queues on
 * Ethernet frames are objects of their own, with a format each.
 */
static bool has_qp_one_ts_format(const struct hca *hca, const struct cmd_qp *c)
{
	if (c->type == QPT_RAW_PACKET || (!qp_has[c->type].sq && !qp_has[c->type].rq))
		return true;
	return is_cq_real_time(hca, qp_has[c->type].sq, c->scq) ==
	       is_cq_real_time(hca, qp_has[c->type].rq, c->rcq);
}

static int qp_create_check(struct engine *e, u32 client, const struct cmd_qp *c)
{
	struct hca *hca = e->hca;
	bool rss = c->ind;

	if (c->type >= ARRAY_SIZE(qp_has) || !qp_has[c->type].known)
		return -EOPNOTSUPP;
	if (own_dev(hca, client, c->dev) && !(lim_of(hca, c->dev)->qp_types >> c->type & 1))
		return -EOPNOTSUPP;
	if (!own_dev(hca, client, c->dev) || c->async_chan >= SEG_MAX_CHANS)
		return -EINVAL;
	if (qp_has[c->type].pd != !!own_pd(hca, client, c->pd))
		return -EINVAL;
	if (rss && (c->type != QPT_RAW_PACKET || c->srq || c->sq_depth || c->rq_depth ||
		    !tab_owned(hca, TAB_IND, client, c->ind - 1)))
		return -EINVAL;
	if (c->sq_depth && !qp_has[c->type].sq)
		return -EINVAL;
	if (c->rq_depth && (!qp_has[c->type].rq || c->srq))
		return -EINVAL;
	if (qp_has[c->type].sq && !rss && !own_cq(hca, client, c->scq))
		return -EINVAL;
	if (qp_has[c->type].rq && !rss && !own_cq(hca, client, c->rcq))
		return -EINVAL;
	if (!has_qp_one_ts_format(hca, c))
		return -EOPNOTSUPP;
	if (c->srq && (!qp_has[c->type].srq || !own_srq(hca, client, c->srq - 1) ||
		       hca->srq[c->srq - 1].type == SRQ_XRC ||
		       (hca->srq[c->srq - 1].type == SRQ_TM && c->type != QPT_RC)))
		return -EINVAL;
	if (qp_has[c->type].xrcd && !ref_target(hca, client, c->xrcd - 1, REF_XRCD))
		return -EINVAL;
	if ((c->create_flags & QPC_SOURCE_QPN) && c->type != QPT_UD)
		return -EINVAL;
	if ((c->create_flags & QPC_SCATTER_FCS) && !(lim_of(hca, c->dev)->caps & CAP_SCATTER_FCS))
		return -EOPNOTSUPP;
	return qp_create_check_rings(e, client, c);
}

static struct hca_qp *qp_alloc(struct hca *hca, u32 dev, int *ret)
{
	int i = tab_find(hca, TAB_QP, dev, lim_of(hca, dev)->max_qp);
	struct hca_qp *qp;
	u32 gen;

	*ret = i < 0 ? i : 0;
	if (i < 0)
		return NULL;
	qp = &hca->qp[i];
	gen = qp->gen;
	memset(qp, 0, sizeof(*qp));
	qp->gen = gen + 1;
	qp->qpn = (u32)i | (gen & 0xff) << 16;
	return qp;
}

void qp_refs_add(struct hca *hca, const struct hca_qp *qp, int d)
{
	if (qp->pd)
		hca->pd[qp->pd].refs += (u32)d;
	if (qp->scq)
		hca->cq[qp->scq].refs += (u32)d;
	if (qp->rcq)
		hca->cq[qp->rcq].refs += (u32)d;
	if (qp->srq)
		hca->srq[qp->srq - 1].refs += (u32)d;
	if (qp->xrcd)
		hca->xrcd[qp->xrcd - 1].refs += (u32)d;
	if (qp->ind)
		hca->ind[qp->ind - 1].refs += (u32)d;
	ref_use(hca, qp->xref, d);
}

static void qp_create_fill(struct hca *hca, struct hca_qp *qp, const struct cmd_qp *c, u32 client)
{
	qp->type = c->type;
	qp->pd = qp_has[c->type].pd ? c->pd : 0;
	if (qp_has[c->type].sq && !c->ind)
		qp->scq = c->scq;
	if (qp_has[c->type].rq && !c->ind)
		qp->rcq = c->rcq;
	qp->srq = c->srq;
	qp->xrcd = c->xrcd ? ref_target(hca, client, c->xrcd - 1, REF_XRCD) : 0;
	qp->xref = qp->xrcd ? c->xrcd : 0;
	qp->ind = c->ind;
	qp->create_flags = c->create_flags;
	qp->source_qpn = c->source_qpn & IB_QPN_MASK;
	/* Nobody has checked the place of a ring without slots. */
	qp->sq_ring = c->sq_depth ? c->sq_ring : 0;
	qp->rq_ring = c->rq_depth ? c->rq_ring : 0;
	qp->sq_depth = c->sq_depth;
	qp->rq_depth = c->rq_depth;
	qp->sq_stride = qp_sq_stride(c);
	qp->rq_stride = rq_stride(c->max_rsge);
	qp->max_sge = c->max_sge;
	qp->max_rsge = c->max_rsge;
	qp->max_inline = c->max_inline;
	qp->max_tso_hdr = c->max_tso_hdr;
	qp->wr_mask = wqe_mask(c->type, lim_of(hca, c->dev));
	qp->max_msg = lim_of(hca, c->dev)->max_msg;
	qp->sig_all = c->sig_all;
	qp->cap_send_wr = c->cap_send_wr;
	qp->cap_recv_wr = c->cap_recv_wr;
	qp->async_chan = c->async_chan;
	qp->rss_fields = c->rss_fields;
	memcpy(qp->rss_key, c->rss_key, sizeof(qp->rss_key));
	store_relaxed(&qp->state, QPS_RESET);
}

int cmd_create_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_qp *c = &cmd->qp;
	struct hca_qp *qp;
	int ret = qp_create_check(e, client, c);

	if (ret)
		return ret;
	qp = qp_alloc(hca, c->dev, &ret);
	if (!qp)
		return ret;
	if (c->type == QPT_SRD) {
		qp->srd = srd_window_get(hca, qp);
		if (!qp->srd)
			return -ENOMEM;
	}
	qp_create_fill(hca, qp, c, client);
	qp_refs_add(hca, qp, 1);
	tab_own(hca, TAB_QP, qp_slot(qp), client, c->dev);
	cmd->handle = qp_slot(qp);
	c->qpn = qp->qpn;
	return 0;
}

void qp_retire(struct hca *hca, struct hca_qp *qp)
{
	qp->deadline = 0;
	qp->stalled = 0;
	if (qp->n_mw)
		mw_unbind_qp(hca, qp);
	if (qp->type == QPT_SRD)
		srd_forget(hca, qp);
	store_relaxed(&qp->state, QPS_RESET);
	tab_free(hca, TAB_QP, qp_slot(qp));
}

/* Drop its references and free its slot. */
static void qp_release(struct engine *e, struct hca_qp *qp)
{
	rx_give_back(e, qp);
	tm_forget(e->hca, qp);
	qp_refs_add(e->hca, qp, -1);
	qp_retire(e->hca, qp);
}

/* Flow rules and multicast groups keep a QP from being destroyed (ibv_destroy_qp(3)). */
static bool qp_is_in_use(const struct hca *hca, const struct hca_qp *qp)
{
	u32 i;

	for (i = 0; hca->client[qp->client - 1].n[TAB_MCAST] && i < hca->tab[TAB_MCAST].high; i++)
		if (hca->mcast[i].client && hca->mcast[i].qpn == qp->qpn)
			return true;
	for (i = 1; hca->client[qp->client - 1].n[TAB_FLOW] && i < hca->tab[TAB_FLOW].high; i++)
		if (hca->flow[i].client && hca->flow[i].qpn == qp->qpn)
			return true;
	return false;
}

void qp_adopt(struct hca *hca, struct hca_qp *qp, struct hca_ref *r)
{
	ref_use(hca, qp->xref, -1);
	qp->xref = 0; /* the reference stays and counts for it */
	qp->async_chan = r->async_chan;
	hca->client[qp->client - 1].n[TAB_QP]--;
	hca->client[r->client - 1].n[TAB_QP]++;
	/*
	 * The QP always has an owner; qp_adopt_redo() repeats what a death before the next store
	 * prevents.
	 */
	store_release(&qp->client, r->client);
	store_release(&r->kind, REF_OWNED);
}

void qp_adopt_redo(struct hca *hca, struct hca_qp *qp)
{
	u32 slot = qp_slot(qp), i;
	struct hca_ref *r = NULL;

	if (qp->type != QPT_XRC_RECV || qp->xref)
		return;
	for (i = 1; i < hca->tab[TAB_REF].high; i++) {
		struct hca_ref *own = &hca->ref[i];

		if (own->client != qp->client || own->index != slot)
			continue;
		if (own->kind == REF_OWNED)
			return;
		if (own->kind == REF_QP)
			r = own;
	}
	if (r)
		r->kind = REF_OWNED;
}

/* If another process has the target QP open, that process becomes its owner. */
static bool qp_hand_over(struct hca *hca, struct hca_qp *qp)
{
	struct hca_ref *r;

	if (qp->type != QPT_XRC_RECV)
		return false;
	r = ref_next(hca, REF_QP, qp_slot(qp), 0);
	if (r)
		qp_adopt(hca, qp, r);
	return r;
}

static int qp_close(struct engine *e, u32 client, u32 handle)
{
	struct hca *hca = e->hca;
	struct hca_ref *r = tab_owned(hca, TAB_REF, client, handle);
	struct hca_qp *qp;

	if (!r || (r->kind != REF_QP && r->kind != REF_OWNED))
		return -EINVAL;
	qp = shared_qp(hca, client, handle, true);
	ref_use(hca, r->xref, -1);
	tab_free(hca, TAB_REF, handle);
	/* The QP became this client's own when its creator ended. */
	if (qp && r->kind == REF_OWNED && qp->client == client + 1 && !qp_hand_over(hca, qp))
		qp_release(e, qp);
	return 0;
}

/* Whether its owner has it through a reference only; it goes with that. */
static bool qp_is_adopted(struct hca *hca, const struct hca_qp *qp)
{
	return qp->type == QPT_XRC_RECV && !qp->xref && ref_next(hca, REF_OWNED, qp_slot(qp), 0);
}

int cmd_destroy_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);

	if (cmd->qp.xrcd) /* opened, not created */
		return qp_close(e, client, cmd->handle);
	if (!qp || qp_is_adopted(e->hca, qp))
		return -EINVAL;
	if (qp_is_in_use(e->hca, qp))
		return -EBUSY;
	if (!qp_hand_over(e->hca, qp))
		qp_release(e, qp);
	return 0;
}

int cmd_query_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_qp *qp = shared_qp(e->hca, client, cmd->handle, cmd->mod.opened);
	struct hca_qp_attr *a = &cmd->mod.attr;

	if (!qp)
		return -EINVAL;
	if (qp->ind) /* see cmd_modify_qp() */
		return -EOPNOTSUPP;
	*a = qp->attr;
	a->state = qp->state;
	a->cur_state = qp->state;
	a->sq_draining = qp->state == QPS_SQD && qp->req.una_psn != qp->req.next_psn;
	if (qp->state >= QPS_RTR)
		a->rq_psn = qp->resp.epsn;
	if (qp->state >= QPS_RTS)
		a->sq_psn = qp->req.next_psn;
	return 0;
}
