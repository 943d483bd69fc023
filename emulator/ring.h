/* SPDX-License-Identifier: MIT */
/**
 * DOC: access to the rings in clients' segments: posted work requests and receives.
 */
#ifndef EMULATOR_RING_H
#define EMULATOR_RING_H

#include "emulator/engine.h"

/** seg_of() - the segment of the QP's or CQ's owner (@owner is index + 1), or NULL. */
static inline struct seg_hdr *seg_of(struct engine *e, u32 owner)
{
	return e->ops->seg(e->ctx, owner - 1);
}

/*
 * From here on the compiler takes the pointer for any pointer. Otherwise it computes the place in a
 * table again at each use, to have a register more in between.
 */
#define keep_pointer(p) __asm__("" : "+r"(p))

/** copy_small() - copy a payload that lies in a slot or an entry, without a call. */
static inline __attribute__((always_inline)) void copy_small(void *dst, const void *src, u32 len)
{
	u8 *to = dst;
	const u8 *from = src;

	for (; len >= 8; len -= 8, to += 8, from += 8)
		memcpy(to, from, 8);
	if (len & 4) {
		memcpy(to, from, 4);
		to += 4;
		from += 4;
	}
	if (len & 2) {
		memcpy(to, from, 2);
		to += 2;
		from += 2;
	}
	if (len & 1)
		*to = *from;
}

static inline void *seg_ptr(struct seg_hdr *seg, u64 off)
{
	return (char *)seg + off;
}

/** seg_range_ok() - whether a client may have a ring of @size bytes at @off. */
static inline bool seg_range_ok(u64 off, u64 size)
{
	return !(off & 63) && off >= SEG_HEAP_OFF && off < SEG_SIZE && size <= SEG_SIZE - off;
}

/**
 * seg_claim() - a client has something of @size bytes at @off: from now on every process maps that.
 * Return: the segment in this process, or NULL: it cannot be had, or there is no such place. Then
 * the client keeps what it has.
 */
static inline struct seg_hdr *seg_claim(struct engine *e, u32 client, u64 off, u64 size)
{
	u64 *used = &e->hca->client[client].seg_used, before = *used;
	struct seg_hdr *seg;

	if (!seg_range_ok(off, size))
		return NULL;
	if (off + size > *used)
		store_relaxed(used, off + size);
	seg = e->ops->seg(e->ctx, client);
	if (unlikely(!seg))
		store_relaxed(used, before);
	return seg;
}

/** seg_ring_check() - whether a client may have a ring there. Return: 0, -EINVAL or -ENOMEM. */
static inline int seg_ring_check(struct engine *e, u32 client, u64 off, u64 size)
{
	if (!seg_range_ok(off, size))
		return -EINVAL;
	return seg_claim(e, client, off, size) ? 0 : -ENOMEM;
}

static inline struct sq_wqe *sq_slot(struct seg_hdr *seg, const struct hca_qp *qp, u32 i)
{
	return seg_ptr(seg, qp->sq_ring + sizeof(struct wq_ctl) +
				    (u64)(i & (qp->sq_depth - 1)) * qp->sq_stride);
}

static inline struct rq_wqe *rq_slot(struct seg_hdr *seg, const struct hca_qp *qp, u32 i)
{
	return seg_ptr(seg, qp->rq_ring + sizeof(struct wq_ctl) +
				    (u64)(i & (qp->rq_depth - 1)) * qp->rq_stride);
}

/**
 * sq_posted() - work requests posted, as an absolute index. A producer index that is more than the
 * ring ahead of what is complete, or behind what was sent, is a broken client: nothing is posted.
 */
static inline u32 sq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->sq_ring);
	const struct req_state *s = &qp->req;
	u32 prod, ahead;

	if (unlikely(!qp->sq_depth))
		return s->next;
	prod = load_acquire(&ctl->prod);
	ahead = prod - s->una;
	return likely(ahead <= qp->sq_depth && ahead >= s->next - s->una) ? prod : s->next;
}

/**
 * sq_waiting() - the same as the number of work requests that wait to be sent, where all that were
 * sent are complete.
 */
static inline u32 sq_waiting(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->sq_ring);
	u32 n = load_acquire(&ctl->prod) - qp->req.next;

	return likely(n <= qp->sq_depth) ? n : 0;
}

static inline u32 rq_posted(struct seg_hdr *seg, const struct hca_qp *qp)
{
	const struct wq_ctl *ctl = seg_ptr(seg, qp->rq_ring);
	u32 cons = qp->resp.rq_cons, prod;

	if (unlikely(!qp->rq_depth))
		return cons;
	prod = load_acquire(&ctl->prod);
	return likely(prod - cons <= qp->rq_depth) ? prod : cons;
}

/**
 * rq_is_posted() - whether a receive is posted that was not taken. The program writes its producer
 * index with each receive, so the index is read only when those that were there last are taken.
 */
static inline bool rq_is_posted(struct seg_hdr *seg, struct hca_qp *qp)
{
	const u32 cons = qp->resp.rq_cons;

	if (likely(qp->rq_seen - cons - 1 < qp->rq_depth))
		return true;
	qp->rq_seen = rq_posted(seg, qp);
	return qp->rq_seen != cons;
}

static inline u32 srq_posted(struct seg_hdr *seg, const struct hca_srq *srq)
{
	const struct wq_ctl *ctl = seg_ptr(seg, srq->ring);
	u32 prod = load_acquire(&ctl->prod);

	return prod - srq->cons <= srq->depth ? prod : srq->cons;
}

static inline struct rq_wqe *srq_slot(struct seg_hdr *seg, const struct hca_srq *srq, u32 slot)
{
	return seg_ptr(seg, srq->ring + srq_slots_off(srq->depth) +
				    (u64)(slot & (srq->depth - 1)) * srq->stride);
}

/** srq_next_slot() - the slot of the next receive of an SRQ that has one. */
static inline u32 srq_next_slot(struct seg_hdr *seg, const struct hca_srq *srq)
{
	const u32 *order = seg_ptr(seg, srq->ring + sizeof(struct wq_ctl));

	return load_relaxed(&order[srq->cons & (srq->depth - 1)]) & (srq->depth - 1);
}

#endif
