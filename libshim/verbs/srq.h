/* SPDX-License-Identifier: MIT */
/**
 * DOC: shared receive queues and their tag lists.
 */
#ifndef LIBSHIM_VERBS_SRQ_H
#define LIBSHIM_VERBS_SRQ_H

#include "emulator/seg.h"
#include "libshim/verbs/objects.h"

struct shim_pd;
struct shim_xrcd;

/**
 * struct shim_srq - a shared receive queue; see struct hca_srq for the naming of its slots.
 * @free: stack of @n_free free slots; @free_custom: it comes from @parent's allocator
 */
struct shim_srq {
	union {
		struct ibv_srq srq;
		u8 room[256];
	};
	u32 magic;
	u32 index;
	u32 gen;
	u32 srqn;
	u32 type; /* enum hca_srq_type */
	u32 max_wr;
	u32 max_sge;
	u32 async_events; /* delivered */
	u32 pins; /* as in struct shim_cq */
	u32 users; /* QPs */
	struct ibv_cq *cq; /* XRC, TM */
	struct shim_xrcd *xrcd;
	struct shim_pd *parent; /* parent domain that it was made in, or NULL */
	bool free_custom;
	u32 max_ops; /* TM: limit of operations in progress; under @lock */
	u32 ops; /* operations begun so far, free running */
	u32 ops_done; /* operations whose completion, or a later one's, was polled */
	u64 ring;
	u64 ring_size;

	struct shim_lock lock cacheline_aligned;
	u32 head; /* receives posted, free running */
	u32 depth;
	u32 stride;
	u32 n_free;
	u32 *free;
	u32 *order;
	u8 *slots;
	struct wq_ctl *ctl;
};

static inline struct shim_srq *to_srq(struct ibv_srq *srq)
{
	return (struct shim_srq *)srq;
}

/** shim_srq_check() - Return: 0, or a negative errno value for an SRQ that is none of @ibctx. */
static inline int shim_srq_check(struct ibv_srq *srq, const struct ibv_context *ibctx)
{
	return srq && to_srq(srq)->magic == MAGIC_SRQ && srq->context == ibctx ? 0
									       : -shim_unknown(srq);
}

static inline struct rq_wqe *shim_srq_slot(const struct shim_srq *srq, u32 slot)
{
	return (struct rq_wqe *)(srq->slots + (size_t)(slot & (srq->depth - 1)) * srq->stride);
}

/* --- srq.c --- */

struct ibv_srq *shim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr);
int shim_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int shim_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* --- tag_ops.c --- */

int shim_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);

#endif
