/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive work queues, indirection tables, and queue pairs that spread over them.
 *
 * A WQ's ring has the layout of a queue pair's receive ring. Its completions name the WQ (CQE_WQ),
 * so that pollers find the slot to free. The WQ's lock is held while its state changes, so that a
 * post either comes before and is flushed, or sees ERR and has its receives flushed.
 */
#include "libshim/verbs/wq.h"

#include "emulator/hca_port.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/obj_eth.h"
#include "emulator/seg.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/client/client.h"
#include "libshim/client/seg_heap.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queue.h"

#include <stdlib.h>

_Static_assert((u32)IBV_WQ_FLAGS_CVLAN_STRIPPING == (u32)WQF_CVLAN_STRIPPING &&
		       (u32)IBV_WQ_FLAGS_SCATTER_FCS == (u32)WQF_SCATTER_FCS &&
		       (u32)IBV_WQ_FLAGS_PCI_WRITE_END_PADDING == (u32)WQF_PCI_WRITE_END_PADDING,
	       "flags are passed as they are");
_Static_assert((u32)IBV_WQS_RDY == (u32)WQS_RDY && (u32)IBV_WQS_ERR == (u32)WQS_ERR, "states too");
_Static_assert((u32)IBV_RX_HASH_SRC_IPV4 == (u32)RXH_SRC_IPV4 &&
		       (u32)IBV_RX_HASH_DST_PORT_UDP == (u32)RXH_DST_PORT_UDP &&
		       (u32)IBV_RX_HASH_IPSEC_SPI == (u32)RXH_IPSEC_SPI &&
		       (u32)IBV_RX_HASH_INNER == RXH_INNER,
	       "and hash fields");

/** struct shim_ind - an indirection table of @n entries. */
struct shim_ind {
	union {
		struct ibv_rwq_ind_table table;
		u8 room[64];
	};
	u32 magic;
	u32 handle;
	u32 n;
};

static struct shim_rwq *wq_of(struct ibv_wq *ibwq)
{
	struct shim_rwq *wq = (struct shim_rwq *)ibwq;

	return wq && wq->magic == MAGIC_WQ ? wq : NULL;
}

/* As for QPs: the engine publishes ERR before it flushes, and reads the ring after that. */
static bool wq_is_in_error(const struct shim_rwq *wq)
{
	if (shim.isolated)
		return load_relaxed(&wq->maybe_err) || wq->wq.state == IBV_WQS_ERR;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return load_relaxed(&shim.hca->wq[wq->wq.handle].state) == WQS_ERR;
}

/* ibv_post_wq_recv(). Return: 0 or errno value. */
static int wq_post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct shim_rwq *wq = wq_of(ibwq);
	struct shim_context *ctx = wq ? shim_context_of(ibwq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_MODIFY_WQ };
	bool posted;
	int ret;

	if (unlikely(!ctx || ctx->dead)) {
		*bad_wr = wr;
		return ctx ? EIO : EINVAL;
	}
	if (call_fails(CALL_ibv_post_wq_recv)) {
		*bad_wr = wr;
		return errno;
	}
	shim_lock(&wq->rq.lock);
	ret = shim_rq_post(&wq->rq, wq->wq.state == IBV_WQS_RESET, wr, bad_wr, &posted);
	if (likely(posted) && unlikely(wq_is_in_error(wq))) {
		cmd.handle = ibwq->handle;
		/* If it fails, the fabric process has ended and the receives stay. */
		shim_obj_cmd(ctx, &cmd);
	}
	shim_unlock(&wq->rq.lock);
	return ret;
}

