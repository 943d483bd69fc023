/* SPDX-License-Identifier: MIT */
/**
 * DOC: what a request in a straight line takes: struct straight, and how its parts are found. Only
 * straight.c includes this. Nothing here changes anything but a struct straight, and the engine's
 * copies of how far a program has read its CQ and how many receives it has posted. Functions return
 * false if the request is one for the requester's steps.
 */
#ifndef EMULATOR_TRANSPORT_STRAIGHT_TAKE_H
#define EMULATOR_TRANSPORT_STRAIGHT_TAKE_H

#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/transport/wire.h"

#define straight_inline static inline __attribute__((always_inline))

/**
 * struct straight - a request and what it needs on both sides. Its address goes to inline functions
 * only, so that the compiler keeps it in registers.
 * @write: an RDMA WRITE, with or without immediate; otherwise a SEND
 * @slot: in the ring, which the program can still write to: each field is read once
 * @flags: enum ib_send_flags; @imm: with immediate
 * @va, @rkey: of a WRITE
 * @owner, @to: the client and the address that the payload goes to, where it is one piece
 * @recv: it takes the receive @rwqe, in @rslot of its ring, and completes in @rcq
 * @shared: a receive is one of @srq
 * @signaled: it completes in @scq
 * @in_wqe: the payload is at @slot->sge; @in_cqe: it goes to the receive's entry
 */
struct straight {
	struct hca *hca;
	struct hca_qp *qp, *peer;
	struct seg_hdr *seg, *peer_seg;
	const struct sq_wqe *slot;
	const struct rq_wqe *rwqe;
	struct hca_srq *srq;
	struct hca_cq *scq, *rcq;
	u64 va;
	struct hca_iov to;
	u32 owner;
	u32 rkey;
	u32 rslot;
	u32 flags;
	u32 len;
	bool write;
	bool imm;
	bool recv;
	bool shared;
	bool signaled;
	bool in_wqe;
	bool in_cqe;
};

/* The peer, if a request that the QP sends now is the next that it expects; or NULL. */
straight_inline struct hca_qp *straight_find_peer(const struct engine *e, const struct hca_qp *qp)
{
	struct hca_qp *peer;

	/* The peer's path is then @qp->back: both of its own are made of the same attributes. */
	peer = wire_near_peer(e, &qp->path);
	if (unlikely(!peer))
		return NULL;
	keep_pointer(peer);
	/* In RTR the first packet ever raises COMM_EST: not here. */
	if (unlikely(peer->state != QPS_RTS) &&
	    !(peer->state == QPS_RTR && (peer->resp.flags & RESP_COMM_EST)))
		return NULL;
	return likely(peer->resp.epsn == qp->req.next_psn && !(peer->resp.flags & RESP_IN_MSG))
		       ? peer
		       : NULL;
}

/* The WQE: as wqe_check(). */
straight_inline bool straight_take_wqe(struct straight *t, struct hca_mem *src)
{
	const struct hca_qp *qp = t->qp;
	const struct sq_wqe *w = t->slot;
	u32 n, bad;
	u64 len;

	t->flags = load_relaxed(&w->send_flags);
	t->signaled = t->flags & SEND_SIGNALED;
	if (t->in_wqe) {
		len = load_relaxed(&w->total_len);
		if (unlikely(len > SQ_MIN_DATA && len > qp->sq_stride - SQ_HDR))
			return false;
	} else {
		n = load_relaxed(&w->num_sge);
		if (n > qp->max_sge ||
		    mem_local(t->hca, qp->pd, w->sge, n, 0, ~0ULL, src, &len, &bad))
			return false;
	}
	t->len = (u32)len;
	return len <= qp->mtu && qp->mtu == t->peer->mtu && len <= qp->max_msg &&
	       !(t->flags & SEND_FENCE);
}

/* A WRITE's memory: as resp_write(). There is none where no byte is written. */
straight_inline bool straight_take_target(struct straight *t)
{
	const struct hca_qp *peer = t->peer;
	const struct hca_mr *mr;

	t->rkey = load_relaxed(&t->slot->rkey);
	t->va = load_relaxed(&t->slot->remote_addr);
	t->owner = ~0u;
	if (unlikely(!(peer->attr.access & ACC_REMOTE_WRITE)))
		return false;
	if (unlikely(!t->len))
		return true;
	mr = mr_remote(t->hca, peer, peer->pd, t->rkey, ACC_REMOTE_WRITE);
	if (unlikely(!mr))
		return false;
	keep_pointer(mr);
	if (unlikely(!mr_translate(mr, t->va, t->len, &t->to)))
		return false;
	t->owner = mr_owner(t->hca, mr);
	return true;
}

