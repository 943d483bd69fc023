/* SPDX-License-Identifier: MIT */
/**
 * DOC: creating and destroying queue pairs.
 *
 * Programs look for limits by trying: creation fails with EINVAL beyond them, writes back what was
 * granted, and costs no more than what it maps.
 */
#include "libshim/objects.h"

#include <stdlib.h>

#define SEND_OPS                                                                                   \
	((u64)IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                     \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |           \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |                 \
	 IBV_QP_EX_WITH_SEND_WITH_INV)

static bool cq_fits(struct ibv_cq *cq, const struct ibv_context *ibctx)
{
	return cq && to_cq(cq)->magic == MAGIC_CQ && cq->context == ibctx;
}

static int check_attr(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC || attr->srq)
		return -EOPNOTSUPP;
	if (!cq_fits(attr->send_cq, pd->context) || !cq_fits(attr->recv_cq, pd->context))
		return -EINVAL;
	if (cap->max_send_wr > LIM_QP_WR || cap->max_recv_wr > LIM_QP_WR ||
	    cap->max_send_sge > LIM_SGE || cap->max_recv_sge > LIM_SGE ||
	    cap->max_inline_data > LIM_INLINE)
		return -EINVAL;
	return 0;
}

/*
 * What is granted: queues of a power of two entries, and as much inline data as the slot has room
 * for anyway.
 */
static void grant(const struct ibv_qp_cap *want, struct ibv_qp_cap *cap)
{
	u32 room = sq_stride(want->max_send_sge, want->max_inline_data) - SQ_HDR;

	*cap = *want;
	cap->max_send_wr = want->max_send_wr ? shim_pow2(want->max_send_wr) : 0;
	cap->max_recv_wr = want->max_recv_wr ? shim_pow2(want->max_recv_wr) : 0;
	cap->max_inline_data = min_u32(room, LIM_INLINE);
}

static void wq_free(struct shim_wq *q)
{
	if (q->ring)
		seg_free(q->ring, q->ring_size);
	q->ring = 0;
}

static int wq_alloc(struct shim_wq *q, u32 depth, u32 stride)
{
	q->depth = depth;
	q->stride = stride;
	if (!depth)
		return 0;
	q->ring_size = sizeof(struct wq_ctl) + (u64)depth * stride;
	q->ring = seg_alloc(q->ring_size);
	if (!q->ring)
		return -ENOMEM;
	q->ctl = seg_at(q->ring);
	q->slots = seg_at(q->ring + sizeof(struct wq_ctl));
	return 0;
}

static int qp_alloc_queues(struct shim_qp *qp)
{
	const struct ibv_qp_cap *cap = &qp->cap;
	int ret;

	ret = wq_alloc(&qp->sq, cap->max_send_wr,
		       sq_stride(cap->max_send_sge, cap->max_inline_data));
	if (!ret)
		ret = wq_alloc(&qp->rq, cap->max_recv_wr, rq_stride(cap->max_recv_sge));
	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;
	qp->rq.max_sge = cap->max_recv_sge;
	return ret;
}

static int qp_create_cmd(struct shim_context *ctx, struct shim_qp *qp)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_QP };
	struct cmd_qp *c = &cmd.qp;
	int ret;

	c->type = qp->qp.qp_type;
	c->dev = ctx->dev->info.index;
	c->pd = qp->pd;
	c->scq = qp->qp.send_cq->handle;
	c->rcq = qp->qp.recv_cq->handle;
	c->sq_ring = qp->sq.ring;
	c->rq_ring = qp->rq.ring;
	c->sq_depth = qp->sq.depth;
	c->rq_depth = qp->rq.depth;
	c->max_sge = qp->cap.max_send_sge;
	c->max_rsge = qp->cap.max_recv_sge;
	c->max_inline = qp->cap.max_inline_data;
	c->sig_all = qp->sig_all;
	c->cap_send_wr = qp->cap.max_send_wr;
	c->cap_recv_wr = qp->cap.max_recv_wr;
	c->async_chan = ctx->async_chan;
	ret = obj_cmd(ctx, &cmd);
	if (ret)
		return ret;
	qp->qpn = c->qpn;
	qp->slot = c->qpn & (HCA_MAX_QP - 1);
	qp->qp.qp_num = c->qpn & IB_QPN_MASK;
	qp->qp.handle = cmd.handle;
	return 0;
}