static int wq_check_attr(struct ibv_context *ibctx, const struct ibv_wq_init_attr *attr, u32 *flags)
{
	const struct hca_limits *lim;
	struct hca_dev buf;
	int ret;

	lim = shim_limits_now(shim_context_of(ibctx), &buf);
	if (attr->comp_mask & ~(u32)IBV_WQ_INIT_ATTR_FLAGS)
		return -EINVAL;
	*flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0;
	if (attr->wq_type != IBV_WQT_RQ || !attr->max_wr || attr->max_wr > lim->max_qp_wr ||
	    attr->max_sge > lim->max_sge)
		return -EINVAL;
	ret = shim_pd_check(attr->pd, ibctx);
	return ret ? ret : shim_cq_check(attr->cq, ibctx);
}

static int wq_create_cmd(struct shim_context *ctx, struct shim_rwq *wq,
			 const struct ibv_wq_init_attr *attr, u32 flags)
{
	struct shim_wq *q = &wq->rq;
	struct hca_cmd cmd = { .op = CMD_CREATE_WQ };
	int ret;

	q->max_sge = attr->max_sge ? attr->max_sge : 1;
	q->depth = shim_pow2(attr->max_wr);
	q->stride = rq_stride(q->max_sge);
	q->ring_size = sizeof(struct wq_ctl) + (u64)q->depth * q->stride;
	q->ring = shim_seg_alloc(q->ring_size);
	if (!q->ring)
		return -ENOMEM;
	q->ctl = shim_seg_at(q->ring);
	q->slots = shim_seg_at(q->ring + sizeof(struct wq_ctl));
	cmd.wq.ring = q->ring;
	cmd.wq.dev = ctx->dev->info.index;
	cmd.wq.pd = attr->pd->handle;
	cmd.wq.cq = attr->cq->handle;
	cmd.wq.depth = q->depth;
	cmd.wq.max_sge = q->max_sge;
	cmd.wq.flags = flags;
	cmd.wq.async_chan = ctx->async_chan;
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret) {
		shim_seg_free(q->ring, q->ring_size);
		return ret;
	}
	wq->wqn = cmd.wq.wqn;
	wq->gen = cmd.wq.gen;
	wq->wq.handle = cmd.handle;
	wq->wq.wq_num = cmd.wq.wqn & IB_QPN_MASK;
	return 0;
}

static void wq_table_set(u32 index, struct shim_rwq *wq)
{
	pthread_mutex_lock(&objs_lock);
	store_release(&objs->wq[index], wq);
	pthread_mutex_unlock(&objs_lock);
}

/** shim_create_wq() - ibv_create_wq(3). Return: WQ, or NULL with errno. */
struct ibv_wq *shim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct shim_rwq *wq;
	u32 flags;
	int ret;

	if (call_fails(CALL_ibv_create_wq))
		return NULL;
	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : wq_check_attr(ibctx, attr, &flags);
	if (ret)
		return fail_null(ret);
	wq = shim_obj_alloc(sizeof(*wq));
	if (!wq)
		return NULL;
	ret = wq_create_cmd(ctx, wq, attr, flags);
	if (ret) {
		free(wq);
		return fail_null(ret);
	}
	wq->wq.context = ibctx;
	wq->wq.wq_context = attr->wq_context;
	wq->wq.pd = attr->pd;
	wq->wq.cq = attr->cq;
	wq->wq.state = IBV_WQS_RESET;
	wq->wq.wq_type = attr->wq_type;
	wq->wq.post_recv = wq_post_recv;
	wq->magic = MAGIC_WQ;
	__atomic_fetch_add(&to_cq(attr->cq)->users, 1, __ATOMIC_ACQ_REL);
	shim_context_get(ctx);
	wq_table_set(wq->wq.handle, wq);
	attr->max_wr = min_u32(wq->rq.depth, ctx->dev->info.lim.max_qp_wr);
	attr->max_sge = wq->rq.max_sge;
	return &wq->wq;
}

/* In RESET the engine does not read the ring. Completions go first: they advance the tail. */
static void wq_ring_reset(struct shim_rwq *wq)
{
	shim_cq_forget(to_cq(wq->wq.cq), wq->wqn, NULL);
	wq->rq.head = 0;
	store_release(&wq->rq.tail, 0);
	store_release(&wq->rq.ctl->prod, 0);
	store_relaxed(&wq->maybe_err, false);
}