/* The receive that the request takes: from an SRQ that is as most are, and will raise no event. */
straight_inline bool straight_take_shared(struct straight *t)
{
	struct hca_srq *srq = &t->hca->srq[t->peer->srq - 1];
	u32 ready;

	keep_pointer(srq);
	t->srq = srq;
	if (srq->type != SRQ_BASIC || srq->client != t->peer->client ||
	    t->rcq->client != srq->client)
		return false;
	ready = srq_posted(t->peer_seg, srq) - srq->cons;
	if (!ready || ready - 1 < srq->limit)
		return false;
	t->rslot = srq_next_slot(t->peer_seg, srq);
	t->rwqe = srq_slot(t->peer_seg, srq, t->rslot);
	keep_pointer(t->rwqe);
	return true;
}

/* The receive that the request takes. */
straight_inline bool straight_take_recv(struct straight *t)
{
	struct hca_qp *peer = t->peer;

	t->rcq = &t->hca->cq[peer->rcq];
	keep_pointer(t->rcq);
	if (t->shared)
		return straight_take_shared(t);
	t->rslot = peer->resp.rq_cons;
	t->rwqe = rq_slot(t->peer_seg, peer, t->rslot);
	keep_pointer(t->rwqe);
	return rq_is_posted(t->peer_seg, peer);
}

/* A SEND's memory: as rx_place(). @dst: where the payload does not go to the receive's entry */
straight_inline bool straight_take_list(struct straight *t, struct hca_mem *dst)
{
	const struct hca_qp *peer = t->peer;
	u32 most = t->shared ? t->srq->max_sge : peer->max_rsge;
	u32 pd = t->shared ? t->srq->pd : peer->pd;
	u32 n = min_u32(load_relaxed(&t->rwqe->num_sge), most), bad;
	u64 room;

	/* 0 bytes go nowhere. */
	t->in_cqe = t->in_wqe && t->len - 1 < CQE_INLINE_MAX;
	if (likely(t->in_cqe && n == 1)) {
		if (unlikely(!mem_local_one(t->hca, pd, t->rwqe->sge, ACC_LOCAL_WRITE, t->len,
					    &t->owner, &t->to)))
			return false;
		if (likely(t->owner == peer->client - 1))
			return true;
	}
	if (mem_local(t->hca, pd, t->rwqe->sge, n, ACC_LOCAL_WRITE, t->len, dst, &room, &bad) ||
	    t->len > room)
		return false;
	t->in_cqe = t->in_cqe && dst->client == peer->client - 1;
	return true;
}

/* Room for @n entries. As in cq_make_room(), the client's index is read when there seems none. */
straight_inline bool cq_has_slots(struct seg_hdr *seg, struct hca_cq *cq, u32 n)
{
	const struct cq_ctl *ctl;
	u32 cons, used;

	if (unlikely(cq->prod - cq->cons + n > cq->depth)) {
		ctl = seg_ptr(seg, cq->ring);
		cons = load_acquire(&ctl->cons);
		/* A broken client may say that it has read entries that there never were. */
		used = cq->prod - cons;
		if (used > cq->depth || used + n > cq->depth)
			return false;
		cq->cons = cons;
	}
	return !cq->overrun;
}

/* Room for the completions. */
straight_inline bool straight_has_room(struct straight *t)
{
	t->scq = &t->hca->cq[t->qp->scq];
	keep_pointer(t->scq);
	if (t->signaled && !cq_has_slots(t->seg, t->scq, t->recv && t->scq == t->rcq ? 2 : 1))
		return false;
	return !t->recv || cq_has_slots(t->peer_seg, t->rcq, 1);
}

/* Where the payload goes, what the message takes, and room for its completions. */
straight_inline bool straight_take_all(struct engine *e, struct straight *t, struct hca_mem *dst)
{
	if (t->write && !straight_take_target(t))
		return false;
	/* The copy to memory of the peer's process finds out whether that still lives. */
	if (t->recv || t->owner != t->peer->client - 1) {
		t->peer_seg = seg_of(e, t->peer->client);
		if (unlikely(!t->peer_seg))
			return false;
	}
	return (!t->recv || straight_take_recv(t)) && straight_has_room(t) &&
	       (t->write || straight_take_list(t, dst));
}

#endif
