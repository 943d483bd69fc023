/* SPDX-License-Identifier: MIT */
/**
 * DOC: shared receive queues.
 *
 * Receives of an SRQ complete in any order, so its slots have numbers (struct hca_srq): a post
 * takes a free slot and writes its number into the order array; polling its completion frees the
 * slot.
 */
#include "libshim/verbs/srq.h"

#include "emulator/hca_port.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/obj.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/seg_heap.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queue.h"

#include <stdlib.h>

static struct shim_srq *srq_of(struct ibv_srq *ibsrq)
{
	struct shim_srq *srq = to_srq(ibsrq);

	return srq && srq->magic == MAGIC_SRQ ? srq : NULL;
}

/* A ring for @depth receives. Return: 0 or -ENOMEM; *srq has no ring then. */
static int srq_ring_new(struct shim_srq *srq, u32 depth, u32 stride)
{
	u64 size = srq_slots_off(depth) + (u64)depth * stride;
	u64 ring = shim_seg_alloc(size);
	u32 *stack = NULL;

	if (ring)
		stack = shim_domain_alloc(srq->parent, depth * sizeof(*stack), DOMAIN_SRQ_SLOTS,
					  &srq->free_custom);
	if (!stack) {
		shim_seg_free(ring, size);
		return -ENOMEM;
	}
	srq->free = stack;
	srq->n_free = 0;
	srq->ring = ring;
	srq->ring_size = size;
	srq->depth = depth;
	srq->stride = stride;
	srq->ctl = shim_seg_at(ring);
	srq->order = shim_seg_at(ring + sizeof(struct wq_ctl));
	srq->slots = shim_seg_at(ring + srq_slots_off(depth));
	while (srq->n_free < depth) {
		stack[srq->n_free] = depth - 1 - srq->n_free;
		srq->n_free++;
	}
	return 0;
}

static void srq_ring_free(struct shim_srq *srq)
{
	if (!srq->ring)
		return;
	shim_seg_free(srq->ring, srq->ring_size);
	shim_domain_free(srq->parent, srq->free, DOMAIN_SRQ_SLOTS, srq->free_custom);
}

/* Check what an SRQ of another type than BASIC needs. */
static int srq_check_type(struct ibv_context *ibctx, const struct hca_limits *lim,
			  const struct ibv_srq_init_attr_ex *attr)
{
	u32 need = IBV_SRQ_INIT_ATTR_CQ;
	int ret;

	if (attr->srq_type != IBV_SRQT_XRC && attr->srq_type != IBV_SRQT_TM)
		return -EINVAL;
	need |= attr->srq_type == IBV_SRQT_XRC ? IBV_SRQ_INIT_ATTR_XRCD : IBV_SRQ_INIT_ATTR_TM;
	if ((attr->comp_mask & need) != need)
		return -EINVAL;
	ret = shim_cq_check(attr->cq, ibctx);
	if (ret)
		return ret;
	if (attr->srq_type == IBV_SRQT_XRC)
		return shim_xrcd_of(attr->xrcd, ibctx) ? 0 : -shim_unknown(attr->xrcd);
	return attr->tm_cap.max_num_tags && attr->tm_cap.max_num_tags <= lim->max_tags &&
			       attr->tm_cap.max_ops && attr->tm_cap.max_ops <= LIM_TM_OPS
		       ? 0
		       : -EINVAL;
}

static int srq_check_attr(struct ibv_context *ibctx, const struct ibv_srq_init_attr_ex *attr)
{
	const struct hca_limits *lim;
	u32 known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
		    IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
	struct hca_dev buf;
	int ret;

	lim = shim_limits_now(shim_context_of(ibctx), &buf);
	if (attr->comp_mask & ~known)
		return -EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return -EINVAL;
	ret = shim_pd_check(attr->pd, ibctx);
	if (ret)
		return ret;
	if (!lim->max_srq)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > lim->max_srq_wr ||
	    attr->attr.max_sge > lim->max_srq_sge)
		return -EINVAL;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC)
		return 0;
	return srq_check_type(ibctx, lim, attr);
}

static int srq_create_cmd(struct shim_context *ctx, struct shim_srq *srq,
			  const struct ibv_srq_init_attr_ex *attr)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_SRQ };
	struct cmd_srq *c = &cmd.srq;
	int ret;

	c->ring = srq->ring;
	c->dev = ctx->dev->info.index;
	c->pd = attr->pd->handle;
	c->type = srq->type;
	c->depth = srq->depth;
	c->max_sge = srq->max_sge;
	c->max_wr = srq->max_wr;
	/* A limit is armed by ibv_modify_srq() only (ibv_create_srq(3)). */
	c->limit = 0;
	c->xrcd = srq->xrcd ? srq->xrcd->handle + 1 : 0;
	c->cq = srq->cq ? srq->cq->handle + 1 : 0;
	c->async_chan = ctx->async_chan;
	c->max_tags = srq->type == SRQ_TM ? attr->tm_cap.max_num_tags : 0;
	ret = shim_obj_cmd(ctx, &cmd);
	srq->index = cmd.handle;
	srq->gen = c->gen;
	srq->srqn = c->srqn;
	srq->srq.handle = cmd.handle;
	return ret;
}