/** shim_modify_wq() - ibv_modify_wq(3). Return: 0 or errno value. */
ERRNO_VERB(shim_modify_wq, (struct ibv_wq * ibwq, struct ibv_wq_attr *attr), (ibwq, attr))
{
	struct shim_rwq *wq = wq_of(ibwq);
	struct shim_context *ctx = wq ? shim_context_of(ibwq->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_MODIFY_WQ };
	int ret;

	if (call_fails(CALL_ibv_modify_wq))
		return errno;
	if (!ctx)
		return shim_unknown(ibwq);
	if (!attr->attr_mask)
		return EINVAL;
	cmd.handle = ibwq->handle;
	cmd.wq.mask = attr->attr_mask;
	cmd.wq.state = attr->wq_state;
	cmd.wq.cur_state = attr->curr_wq_state;
	cmd.wq.flags = attr->flags;
	cmd.wq.flags_mask = attr->flags_mask;
	if (ctx->dead)
		return EIO;
	shim_lock(&wq->rq.lock);
	ret = shim_obj_cmd(ctx, &cmd);
	if (!ret && (attr->attr_mask & IBV_WQ_ATTR_STATE)) {
		if (attr->wq_state == IBV_WQS_RESET)
			wq_ring_reset(wq);
		ibwq->state = attr->wq_state;
	}
	shim_unlock(&wq->rq.lock);
	return -ret;
}

/** shim_destroy_wq() - ibv_create_wq(3). Return: 0 or errno value; EBUSY while a table has it. */
ERRNO_VERB(shim_destroy_wq, (struct ibv_wq * ibwq), (ibwq))
{
	struct shim_rwq *wq = wq_of(ibwq);
	struct shim_context *ctx = wq ? shim_context_of(ibwq->context) : NULL;
	int ret;

	if (call_fails(CALL_ibv_destroy_wq))
		return errno;
	if (!ctx)
		return shim_unknown(ibwq);
	ret = shim_obj_destroy_cmd(ctx, CMD_DESTROY_WQ, ibwq->handle);
	if (ret)
		return -ret;
	if (!ctx->dead) {
		/* Place the data of unpolled receives; after that no entry names the WQ. */
		shim_cq_forget(to_cq(ibwq->cq), wq->wqn, NULL);
		wq_table_set(ibwq->handle, NULL);
		shim_chan_drop(ctx->async_chan, ELEM_WQ, ibwq->handle, wq->gen);
		shim_events_drain(&ibwq->mutex, &ibwq->cond, &ibwq->events_completed,
				  wq->async_events);
		shim_seg_free(wq->rq.ring, wq->rq.ring_size);
	}
	__atomic_fetch_sub(&to_cq(ibwq->cq)->users, 1, __ATOMIC_ACQ_REL);
	pthread_cond_destroy(&ibwq->cond);
	pthread_mutex_destroy(&ibwq->mutex);
	shim_obj_retire(wq, &wq->magic);
	shim_context_put(ctx);
	return 0;
}

/* The handles of the table's queues. */
static int ind_table_fill(struct ibv_context *ibctx, const struct ibv_rwq_ind_table_init_attr *attr,
			  struct cmd_ind *c)
{
	u32 i;

	if (attr->comp_mask)
		return -EINVAL;
	c->dev = shim_context_of(ibctx)->dev->info.index;
	c->log_size = attr->log_ind_tbl_size;
	if (c->log_size >= 32 || 1u << c->log_size > LIM_IND)
		return -EINVAL;
	for (i = 0; i < 1u << c->log_size; i++) {
		if (!wq_of(attr->ind_tbl[i]) || attr->ind_tbl[i]->context != ibctx)
			return -shim_unknown(attr->ind_tbl[i]);
		c->wq[i] = attr->ind_tbl[i]->handle;
	}
	return 0;
}

