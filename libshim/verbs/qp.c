/* SPDX-License-Identifier: MIT */
/**
 * DOC: creating and destroying queue pairs.
 *
 * Programs probe for limits: beyond them, creation fails with EINVAL. Otherwise it writes back the
 * granted capabilities, and costs no more than the memory that is used.
 */
#include "libshim/verbs/qp.h"

#include "emulator/hca_port.h"
#include "emulator/hca_srd.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "emulator/transport/opcode.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/seg_heap.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queue.h"
#include "libshim/verbs/srq.h"
#include "libshim/verbs/wq.h"

#include <stdlib.h>

/**
 * ex_ops - the opcode of each bit of send_ops_flags, and the capability that a device needs for it;
 * devices without those of the others exist, and have the calls.
 */
static const struct {
	u64 flag;
	u32 opcode;
	u64 cap;
} ex_ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE, WR_RDMA_WRITE, 0 },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, WR_RDMA_WRITE_WITH_IMM, 0 },
	{ IBV_QP_EX_WITH_SEND, WR_SEND, 0 },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, WR_SEND_WITH_IMM, 0 },
	{ IBV_QP_EX_WITH_RDMA_READ, WR_RDMA_READ, 0 },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, WR_ATOMIC_CMP_AND_SWP, 0 },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, WR_ATOMIC_FETCH_AND_ADD, 0 },
	{ IBV_QP_EX_WITH_LOCAL_INV, WR_LOCAL_INV, 0 },
	{ IBV_QP_EX_WITH_BIND_MW, WR_BIND_MW, 0 },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, WR_SEND_WITH_INV, 0 },
	{ IBV_QP_EX_WITH_TSO, WR_TSO, 0 },
	{ QP_EX_WITH_FLUSH, WR_FLUSH, CAP_FLUSH },
	{ IBV_QP_EX_WITH_ATOMIC_WRITE, WR_ATOMIC_WRITE, CAP_ATOMIC_WRITE },
};

/* Whether QPs of the type allow all operations in @flags on a device of these capabilities. */
static bool qp_type_has_ops(u32 type, u64 caps, u64 flags)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ex_ops); i++) {
		if ((flags & ex_ops[i].flag) && (!op_is_in(ex_ops[i].opcode, wqe_type_mask(type)) ||
						 (ex_ops[i].cap && !(caps & ex_ops[i].cap))))
			return false;
		flags &= ~ex_ops[i].flag;
	}
	return !flags;
}

#define CREATE_KNOWN                                                                               \
	(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS |                           \
	 IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SOURCE_QPN |                                \
	 IBV_QP_CREATE_PCI_WRITE_END_PADDING)

/* Check the extensions: that they are supported, and allowed for the type. */
static int qp_check_extensions(u64 caps, u32 type, const struct ibv_qp_init_attr_ex *attr)
{
	u32 raw_flags = IBV_QP_CREATE_SCATTER_FCS | IBV_QP_CREATE_CVLAN_STRIPPING;
	u32 ud_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SOURCE_QPN;
	u32 known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		    IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
		    IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	u32 flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;

	if ((attr->comp_mask & ~known) || (flags & ~(u32)CREATE_KNOWN))
		return -EOPNOTSUPP;
	if (((flags & raw_flags) && attr->qp_type != IBV_QPT_RAW_PACKET) ||
	    ((flags & ud_flags) && attr->qp_type != IBV_QPT_UD))
		return -EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) &&
	    (attr->qp_type != IBV_QPT_RAW_PACKET || attr->max_tso_header > LIM_INLINE))
		return -EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !qp_type_has_ops(type, caps, attr->send_ops_flags))
		return -EOPNOTSUPP;
	return 0;
}

/* @recv: it has a receive queue; otherwise capabilities of a receive queue are ignored. */
static int qp_check_caps(const struct shim_context *ctx, const struct ibv_qp_cap *cap, bool recv)
{
	const struct hca_limits *lim;
	struct hca_dev buf;

	lim = shim_limits_now(ctx, &buf);
	if (cap->max_send_wr > lim->max_qp_wr || cap->max_send_sge > lim->max_sge ||
	    cap->max_inline_data > lim->max_inline)
		return -EINVAL;
	return recv && (cap->max_recv_wr > lim->max_qp_wr || cap->max_recv_sge > lim->max_sge)
		       ? -EINVAL
		       : 0;
}

