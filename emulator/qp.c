/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs: creation, query, destruction.
 *
 * A QP number is the slot with the low byte of the slot's generation above it, so that a late
 * packet for a destroyed QP does not reach its successor.
 */
#include "emulator/model.h"

struct hca_qp *hca_qp_by_num(struct hca *hca, u32 qpn)
{
	struct hca_qp *qp = &hca->qp[qpn & (HCA_MAX_QP - 1)];

	return qp->client && qp->qpn == qpn ? qp : NULL;
}

struct hca_qp *own_qp(struct hca *hca, u32 client, u32 handle)
{
	struct hca_qp *qp = handle < HCA_MAX_QP ? &hca->qp[handle] : NULL;

	return qp && qp->client == client + 1 ? qp : NULL;
}

static bool depth_ok(u32 depth)
{
	return !(depth & (depth - 1)) && depth <= LIM_QP_WR;
}

static int create_check(struct hca *hca, u32 client, const struct cmd_qp *c)
{
	u32 sq = sq_stride(c->max_sge, c->max_inline);

	if (c->type != QPT_RC)
		return -EOPNOTSUPP;
	if (c->dev >= hca->n_devs || c->srq || c->async_chan >= SEG_MAX_CHANS)
		return -EINVAL;
	if (!own_pd(hca, client, c->pd) || !own_cq(hca, client, c->scq) ||
	    !own_cq(hca, client, c->rcq))
		return -EINVAL;
	if (!depth_ok(c->sq_depth) || !depth_ok(c->rq_depth) || c->max_sge > LIM_SGE ||
	    c->max_rsge > LIM_SGE || c->max_inline > LIM_INLINE)
		return -EINVAL;
	if (c->sq_depth && !seg_range_ok(c->sq_ring, sizeof(struct wq_ctl) + (u64)c->sq_depth * sq))
		return -EINVAL;
	if (c->rq_depth &&
	    !seg_range_ok(c->rq_ring,
			  sizeof(struct wq_ctl) + (u64)c->rq_depth * rq_stride(c->max_rsge)))
		return -EINVAL;
	return 0;
}

static struct hca_qp *qp_alloc(struct hca *hca)
{
	u32 i, n, gen;
	struct hca_qp *qp;

	if (hca->n_qp >= LIM_QP)
		return NULL;
	for (i = hca->qp_cursor, n = 0; n < HCA_MAX_QP && hca->qp[i].client; n++)
		i = next_slot(i, hca->n_qp, FIRST_QP, HCA_MAX_QP);
	if (n == HCA_MAX_QP)
		return NULL;
	qp = &hca->qp[i];
	gen = qp->gen;
	memset(qp, 0, sizeof(*qp));
	qp->gen = gen + 1;
	qp->qpn = i | (gen & 0xff) << 16;
	hca->qp_cursor = next_slot(i, hca->n_qp, FIRST_QP, HCA_MAX_QP);
	hca->qp_high = max_u32(hca->qp_high, i + 1);
	return qp;
}

int cmd_create_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct cmd_qp *c = &cmd->qp;
	struct hca_qp *qp;
	int ret = create_check(hca, client, c);

	if (ret)
		return ret;
	qp = qp_alloc(hca);
	if (!qp)
		return -ENOMEM;
	qp->type = c->type;
	qp->dev = c->dev;
	qp->pd = c->pd;
	qp->scq = c->scq;
	qp->rcq = c->rcq;
	qp->sq_ring = c->sq_ring;
	qp->rq_ring = c->rq_ring;
	qp->sq_depth = c->sq_depth;
	qp->rq_depth = c->rq_depth;
	qp->sq_stride = sq_stride(c->max_sge, c->max_inline);
	qp->rq_stride = rq_stride(c->max_rsge);
	qp->max_sge = c->max_sge;
	qp->max_rsge = c->max_rsge;
	qp->max_inline = c->max_inline;
	qp->sig_all = c->sig_all;
	qp->cap_send_wr = c->cap_send_wr;
	qp->cap_recv_wr = c->cap_recv_wr;
	qp->async_chan = c->async_chan;
	store_relaxed(&qp->state, QPS_RESET);
	hca->pd[qp->pd].refs++;
	hca->cq[qp->scq].refs++;
	hca->cq[qp->rcq].refs++;
	store_release(&qp->client, client + 1);
	hca->n_qp++;
	hca->client[client].n_qp++;
	cmd->handle = qp_slot(hca, qp);
	c->qpn = qp->qpn;
	return 0;
}

void qp_retire(struct hca *hca, struct hca_qp *qp)
{
	u64 *c = hca->dev[qp->dev].counters;

	c[CNT_XMIT_PKTS] += qp->req.tx_pkts;
	c[CNT_XMIT_BYTES] += qp->req.tx_bytes;
	c[CNT_RCV_PKTS] += qp->resp.rx_pkts;
	c[CNT_RCV_BYTES] += qp->resp.rx_bytes;
	qp->deadline = 0;
	qp->stalled = 0;
	store_relaxed(&qp->state, QPS_RESET);
	store_release(&qp->client, 0);
}

void qp_release(struct engine *e, struct hca_qp *qp)
{
	struct hca *hca = e->hca;

	hca->client[qp->client - 1].n_qp--;
	hca->pd[qp->pd].refs--;
	hca->cq[qp->scq].refs--;
	hca->cq[qp->rcq].refs--;
	qp_retire(hca, qp);
	hca->n_qp--;
}

int cmd_destroy_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);

	if (!qp)
		return -EINVAL;
	qp_release(e, qp);
	return 0;
}

int cmd_query_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);
	struct hca_qp_attr *a = &cmd->mod.attr;

	if (!qp)
		return -EINVAL;
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
