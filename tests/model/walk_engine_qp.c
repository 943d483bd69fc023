/* SPDX-License-Identifier: MIT */
/* Creation and destruction of queue pairs. See tests/model/walk.h. */
#include "tests/model/walk.h"

/* Rings of QPs lie behind those of CQs. */
#define QP_ROOM (64u << 10)

static u64 qp_place(const struct obj *o, u32 which)
{
	return SEG_HEAP_OFF + (4u << 20) + (2 * o->slot + which) * QP_ROOM;
}

/* --- commands */

static u32 some_depth(struct walk *w)
{
	return chance(w, 30) ? 0 : 1u << (chance(w, 8) ? pick(w, 7) : 2 + pick(w, 5));
}

static u32 some_type(struct walk *w)
{
	static const u32 types[] = { QPT_RC, QPT_RC,	   QPT_RC,	 QPT_UC,	QPT_UD,
				     QPT_UD, QPT_XRC_SEND, QPT_XRC_RECV, QPT_RAW_PACKET };

	return types[pick(w, ARRAY_SIZE(types))];
}

/* An XRC target: it has nothing but a domain. */
static bool fill_target(struct obj *o, struct obj *xrcd, struct hca_cmd *cmd)
{
	if (!xrcd)
		return false;
	use(o, Q_XRCD, xrcd);
	cmd->qp = (struct cmd_qp){ .type = QPT_XRC_RECV, .xrcd = xrcd->handle + 1 };
	return true;
}

/* A QP that only spreads what comes over a table of WQs. */
static bool fill_rss(struct obj *o, struct obj *ind, struct hca_cmd *cmd)
{
	use(o, Q_IND, ind);
	cmd->qp = (struct cmd_qp){
		.type = QPT_RAW_PACKET,
		.pd = o->uses[Q_PD]->handle,
		.ind = ind->handle + 1,
	};
	return true;
}

static int spoil_rss(struct walk *w, struct obj *o, struct cmd_qp *c)
{
	switch (pick(w, 4)) {
	case 0:
		c->ind = bad_handle(w, o->client, K_IND) + 1;
		break;
	case 1:
		c->rq_depth = 4;
		break;
	case 2:
		c->sq_depth = 4;
		c->sq_ring = qp_place(o, 0);
		break;
	default:
		c->type = QPT_RC;
	}
	return -EINVAL;
}

bool qp_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, o->client, K_PD), *scq = any(w, o->client, K_CQ),
		   *rcq = any(w, o->client, K_CQ), *srq = any(w, o->client, K_SRQ);
	u32 type = some_type(w);

	if (type == QPT_XRC_RECV)
		return fill_target(o, any(w, o->client, K_XRCD), cmd);
	if (!pd || !scq || !rcq)
		return false;
	use(o, Q_PD, pd);
	if (type == QPT_RAW_PACKET && chance(w, 3) && any(w, o->client, K_IND))
		return fill_rss(o, any(w, o->client, K_IND), cmd);
	use(o, Q_SCQ, scq);
	cmd->qp = (struct cmd_qp){
		.type = type,
		.pd = pd->handle,
		.scq = scq->handle,
		.sq_ring = qp_place(o, 0),
		.rq_ring = qp_place(o, 1),
		.sq_depth = some_depth(w),
		.rq_depth = some_depth(w),
		.max_sge = chance(w, 10) ? 0 : 1 + pick(w, 4),
		.max_rsge = chance(w, 50) ? 0 : 1 + pick(w, 4),
		.max_inline = pick(w, 200),
		.sig_all = pick(w, 2),
	};
	if (type == QPT_XRC_SEND) {
		cmd->qp.rq_depth = 0;
		return true;
	}
	use(o, Q_RCQ, rcq);
	cmd->qp.rcq = rcq->handle;
	if (type == QPT_RAW_PACKET && chance(w, 2))
		cmd->qp.max_tso_hdr = 54 + pick(w, 74);
	if (srq && chance(w, 2) &&
	    (type == QPT_RC ? srq->srq.type != SRQ_XRC
			    : type == QPT_UD && srq->srq.type == SRQ_BASIC)) {
		use(o, Q_SRQ, srq);
		cmd->qp.srq = srq->handle + 1;
		cmd->qp.rq_depth = 0;
	}
	return true;
}

static int spoil_target(struct walk *w, struct obj *o, struct cmd_qp *c)
{
	switch (pick(w, 4)) {
	case 0:
		c->xrcd = bad_handle(w, o->client, K_XRCD) + 1;
		break;
	case 1:
		c->sq_depth = 4;
		c->sq_ring = qp_place(o, 0);
		break;
	case 2:
		c->srq = 1;
		break;
	default:
		c->dev = 1 + pick(w, 5000);
	}
	return -EINVAL;
}