/* Check the objects of a QP that is no XRC target. */
static int qp_check_objs(const struct ibv_context *ibctx, const struct ibv_qp_init_attr_ex *attr)
{
	int ret;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return -EINVAL;
	ret = shim_pd_check(attr->pd, ibctx);
	if (ret || (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE))
		return ret;
	ret = shim_cq_check(attr->send_cq, ibctx);
	if (ret || attr->qp_type == IBV_QPT_XRC_SEND)
		return ret;
	ret = shim_cq_check(attr->recv_cq, ibctx);
	return !ret && attr->srq ? shim_srq_check(attr->srq, ibctx) : ret;
}

/* Check the type of a QP, and the objects and the capabilities that it needs. */
static int qp_check_attr(const struct shim_context *ctx, u32 type,
			 const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_context *ibctx = &ctx->verbs.context;
	bool rss = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	int ret;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UD:
		if (rss)
			return -EINVAL;
		break;
	case QPT_SRD:
	case IBV_QPT_UC:
	case IBV_QPT_RAW_PACKET:
		/* ibv_create_qp(3): SRQs of RC and UD only. */
		if (attr->srq || (rss && attr->qp_type != IBV_QPT_RAW_PACKET))
			return -EINVAL;
		break;
	case IBV_QPT_XRC_SEND:
		break;
	case IBV_QPT_XRC_RECV:
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD))
			return -EINVAL;
		return shim_xrcd_of(attr->xrcd, ibctx) ? 0 : -shim_unknown(attr->xrcd);
	default:
		return -EOPNOTSUPP;
	}
	ret = qp_check_objs(ibctx, attr);
	if (ret || rss)
		return ret;
	return qp_check_caps(ctx, &attr->cap, attr->qp_type != IBV_QPT_XRC_SEND && !attr->srq);
}

/* Grant queues of a power of two entries, and as much inline data as the slot has room for. */
static void qp_grant_caps(const struct shim_context *ctx, const struct shim_qp *qp,
			  const struct ibv_qp_cap *want, struct ibv_qp_cap *cap)
{
	u32 room = sq_stride(want->max_send_sge, want->max_inline_data) - SQ_HDR;
	bool recv = !qp->srq && qp->qp.qp_type != IBV_QPT_XRC_SEND;
	struct hca_dev buf;

	*cap = *want;
	cap->max_send_wr = want->max_send_wr ? shim_pow2(want->max_send_wr) : 0;
	cap->max_recv_wr = recv && want->max_recv_wr ? shim_pow2(want->max_recv_wr) : 0;
	if (!recv)
		cap->max_recv_sge = 0;
	cap->max_inline_data = min_u32(room, shim_limits_now(ctx, &buf)->max_inline);
}

static void queue_free(struct shim_wq *q)
{
	if (q->ring)
		shim_seg_free(q->ring, q->ring_size);
	q->ring = 0;
}

static int queue_alloc(struct shim_wq *q, u32 depth, u32 stride, u32 extra)
{
	q->depth = depth;
	q->stride = stride;
	if (!depth)
		return 0;
	q->ring_size = sizeof(struct wq_ctl) + (u64)depth * stride + extra;
	q->ring = shim_seg_alloc(q->ring_size);
	if (!q->ring)
		return -ENOMEM;
	q->ctl = shim_seg_at(q->ring);
	q->slots = shim_seg_at(q->ring + sizeof(struct wq_ctl));
	return 0;
}

/* The send queue of a raw QP is followed by room for the frame that the engine works on. */
static int qp_alloc_queues(struct shim_qp *qp, const struct cmd_qp *c)
{
	const struct ibv_qp_cap *cap = &qp->cap;
	u32 extra = c->type == QPT_RAW_PACKET ? LIM_FRAME : 0;
	u32 stride = sq_stride(c->max_sge, c->max_inline) + ALIGN_UP(c->max_tso_hdr, 64u);
	u32 depth = cap->max_send_wr;
	int ret;

	/* Slots are freed in order, work requests complete in any: a window of them may wait. */
	if (c->type == QPT_SRD && depth)
		depth = shim_pow2(depth + SRD_WINDOW);
	ret = queue_alloc(&qp->sq, depth, stride, extra);
	if (!ret)
		ret = queue_alloc(&qp->rq, cap->max_recv_wr, rq_stride(cap->max_recv_sge), 0);
	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;
	qp->rq.max_sge = cap->max_recv_sge;
	return ret;
}