/** shim_create_rwq_ind_table() - ibv_create_rwq_ind_table(3). Return: table, or NULL with errno. */
struct ibv_rwq_ind_table *shim_create_rwq_ind_table(struct ibv_context *ibctx,
						    struct ibv_rwq_ind_table_init_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_CREATE_IND };
	struct shim_ind *t;
	int ret;

	if (call_fails(CALL_ibv_create_rwq_ind_table))
		return NULL;
	if (!ctx)
		return NULL;
	ret = ctx->dead ? -EIO : ind_table_fill(ibctx, attr, &cmd.ind);
	if (ret)
		return fail_null(ret);
	t = shim_obj_new(ctx, sizeof(*t), &cmd);
	if (!t)
		return NULL;
	t->table.context = ibctx;
	t->table.ind_tbl_handle = (int)cmd.handle;
	t->table.ind_tbl_num = (int)cmd.handle;
	t->handle = cmd.handle;
	t->n = 1u << cmd.ind.log_size;
	t->magic = MAGIC_IND;
	return &t->table;
}

/** shim_destroy_rwq_ind_table() - the same. Return: 0 or errno value; EBUSY while a QP has it. */
ERRNO_VERB(shim_destroy_rwq_ind_table, (struct ibv_rwq_ind_table * table), (table))
{
	struct shim_ind *t = (struct shim_ind *)table;
	struct shim_context *ctx =
		t && t->magic == MAGIC_IND ? shim_context_of(table->context) : NULL;

	if (call_fails(CALL_ibv_destroy_rwq_ind_table))
		return errno;
	if (!ctx)
		return shim_unknown(table);
	return shim_obj_end(ctx, t, &t->magic, CMD_DESTROY_IND, t->handle);
}

/* A QP can hash addresses of one IP version, and ports of one protocol or an SPI. */
static int rss_check_fields(u64 fields, u32 entries)
{
	u64 v4 = RXH_SRC_IPV4 | RXH_DST_IPV4, v6 = RXH_SRC_IPV6 | RXH_DST_IPV6;
	u64 tcp = RXH_SRC_PORT_TCP | RXH_DST_PORT_TCP, udp = RXH_SRC_PORT_UDP | RXH_DST_PORT_UDP;

	if (fields & ~(v4 | v6 | tcp | udp | RXH_IPSEC_SPI | RXH_INNER))
		return -EOPNOTSUPP;
	if ((fields & v4) && (fields & v6))
		return -EINVAL;
	if (!!(fields & tcp) + !!(fields & udp) + !!(fields & RXH_IPSEC_SPI) > 1)
		return -EINVAL;
	/* Without fields to hash, the table must have one entry. */
	return fields || entries == 1 ? 0 : -EINVAL;
}

int shim_rss_fill(const struct ibv_qp_init_attr_ex *attr, struct cmd_qp *c)
{
	const u32 both = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
	const struct ibv_rx_hash_conf *h = &attr->rx_hash_conf;
	const struct shim_ind *t = (const struct shim_ind *)attr->rwq_ind_tbl;
	int ret;

	if ((attr->comp_mask & both) != both || attr->qp_type != IBV_QPT_RAW_PACKET || !t)
		return -EINVAL;
	if (t->magic != MAGIC_IND || t->table.context != attr->pd->context)
		return -shim_unknown(t);
	if (h->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (h->rx_hash_key_len != RSS_KEY || !h->rx_hash_key)
		return -EINVAL;
	ret = rss_check_fields(h->rx_hash_fields_mask, t->n);
	if (ret)
		return ret;
	c->ind = t->handle + 1;
	c->rss_fields = (u32)h->rx_hash_fields_mask;
	memcpy(c->rss_key, h->rx_hash_key, RSS_KEY);
	return 0;
}