int qp_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct cmd_qp *c = &cmd->qp;

	if (c->type == QPT_XRC_RECV)
		return spoil_target(w, o, c);
	if (c->ind)
		return spoil_rss(w, o, c);
	switch (pick(w, 13)) {
	case 0:
		c->type = chance(w, 2) ? 0 : 11 + pick(w, 300);
		return -EOPNOTSUPP;
	case 1:
		c->dev = 1 + pick(w, 5000);
		break;
	case 2:
		c->async_chan = SEG_MAX_CHANS + pick(w, 100);
		break;
	case 3:
		c->pd = bad_handle(w, o->client, K_PD);
		break;
	case 4:
		c->scq = bad_handle(w, o->client, K_CQ);
		break;
	case 5:
		if (c->type == QPT_XRC_SEND)
			c->rq_depth = 8;
		else
			c->rcq = bad_handle(w, o->client, K_CQ);
		break;
	case 6:
		c->sq_depth = chance(w, 2) ? 3 + 2 * pick(w, 100) : 2 * LIM_QP_WR;
		break;
	case 7:
		c->rq_depth = chance(w, 2) ? 3 + 2 * pick(w, 100) : 2 * LIM_QP_WR;
		break;
	case 8:
		*(chance(w, 2) ? &c->max_sge : &c->max_rsge) = LIM_SGE + 1 + pick(w, 1 << 30);
		break;
	case 9:
		*(chance(w, 2) ? &c->max_inline : &c->max_tso_hdr) =
			LIM_INLINE + 1 + pick(w, 1 << 30);
		break;
	case 10:
		c->srq = bad_handle(w, o->client, K_SRQ) + 1;
		break;
	case 11:
		c->sq_depth = 4;
		c->sq_ring = chance(w, 2) ? c->sq_ring + 4 : SEG_SIZE - 64;
		break;
	default:
		c->rq_depth = 4;
		c->rq_ring = chance(w, 2) ? pick(w, (u32)SEG_HEAP_OFF) & ~63u : ~0ULL << 6;
	}
	return -EINVAL;
}

void qp_reset_queues(struct walk *w, struct obj *o)
{
	struct walk_qp *q = &o->qp;

	memset(seg_at(w, o->client, q->sq), 0, sizeof(struct wq_ctl));
	memset(seg_at(w, o->client, q->rq), 0, sizeof(struct wq_ctl));
	q->sq_prod = q->rq_prod = q->sq_seen = q->rq_seen = 0;
	q->failed = q->rq_failed = q->dirty = false;
}

void qp_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd)
{
	const struct cmd_qp *c = &cmd->qp;

	o->qp = (struct walk_qp){
		.qpn = c->qpn,
		.type = c->type,
		.state = QPS_RESET,
		.sq = c->sq_ring,
		.rq = c->rq_ring,
		.sq_depth = c->sq_depth,
		.rq_depth = c->rq_depth,
		.max_sge = c->max_sge,
		.max_rsge = c->max_rsge,
		.max_inline = c->max_inline,
		.max_tso = c->max_tso_hdr,
		.sq_stride = sq_stride(c->max_sge, c->max_inline) + ALIGN_UP(c->max_tso_hdr, 64u),
		.rq_stride = rq_stride(c->max_rsge),
	};
	if ((c->qpn & 0xffff) != cmd->handle || c->qpn > IB_QPN_MASK)
		fail(w, "QP %u got the number %#x", cmd->handle, c->qpn);
	qp_reset_queues(w, o);
}

void qp_drain(struct walk *w, struct obj *o)
{
	if (o->uses[Q_SCQ])
		cq_poll(w, o->uses[Q_SCQ], CQ_MAX);
	if (o->uses[Q_RCQ] && o->uses[Q_RCQ] != o->uses[Q_SCQ])
		cq_poll(w, o->uses[Q_RCQ], CQ_MAX);
}

/* Entries that are left in its CQs are compared while their QP is known. */
void qp_destroyed(struct walk *w, struct obj *o)
{
	qp_drain(w, o);
}

static u32 handle_of(const struct obj *o)
{
	return o ? o->handle : 0;
}

void qp_check(struct walk *w, struct obj *o)
{
	const struct hca_qp *qp = &w->m->hca->qp[o->handle];
	struct walk_qp *q = &o->qp;

	if (qp->qpn != q->qpn || qp->type != q->type || qp->pd != handle_of(o->uses[Q_PD]) ||
	    qp->scq != handle_of(o->uses[Q_SCQ]) || qp->rcq != handle_of(o->uses[Q_RCQ]) ||
	    (o->uses[Q_SRQ] && qp->srq != o->uses[Q_SRQ]->handle + 1))
		fail(w, "QP %#x is not what was created", o->handle);
	if (qp->state == q->state)
		return;
	/* An error of the work under way takes it there. */
	if (qp->state == QPS_SQE && qp_has_sqe(q->type) &&
	    (q->state == QPS_RTS || q->state == QPS_SQD)) {
		q->state = QPS_SQE;
		return;
	}
	if (qp->state != QPS_ERR || q->state < QPS_RTR)
		fail(w, "QP %#x is in %s instead of %s", o->handle, ib_qp_state_name(qp->state),
		     ib_qp_state_name(q->state));
	q->state = QPS_ERR;
}