static int qp_create_cmd(struct shim_context *ctx, struct shim_qp *qp,
			 const struct ibv_qp_init_attr_ex *attr)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_QP };
	struct cmd_qp *c = &cmd.qp;
	int ret = 0;

	c->type = qp->type;
	c->dev = ctx->dev->info.index;
	c->pd = qp->pd;
	c->scq = qp->qp.send_cq ? qp->qp.send_cq->handle : 0;
	c->rcq = qp->qp.recv_cq ? qp->qp.recv_cq->handle : 0;
	c->srq = qp->srq ? qp->srq->index + 1 : 0;
	c->xrcd = qp->xrcd ? qp->xrcd->handle + 1 : 0;
	c->max_sge = qp->cap.max_send_sge;
	c->max_rsge = qp->cap.max_recv_sge;
	c->max_inline = qp->cap.max_inline_data;
	c->max_tso_hdr = qp->max_tso_hdr;
	c->sig_all = qp->sig_all;
	c->cap_send_wr = qp->cap.max_send_wr;
	c->cap_recv_wr = qp->cap.max_recv_wr;
	c->async_chan = ctx->async_chan;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) {
		c->create_flags = attr->create_flags;
		if (attr->create_flags & IBV_QP_CREATE_SOURCE_QPN)
			c->source_qpn = attr->source_qpn;
	}
	if (attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))
		ret = shim_rss_fill(attr, c);
	if (!ret)
		ret = qp_alloc_queues(qp, c);
	c->sq_ring = qp->sq.ring;
	c->rq_ring = qp->rq.ring;
	c->sq_depth = qp->sq.depth;
	c->rq_depth = qp->rq.depth;
	if (!ret)
		ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return ret;
	qp->qpn = c->qpn;
	qp->slot = c->qpn & (HCA_MAX_QP - 1);
	qp->qp.qp_num = c->qpn & IB_QPN_MASK;
	qp->qp.handle = cmd.handle;
	return 0;
}

static void qp_add_users(struct shim_qp *qp, u32 d)
{
	if (qp->qp.send_cq)
		__atomic_fetch_add(&to_cq(qp->qp.send_cq)->users, d, __ATOMIC_ACQ_REL);
	if (qp->qp.recv_cq)
		__atomic_fetch_add(&to_cq(qp->qp.recv_cq)->users, d, __ATOMIC_ACQ_REL);
	if (qp->srq)
		__atomic_fetch_add(&qp->srq->users, d, __ATOMIC_ACQ_REL);
	if (qp->xrcd)
		__atomic_fetch_add(&qp->xrcd->users, d, __ATOMIC_ACQ_REL);
}

/* Set the QP's fields, before the HCA makes its own. */
static void qp_init_fields(struct shim_context *ctx, struct shim_qp *qp,
			   const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibqp = &qp->qp;
	bool queues = attr->qp_type != IBV_QPT_XRC_RECV &&
		      !(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE);

	ibqp->context = &ctx->verbs.context;
	ibqp->qp_context = attr->qp_context;
	ibqp->qp_type = attr->qp_type;
	ibqp->state = IBV_QPS_RESET;
	if (attr->qp_type != IBV_QPT_XRC_RECV) {
		ibqp->pd = attr->pd;
		qp->pd = attr->pd->handle;
	} else {
		qp->xrcd = (struct shim_xrcd *)attr->xrcd;
	}
	if (queues)
		ibqp->send_cq = attr->send_cq;
	if (queues && attr->qp_type != IBV_QPT_XRC_SEND) {
		ibqp->recv_cq = attr->recv_cq;
		ibqp->srq = attr->srq;
		qp->srq = to_srq(attr->srq);
	}
	if (queues)
		qp_grant_caps(ctx, qp, &attr->cap, &qp->cap);
	qp->sig_all = attr->sq_sig_all;
	qp->ops = wqe_type_mask(qp->type);
	/* Its members for a datagram's address and for RDMA are the same; it has none for FLUSH. */
	qp->post_ops = qp->ops & ~OP(WR_FLUSH);
	if (qpt_is_datagram(qp->type))
		qp->post_ops &= OPS_SEND;
	qp->flags_ok = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	if (attr->qp_type == IBV_QPT_RAW_PACKET)
		qp->flags_ok |= IBV_SEND_IP_CSUM;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		qp->max_tso_hdr = attr->max_tso_header;
}

