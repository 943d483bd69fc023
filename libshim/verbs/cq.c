/* SPDX-License-Identifier: MIT */
/**
 * DOC: creating, resizing, moderating and destroying completion queues.
 */
#include "libshim/verbs/cq.h"

#include "emulator/hca_port.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/seg_heap.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

static struct shim_cq *cq_of(struct ibv_cq *ibcq)
{
	struct shim_cq *cq = to_cq(ibcq);

	return cq && cq->magic == MAGIC_CQ ? cq : NULL;
}

/* A ring for at least @cqe entries. Return: 0 or -errno. */
static int cq_ring_new(const struct shim_context *ctx, u32 cqe, u64 *ring, u32 *depth)
{
	struct hca_dev buf;

	if (cqe < 1 || cqe > shim_limits_now(ctx, &buf)->max_cqe)
		return -EINVAL;
	*depth = shim_pow2(cqe);
	*ring = shim_seg_alloc(CQ_HDR + (u64)*depth * sizeof(struct cqe));
	return *ring ? 0 : -ENOMEM;
}

/* The program sees the true capacity, within the device's limit. */
static void cq_set_ring(const struct shim_context *ctx, struct shim_cq *cq, u64 ring, u32 depth)
{
	struct hca_dev buf;

	cq->ring = ring;
	cq->ring_size = CQ_HDR + (u64)depth * sizeof(struct cqe);
	cq->ctl = shim_seg_at(ring);
	cq->entries = shim_seg_at(ring + CQ_HDR);
	cq->mask = depth - 1;
	shim_cq_publish(cq, 0);
	cq->cq.cqe = (int)min_u32(depth, shim_limits_now(ctx, &buf)->max_cqe);
}

/* As libmlx5: the real-time format is for CQs that do not want the free-running clock as well. */
static enum ts_format cq_ts_format(const struct shim_context *ctx, u64 wc_flags)
{
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		return TS_FREE_RUNNING;
	if (!(wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK))
		return TS_NONE;
	return ctx->dev->info.lim.real_time_ts ? TS_REAL_TIME : TS_FREE_RUNNING;
}

static int cq_create_cmd(struct shim_context *ctx, struct shim_cq *cq,
			 const struct ibv_cq_init_attr_ex *attr)
{
	struct shim_channel *ch = (struct shim_channel *)cq->cq.channel;
	struct hca_cmd cmd = { .op = CMD_CREATE_CQ };
	int ret;

	cmd.cq.ring = cq->ring;
	cmd.cq.depth = cq->mask + 1;
	cmd.cq.chan = ch ? ch->index + 1 : 0;
	cmd.cq.async_chan = ctx->async_chan;
	cmd.cq.dev = ctx->dev->info.index;
	cmd.cq.ts_format = cq->ts_format;
	cmd.cq.ignore_overrun = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
				(attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return ret;
	cq->cq.handle = cmd.handle;
	cq->gen = cmd.cq.gen;
	return 0;
}

static int cq_check_args(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr)
{
	const struct shim_channel *ch = (const struct shim_channel *)attr->channel;

	if (attr->comp_vector >= (u32)ibctx->num_comp_vectors)
		return -EINVAL;
	if (ch && (ch->magic != MAGIC_CHANNEL || attr->channel->context != ibctx))
		return -EBADF;
	return 0;
}

/* Make known in this process a CQ that the HCA knows. */
static void cq_init(struct shim_context *ctx, struct shim_cq *cq)
{
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	cq->magic = MAGIC_CQ;
	if (cq->cq.channel)
		__atomic_fetch_add(&cq->cq.channel->refcnt, 1, __ATOMIC_RELAXED);
	shim_context_get(ctx);
	shim_objs_add_cq(cq);
}

struct shim_cq *shim_cq_new(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_cq *cq;
	u64 ring = 0;
	u32 depth;
	int ret;

	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : cq_check_args(ibctx, attr);
	if (!ret)
		ret = cq_ring_new(ctx, attr->cqe, &ring, &depth);
	if (ret)
		return fail_null(ret);
	cq = shim_obj_alloc(sizeof(*cq));
	if (!cq) {
		shim_seg_free(ring, CQ_HDR + (u64)depth * sizeof(struct cqe));
		return NULL;
	}
	cq->cq.context = ibctx;
	cq->cq.channel = attr->channel;
	cq->cq.cq_context = attr->cq_context;
	cq->arm_pending = attr->channel && ctx->dev->info.lim.arm_pending;
	cq->ts_format = cq_ts_format(ctx, attr->wc_flags);
	cq_set_ring(ctx, cq, ring, depth);
	ret = cq_create_cmd(ctx, cq, attr);
	if (ret) {
		shim_seg_free(cq->ring, cq->ring_size);
		free(cq);
		return fail_null(ret);
	}
	cq_init(ctx, cq);
	return cq;
}

/** ibv_create_cq() - ibv_create_cq(3). Return: CQ, or NULL with errno. */
SHIM_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ibctx, int cqe, void *cq_context,
					 struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = (u32)cqe,
					    .cq_context = cq_context,
					    .channel = channel,
					    .comp_vector = (u32)comp_vector };
	struct shim_cq *cq;

	if (call_fails(CALL_ibv_create_cq))
		return NULL;
	if (cqe < 1 || comp_vector < 0)
		return fail_null(-EINVAL);
	cq = shim_cq_new(ibctx, &attr);
	return cq ? &cq->cq : NULL;
}