static struct ibv_qp *qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, bool extended)
{
	struct shim_context *ctx = pd ? context_of(pd->context) : NULL;
	struct shim_qp *qp;
	int ret;

	if (!ctx || ((struct shim_pd *)pd)->magic != MAGIC_PD)
		return fail_null(-EINVAL);
	ret = ctx->dead ? -EIO : check_attr(pd, attr);
	if (ret)
		return fail_null(ret);
	qp = obj_alloc(sizeof(*qp));
	if (!qp)
		return NULL;
	grant(&attr->cap, &qp->cap);
	qp->pd = pd->handle;
	qp->sig_all = attr->sq_sig_all;
	qp->extended = extended;
	qp->qp.context = pd->context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.state = IBV_QPS_RESET;
	ret = qp_alloc_queues(qp);
	if (!ret)
		ret = qp_create_cmd(ctx, qp);
	if (ret) {
		wq_free(&qp->sq);
		wq_free(&qp->rq);
		free(qp);
		return fail_null(ret);
	}
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	qp->magic = MAGIC_QP;
	if (extended)
		wr_init(qp);
	__atomic_fetch_add(&to_cq(attr->send_cq)->users, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to_cq(attr->recv_cq)->users, 1, __ATOMIC_RELAXED);
	context_get(ctx);
	objs_add_qp(qp);
	attr->cap = qp->cap;
	return &qp->qp;
}

/** ibv_create_qp() - ibv_create_qp(3). Return: QP, or NULL with errno. */
SHIM_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return qp_create(pd, attr, false);
}

struct ibv_qp *shim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr)
{
	u32 known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (attr->comp_mask & ~known)
		return fail_null(-EOPNOTSUPP);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return fail_null(-EOPNOTSUPP);
	if (extended && (attr->send_ops_flags & ~SEND_OPS))
		return fail_null(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != ibctx)
		return fail_null(-EINVAL);
	/* The extended structure begins with the plain one. */
	return qp_create(attr->pd, (struct ibv_qp_init_attr *)attr, extended);
}

/**
 * ibv_destroy_qp() - ibv_destroy_qp(3). Completions that were not polled are not reported any
 * more. Waits until events of the QP were acknowledged. Return: 0 or errno value.
 */
SHIM_EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct shim_qp *qp = to_qp(ibqp);
	struct shim_context *ctx = qp && qp->magic == MAGIC_QP ? context_of(ibqp->context) : NULL;
	int ret;

	if (!ctx)
		return EINVAL;
	ret = obj_destroy_cmd(ctx, CMD_DESTROY_QP, ibqp->handle);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		objs_del_qp(qp);
		cq_forget_qp(to_cq(ibqp->send_cq), qp);
		if (ibqp->recv_cq != ibqp->send_cq)
			cq_forget_qp(to_cq(ibqp->recv_cq), qp);
		shim_chan_drop(ctx->async_chan, ELEM_QP, qp->slot, qp->qpn);
		events_drained(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed,
			       qp->async_events);
		wq_free(&qp->sq);
		wq_free(&qp->rq);
	}
	__atomic_fetch_sub(&to_cq(ibqp->send_cq)->users, 1, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&to_cq(ibqp->recv_cq)->users, 1, __ATOMIC_RELEASE);
	qp->magic = 0;
	pthread_cond_destroy(&ibqp->cond);
	pthread_mutex_destroy(&ibqp->mutex);
	free(qp);
	context_put(ctx);
	return 0;
}
