/* SPDX-License-Identifier: MIT */
/**
 * DOC: send and receive queues as rings of slots in the client's segment.
 */
#ifndef LIBSHIM_VERBS_QUEUE_H
#define LIBSHIM_VERBS_QUEUE_H

#include "emulator/seg.h"
#include "libshim/verbs/objects.h"

/**
 * struct shim_wq - a send or receive queue.
 * @head: slots filled so far, free running
 * @tail: slots that are free again, free running; pollers advance it
 */
struct shim_wq {
	struct shim_lock lock;
	u32 head;
	u32 depth; /* power of two, 0: no such queue */
	u32 stride;
	u8 *slots;
	struct wq_ctl *ctl;
	u32 max_sge;
	u32 max_inline;
	u64 ring;
	u64 ring_size;
	u32 tail cacheline_aligned;
} cacheline_aligned;

static inline struct sq_wqe *shim_sq_slot(const struct shim_wq *q, u32 index)
{
	return (struct sq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

static inline struct rq_wqe *shim_rq_slot(const struct shim_wq *q, u32 index)
{
	return (struct rq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

/* --- post.c --- */

/** shim_rq_fill() - write a receive into a slot that has room for its list. */
void shim_rq_fill(struct rq_wqe *w, const struct ibv_recv_wr *wr);
/**
 * shim_rq_post() - fill the slots of a receive queue from a list, and publish them. Queue's lock
 * held.
 * @reset: the queue's owner is in RESET
 * @posted: out: whether any slot was filled
 * Return: 0 or an errno value for the post call, with *bad_wr.
 */
int shim_rq_post(struct shim_wq *q, bool reset, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
		 bool *posted);

/* --- recv_slot.c --- */

/** shim_wq_recv() - the receive of a WQ that an entry completes, or NULL. CQ lock held. */
const struct rq_wqe *shim_wq_recv(const struct cqe *e, u32 *max_sge);
/** shim_wq_consume() - a completion of a WQ's receive was polled: free its slot. CQ lock held. */
void shim_wq_consume(const struct cqe *e);
/** shim_cqe_srq() - the SRQ whose slot an entry names, or NULL. */
struct shim_srq *shim_cqe_srq(const struct cqe *e);
/** shim_srq_slot_free() - a completion that names the slot was polled: it may be posted again. */
void shim_srq_slot_free(struct shim_srq *srq, u32 slot);
/** shim_tag_consume() - a completion of a tag operation, or of a tag's message, was polled. */
void shim_tag_consume(const struct cqe *e);

#endif