static void srq_init_fields(struct shim_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		srq->type = attr->srq_type == IBV_SRQT_XRC  ? SRQ_XRC
			    : attr->srq_type == IBV_SRQT_TM ? SRQ_TM
							    : SRQ_BASIC;
	if (srq->type != SRQ_BASIC)
		srq->cq = attr->cq;
	if (srq->type == SRQ_XRC)
		srq->xrcd = (struct shim_xrcd *)attr->xrcd;
	if (srq->type == SRQ_TM)
		srq->max_ops = attr->tm_cap.max_ops;
	srq->max_sge = attr->attr.max_sge ? attr->attr.max_sge : 1;
	srq->srq.context = attr->pd->context;
	srq->srq.srq_context = attr->srq_context;
	srq->srq.pd = attr->pd;
}

static void srq_add_users(struct shim_srq *srq, u32 d)
{
	if (srq->cq)
		__atomic_fetch_add(&to_cq(srq->cq)->users, d, __ATOMIC_ACQ_REL);
	if (srq->xrcd)
		__atomic_fetch_add(&srq->xrcd->users, d, __ATOMIC_ACQ_REL);
}

static struct ibv_srq *srq_new(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_srq *srq;
	int ret;

	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : srq_check_attr(ibctx, attr);
	if (ret)
		return fail_null(ret);
	srq = shim_obj_alloc(sizeof(*srq));
	if (!srq)
		return NULL;
	srq_init_fields(srq, attr);
	srq->parent = shim_parent_get(attr->pd);
	ret = srq_ring_new(srq, shim_pow2(attr->attr.max_wr), rq_stride(srq->max_sge));
	srq->max_wr = min_u32(srq->depth, ctx->dev->info.lim.max_srq_wr);
	if (!ret)
		ret = srq_create_cmd(ctx, srq, attr);
	if (ret) {
		srq_ring_free(srq);
		shim_parent_put(srq->parent);
		free(srq);
		return fail_null(ret);
	}
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->magic = MAGIC_SRQ;
	srq_add_users(srq, 1);
	shim_context_get(ctx);
	shim_objs_add_srq(srq);
	attr->attr.max_wr = srq->max_wr;
	attr->attr.max_sge = srq->max_sge;
	return &srq->srq;
}

struct ibv_srq *shim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr)
{
	if (call_fails(CALL_ibv_create_srq_ex))
		return NULL;
	return srq_new(ibctx, attr);
}

/** ibv_create_srq() - ibv_create_srq(3). Return: SRQ, or NULL with errno. */
SHIM_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { .comp_mask = IBV_SRQ_INIT_ATTR_PD, .pd = pd };
	struct ibv_srq *srq;

	if (call_fails(CALL_ibv_create_srq))
		return NULL;
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	ex.srq_context = attr->srq_context;
	ex.attr = attr->attr;
	srq = srq_new(pd->context, &ex);
	if (srq)
		attr->attr = ex.attr;
	return srq;
}

/* Slots keep their numbers: posted receives keep their place in the new ring. SRQ lock held. */
static int srq_resize(struct shim_context *ctx, struct shim_srq *srq, struct hca_cmd *cmd)
{
	struct shim_srq new = { .max_sge = srq->max_sge, .parent = srq->parent };
	u32 depth = shim_pow2(cmd->srq.max_wr ? cmd->srq.max_wr : 1), max, i;
	struct hca_dev buf;
	int ret;

	if (cmd->srq.max_wr < srq->depth - srq->n_free)
		return -EINVAL;
	if (depth < srq->depth)
		depth = srq->depth; /* numbers of slots in use go up to the old depth */
	max = shim_limits_now(ctx, &buf)->max_srq_wr;
	if (cmd->srq.max_wr > max)
		return -EINVAL;
	ret = srq_ring_new(&new, depth, srq->stride);
	if (ret)
		return ret;
	memcpy(new.slots, srq->slots, (size_t)srq->depth * srq->stride);
	store_release(&new.ctl->prod, srq->head);
	cmd->srq.ring = new.ring;
	cmd->srq.depth = depth;
	cmd->srq.max_wr = max_u32(cmd->srq.max_wr, min_u32(depth, max));
	ret = shim_obj_cmd(ctx, cmd);
	if (ret) {
		srq_ring_free(&new);
		return ret;
	}
	memcpy(new.free, srq->free, srq->n_free * sizeof(*new.free));
	new.n_free = srq->n_free;
	for (i = srq->depth; i < depth; i++)
		new.free[new.n_free++] = i;
	srq_ring_free(srq);
	srq->free = new.free;
	srq->free_custom = new.free_custom;
	srq->n_free = new.n_free;
	srq->ring = new.ring;
	srq->ring_size = new.ring_size;
	srq->depth = depth;
	srq->ctl = new.ctl;
	srq->order = new.order;
	srq->slots = new.slots;
	srq->max_wr = cmd->srq.max_wr;
	return 0;
}