void shim_qp_init(struct shim_qp *qp)
{
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	qp->magic = MAGIC_QP;
	if (qp->extended)
		shim_wr_init(qp);
	qp_add_users(qp, 1);
	qp->parent = shim_parent_get(qp->qp.pd);
	shim_objs_add_qp(qp);
}

struct ibv_qp *shim_qp_new(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr, u32 type)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_qp *qp;
	int ret;

	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : qp_check_extensions(ctx->dev->info.lim.caps, type, attr);
	if (!ret)
		ret = qp_check_attr(ctx, type, attr);
	if (ret)
		return fail_null(ret);
	qp = shim_obj_alloc(sizeof(*qp));
	if (!qp)
		return NULL;
	qp->type = type;
	qp_init_fields(ctx, qp, attr);
	qp->extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ret = qp_create_cmd(ctx, qp, attr);
	if (ret) {
		queue_free(&qp->sq);
		queue_free(&qp->rq);
		free(qp);
		return fail_null(ret);
	}
	shim_context_get(ctx);
	shim_qp_init(qp);
	if (qp->qp.send_cq)
		attr->cap = qp->cap;
	return &qp->qp;
}

/* The model's number of a type. SRD is none of verbs: efadv_create_qp_ex() makes it. */
static u32 qp_model_type(enum ibv_qp_type type)
{
	return type == (enum ibv_qp_type)QPT_SRD ? 0 : type;
}

struct ibv_qp *shim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr)
{
	if (call_fails(CALL_ibv_create_qp_ex))
		return NULL;
	return shim_qp_new(ibctx, attr, qp_model_type(attr->qp_type));
}

/** ibv_create_qp() - ibv_create_qp(3). Return: QP, or NULL with errno. */
SHIM_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp *qp;

	if (call_fails(CALL_ibv_create_qp))
		return NULL;
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	memset(&ex, 0, sizeof(ex));
	/* The extended structure begins with the plain one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	qp = shim_qp_new(pd->context, &ex, qp_model_type(attr->qp_type));
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/**
 * ibv_destroy_qp() - ibv_destroy_qp(3). Drops unpolled completions, and waits until events of the
 * QP have been acknowledged. Return: 0 or errno value.
 */
ERRNO_EXPORT(ibv_destroy_qp, (struct ibv_qp * ibqp), (ibqp))
{
	struct shim_qp *qp = to_qp(ibqp);
	struct shim_context *ctx =
		qp && qp->magic == MAGIC_QP ? shim_context_of(ibqp->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_DESTROY_QP };
	int ret;

	if (call_fails(CALL_ibv_destroy_qp))
		return errno;
	if (!ctx)
		return shim_unknown(ibqp);
	shim_sends_settle(ibqp->handle);
	cmd.handle = ibqp->handle;
	cmd.qp.xrcd = qp->opened;
	ret = shim_obj_end_cmd(ctx, &cmd);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		shim_objs_del_qp(qp);
		if (ibqp->send_cq)
			shim_cq_forget_qp(to_cq(ibqp->send_cq), qp);
		if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
			shim_cq_forget_qp(to_cq(ibqp->recv_cq), qp);
		shim_qp_end_events(ctx, qp);
		queue_free(&qp->sq);
		queue_free(&qp->rq);
	}
	qp_add_users(qp, (u32)-1);
	shim_parent_put(qp->parent);
	pthread_cond_destroy(&ibqp->cond);
	pthread_mutex_destroy(&ibqp->mutex);
	shim_obj_retire(qp, &qp->magic);
	shim_context_put(ctx);
	return 0;
}