/* Both locks are held, so that neither pollers nor arming see the ring change. */
static int cq_swap_ring(struct shim_context *ctx, struct shim_cq *cq, u64 ring, u32 depth)
{
	struct hca_cmd cmd = { .op = CMD_RESIZE_CQ, .handle = cq->cq.handle };
	int ret;

	shim_cq_publish(cq, cq->cons);
	/* The engine goes on in the new ring before this process knows. */
	shim_cq_look_locked(cq);
	cmd.cq.ring = ring;
	cmd.cq.depth = depth;
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret) {
		shim_cq_publish(cq, cq->cons);
		return ret;
	}
	shim_seg_free(cq->ring, cq->ring_size);
	cq_set_ring(ctx, cq, ring, depth);
	return 0;
}

/** ibv_resize_cq() - ibv_resize_cq(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_resize_cq, (struct ibv_cq * ibcq, int cqe), (ibcq, cqe))
{
	struct shim_cq *cq = cq_of(ibcq);
	struct shim_context *ctx = cq ? shim_context_of(ibcq->context) : NULL;
	u64 ring = 0;
	u32 depth;
	int ret;

	if (call_fails(CALL_ibv_resize_cq))
		return errno;
	if (!ctx)
		return shim_unknown(ibcq);
	if (ctx->dead)
		return EIO;
	if (cqe < 1)
		return EINVAL;
	ret = cq_ring_new(ctx, (u32)cqe, &ring, &depth);
	if (ret)
		return -ret;
	shim_lock(&cq->lock);
	shim_lock(&cq->arm_lock);
	ret = cq_swap_ring(ctx, cq, ring, depth);
	shim_unlock(&cq->arm_lock);
	shim_unlock(&cq->lock);
	if (ret)
		shim_seg_free(ring, CQ_HDR + (u64)depth * sizeof(struct cqe));
	return -ret;
}

/* Drop the CQ's unread events, and wait for the ACKs of those that were read. */
static void cq_end_events(struct shim_context *ctx, struct shim_cq *cq)
{
	const struct shim_channel *ch = (const struct shim_channel *)cq->cq.channel;
	struct ibv_cq *ibcq = &cq->cq;

	if (ch)
		shim_chan_drop(ch->index, ELEM_CQ, ibcq->handle, cq->gen);
	shim_chan_drop(ctx->async_chan, ELEM_CQ, ibcq->handle, cq->gen);
	shim_events_drain(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed, cq->comp_events);
	shim_events_drain(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed,
			  cq->async_events);
}

/** ibv_destroy_cq() - ibv_destroy_cq(3). Waits for ACKs. Return: 0 or errno value (EBUSY: QPs). */
ERRNO_EXPORT(ibv_destroy_cq, (struct ibv_cq * ibcq), (ibcq))
{
	struct shim_cq *cq = cq_of(ibcq);
	struct shim_context *ctx = cq ? shim_context_of(ibcq->context) : NULL;
	int ret;

	if (call_fails(CALL_ibv_destroy_cq))
		return errno;
	if (!ctx)
		return shim_unknown(ibcq);
	if (__atomic_load_n(&cq->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	ret = shim_obj_destroy_cmd(ctx, CMD_DESTROY_CQ, ibcq->handle);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		shim_objs_del_cq(cq);
		cq_end_events(ctx, cq);
		shim_seg_free(cq->ring, cq->ring_size);
	}
	if (ibcq->channel)
		__atomic_fetch_sub(&ibcq->channel->refcnt, 1, __ATOMIC_RELEASE);
	shim_parent_put(cq->parent);
	pthread_cond_destroy(&ibcq->cond);
	pthread_mutex_destroy(&ibcq->mutex);
	shim_obj_retire(cq, &cq->magic);
	shim_context_put(ctx);
	return 0;
}

/** shim_modify_cq() - ibv_modify_cq(3). Return: 0 or errno value (EINVAL: beyond cq_mod_caps). */
ERRNO_VERB(shim_modify_cq, (struct ibv_cq * ibcq, struct ibv_modify_cq_attr *attr), (ibcq, attr))
{
	struct shim_cq *cq = cq_of(ibcq);
	struct shim_context *ctx = cq ? shim_context_of(ibcq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_MODIFY_CQ };

	if (call_fails(CALL_ibv_modify_cq))
		return errno;
	if (!ctx)
		return shim_unknown(ibcq);
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	cmd.handle = ibcq->handle;
	cmd.cq.mod_count = attr->moderate.cq_count;
	cmd.cq.mod_period = attr->moderate.cq_period;
	return -shim_obj_cmd(ctx, &cmd);
}