/** ibv_modify_srq() - ibv_modify_srq(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_modify_srq, (struct ibv_srq * ibsrq, struct ibv_srq_attr *attr, int mask),
	     (ibsrq, attr, mask))
{
	struct shim_srq *srq = srq_of(ibsrq);
	struct shim_context *ctx = srq ? shim_context_of(ibsrq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_MODIFY_SRQ };
	int ret;

	if (call_fails(CALL_ibv_modify_srq))
		return errno;
	if (!ctx)
		return shim_unknown(ibsrq);
	if (ctx->dead)
		return EIO;
	cmd.handle = srq->index;
	cmd.srq.mask = (u32)mask;
	cmd.srq.limit = attr->srq_limit;
	cmd.srq.max_wr = attr->max_wr;
	shim_lock(&srq->lock);
	ret = mask & IBV_SRQ_MAX_WR ? srq_resize(ctx, srq, &cmd) : shim_obj_cmd(ctx, &cmd);
	shim_unlock(&srq->lock);
	return -ret;
}

/** ibv_query_srq() - ibv_query_srq(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_query_srq, (struct ibv_srq * ibsrq, struct ibv_srq_attr *attr), (ibsrq, attr))
{
	struct shim_srq *srq = srq_of(ibsrq);
	struct shim_context *ctx = srq ? shim_context_of(ibsrq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_QUERY_SRQ };
	int ret;

	if (call_fails(CALL_ibv_query_srq))
		return errno;
	if (!ctx)
		return shim_unknown(ibsrq);
	cmd.handle = srq->index;
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return -ret;
	attr->max_wr = cmd.srq.max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = cmd.srq.limit;
	return 0;
}

/**
 * ibv_destroy_srq() - ibv_destroy_srq(3). Waits for ACKs. Return: 0, or errno value (EBUSY: QPs).
 */
ERRNO_EXPORT(ibv_destroy_srq, (struct ibv_srq * ibsrq), (ibsrq))
{
	struct shim_srq *srq = srq_of(ibsrq);
	struct shim_context *ctx = srq ? shim_context_of(ibsrq->context) : NULL;
	int ret;

	if (call_fails(CALL_ibv_destroy_srq))
		return errno;
	if (!ctx)
		return shim_unknown(ibsrq);
	if (__atomic_load_n(&srq->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	ret = shim_obj_destroy_cmd(ctx, CMD_DESTROY_SRQ, srq->index);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		/* Place the data of unpolled receives before their slots are freed. */
		shim_objs_each_cq(shim_cq_place_all);
		shim_objs_del_srq(srq);
		shim_chan_drop(ctx->async_chan, ELEM_SRQ, srq->index, srq->gen);
		shim_events_drain(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed,
				  srq->async_events);
		srq_ring_free(srq);
	}
	srq_add_users(srq, (u32)-1);
	shim_parent_put(srq->parent);
	pthread_cond_destroy(&ibsrq->cond);
	pthread_mutex_destroy(&ibsrq->mutex);
	shim_obj_retire(srq, &srq->magic);
	shim_context_put(ctx);
	return 0;
}

ERRNO_VERB(shim_get_srq_num, (struct ibv_srq * ibsrq, uint32_t *srq_num), (ibsrq, srq_num))
{
	struct shim_srq *srq = srq_of(ibsrq);

	if (call_fails(CALL_ibv_get_srq_num))
		return errno;
	if (!srq || srq->type == SRQ_BASIC)
		return EINVAL;
	*srq_num = srq->srqn & IB_QPN_MASK;
	return 0;
}

static int srq_put_recv(struct shim_srq *srq, const struct ibv_recv_wr *wr)
{
	u32 slot;

	if (unlikely(wr->num_sge < 0 || (u32)wr->num_sge > srq->max_sge))
		return EINVAL;
	if (unlikely(load_relaxed(&shim.fatal)))
		return EIO;
	if (unlikely(!srq->n_free))
		return ENOMEM;
	slot = srq->free[--srq->n_free];
	shim_rq_fill(shim_srq_slot(srq, slot), wr);
	store_relaxed(&srq->order[srq->head & (srq->depth - 1)], slot);
	srq->head++;
	return 0;
}

/** shim_post_srq_recv() - ibv_post_srq_recv(3). Return: 0 or errno value. */
int shim_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct shim_srq *srq = srq_of(ibsrq);
	int ret = 0;

	if (unlikely(!srq)) {
		*bad_wr = wr;
		return EINVAL;
	}
	if (call_fails(CALL_ibv_post_srq_recv)) {
		*bad_wr = wr;
		return errno;
	}
	shim_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		ret = srq_put_recv(srq, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	store_release(&srq->ctl->prod, srq->head);
	shim_unlock(&srq->lock);
	return ret;
}
