/* SPDX-License-Identifier: MIT */
/**
 * DOC: what a request in a straight line takes: struct straight, and how its parts are found. Only
 * straight.c and straight_commit.h include this. Nothing here changes anything but a struct
 * straight, and the engine's copies of how far a program has read its CQ and how many receives it
 * has posted. Functions return false if the request is one for the requester's steps.
 */
#ifndef EMULATOR_TRANSPORT_STRAIGHT_TAKE_H
#define EMULATOR_TRANSPORT_STRAIGHT_TAKE_H

#include "emulator/av.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"

#define straight_inline static inline __attribute__((always_inline))

/** struct straight_address - where a datagram goes. */
struct straight_address {
	const struct hca_av *av;
	struct hca_path path;
};

/**
 * struct straight - a request and what it needs on both sides. Its address goes to inline functions
 * only, so that the compiler keeps it in registers.
 * @type: enum ib_qp_type of @qp: RC, UC, XRC_SEND or UD
 * @peer_seg: that of the client with the receive; for XRC it may be another one than the peer's
 * @write: an RDMA WRITE, with or without immediate; @read: a READ, or an atomic, whose response has
 *	data; otherwise a SEND
 * @atomic: an atomic, @op; its packets have no payload, so that @len is 0
 * @slot: in the ring, which the program can still write to: each field is read once
 * @flags: enum ib_send_flags; @imm: with immediate
 * @va: of a WRITE, a READ and an atomic; @rkey: of a WRITE
 * @to_ud: a datagram's address
 * @owner, @to: the client and the address that the payload goes to, where it is one piece
 * @recv: it takes the receive @rwqe, in @rslot of its ring, and completes in @rcq
 * @shared: a receive is one of @srq. XRC: a WRITE names one, too, whose protection domain counts
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
	const struct straight_address *to_ud;
	u64 va;
	struct hca_iov to;
	u32 type;
	u32 owner;
	u32 rkey;
	u32 rslot;
	u32 flags;
	u32 len;
	u32 op;
	bool write;
	bool read;
	bool atomic;
	bool imm;
	bool recv;
	bool shared;
	bool signaled;
	bool in_wqe;
	bool in_cqe;
};

straight_inline bool straight_is_reliable(const struct straight *t)
{
	return t->type == QPT_RC || t->type == QPT_XRC_SEND;
}

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

/* A datagram's address, and the QP that it goes to: as ud_address(), port_input(), ud_input(). */
static inline struct hca_qp *straight_take_address(struct engine *e, const struct hca_qp *qp,
						   const struct sq_wqe *w,
						   struct straight_address *to)
{
	struct hca *hca = e->hca;
	u32 index = load_relaxed(&w->ah);
	const struct hca_ah *ah = &hca->ah[index % HCA_MAX_AH];
	struct hca_qp *peer = hca_qp_by_num(hca, load_relaxed(&w->remote_qpn));
	u32 qkey = load_relaxed(&w->remote_qkey);

	if (index >= HCA_MAX_AH || ah->client != qp->client || ah->pd != qp->pd ||
	    ah->av.port_num != qp->attr.port_num || av_is_mcast(&ah->av) || e->ops->wire ||
	    hca->watched || !peer)
		return NULL;
	to->av = &ah->av;
	to->path = qp->path;
	to->path.dst_dev = ah->av.dst_dev;
	to->path.dst_port = ah->av.dst_port;
	if (qp->create_flags & QPC_SOURCE_QPN)
		to->path.src_qpn = qp->source_qpn;
	if (peer->type != QPT_UD || peer->dev != to->path.dst_dev ||
	    peer->attr.port_num != to->path.dst_port ||
	    !pkeys_match(peer->path.pkey, to->path.pkey) || av_is_relayed(hca, &to->path, to->av))
		return NULL;
	if (qkey & QKEY_CONTROLLED)
		qkey = qp->attr.qkey;
	if (qkey != peer->attr.qkey)
		return NULL;
	return peer->state >= QPS_RTR && peer->state <= QPS_SQE ? peer : NULL;
}

/* What READs and atomics have in common: flags and limits. @need: enum ib_access */
straight_inline bool straight_take_response(struct straight *t, u32 need)
{
	const struct sq_wqe *w = t->slot;

	t->flags = load_relaxed(&w->send_flags);
	t->signaled = t->flags & SEND_SIGNALED;
	t->va = load_relaxed(&w->remote_addr);
	return !(load_relaxed(&w->hw) & SQ_HW_INLINE) && !(t->flags & SEND_FENCE) &&
	       t->qp->attr.max_rd_atomic && t->peer->attr.max_dest_rd_atomic &&
	       (t->peer->attr.access & need);
}

/* The memory that they name at the peer, @len bytes: as mem_remote(). */
straight_inline bool straight_take_named_memory(struct engine *e, const struct straight *t, u64 len,
						u32 need, struct hca_mem *mem)
{
	const struct hca_qp *peer = t->peer;
	const struct hca_mr *mr =
		mr_remote(t->hca, peer, peer->pd, load_relaxed(&t->slot->rkey), need);

	if (!mr || !mr_translate(mr, t->va, len, &mem->iov[0]))
		return false;
	mem->client = mr_owner(t->hca, mr);
	mem->kind = MEM_VM;
	mem->n = 1;
	/* A copy from memory of the peer's process finds out whether that still lives. */
	return (need == ACC_REMOTE_READ && mem->client == peer->client - 1) ||
	       seg_of(e, peer->client);
}

/* A READ's WQE, and its memory on both sides: as wqe_check(), resp_read(), response_place(). */
straight_inline bool straight_take_read(struct engine *e, struct straight *t, struct hca_mem *src,
					struct hca_mem *dst)
{
	const struct hca_qp *qp = t->qp;
	const struct sq_wqe *w = t->slot;
	u32 n = load_relaxed(&w->num_sge), bad;
	u64 len;

	if (!straight_take_response(t, ACC_REMOTE_READ) || n > qp->max_sge ||
	    n > lim_of(t->hca, qp->dev)->max_sge_rd ||
	    mem_local(t->hca, qp->pd, w->sge, n, ACC_LOCAL_WRITE, ~0ULL, dst, &len, &bad))
		return false;
	if (!len || len > qp->mtu || qp->mtu != t->peer->mtu || len > qp->max_msg)
		return false;
	t->len = (u32)len;
	return straight_take_named_memory(e, t, len, ACC_REMOTE_READ, src);
}

/* An atomic's WQE, its word and its result's place: as wqe_check(), resp_atomic(), and so on. */
straight_inline bool straight_take_atomic(struct engine *e, struct straight *t,
					  struct hca_mem *word, struct hca_mem *dst)
{
	const struct hca_qp *qp = t->qp;
	const struct sq_wqe *w = t->slot;
	u32 n = load_relaxed(&w->num_sge), bad;
	u64 room;

	return straight_take_response(t, ACC_REMOTE_ATOMIC) && n <= qp->max_sge && !(t->va & 7) &&
	       !mem_local(t->hca, qp->pd, w->sge, n, ACC_LOCAL_WRITE, sizeof(u64), dst, &room,
			  &bad) &&
	       room >= sizeof(u64) && room <= qp->max_msg &&
	       straight_take_named_memory(e, t, sizeof(u64), ACC_REMOTE_ATOMIC, word);
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
	return len <= qp->mtu && (t->type == QPT_UD || qp->mtu == t->peer->mtu) &&
	       len <= qp->max_msg && !(t->flags & SEND_FENCE);
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
	mr = mr_remote(t->hca, peer, t->type == QPT_XRC_SEND ? t->srq->pd : peer->pd, t->rkey,
		       ACC_REMOTE_WRITE);
	if (unlikely(!mr))
		return false;
	keep_pointer(mr);
	if (unlikely(!mr_translate(mr, t->va, t->len, &t->to)))
		return false;
	t->owner = mr_owner(t->hca, mr);
	return true;
}

/* The SRQ that a request by XRC names: as resp_srq_named(). */
straight_inline bool straight_take_named(struct engine *e, struct straight *t)
{
	u32 i = qp_xrc_srq(t->hca, t->peer, load_relaxed(&t->slot->remote_qpn));

	if (unlikely(!i || t->peer->resp.held))
		return false;
	t->srq = &t->hca->srq[i - 1];
	keep_pointer(t->srq);
	return seg_of(e, t->peer->client);
}

/* The receive that the request takes: from an SRQ that is as most are, and will raise no event. */
straight_inline bool straight_take_shared(struct straight *t)
{
	struct hca_srq *srq = t->srq;
	u32 ready;

	if (t->rcq->client != srq->client)
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

	t->rcq = &t->hca->cq[t->type == QPT_XRC_SEND ? t->srq->cq - 1 : peer->rcq];
	keep_pointer(t->rcq);
	if (t->shared)
		return straight_take_shared(t);
	t->rslot = peer->resp.rq_cons;
	t->rwqe = rq_slot(t->peer_seg, peer, t->rslot);
	keep_pointer(t->rwqe);
	return rq_is_posted(t->peer_seg, peer);
}

/* The client, index + 1, that the receive is of. */
straight_inline u32 straight_recv_client(const struct straight *t)
{
	return t->shared ? t->srq->client : t->peer->client;
}

/* The place of the payload in the receive: that of a datagram follows its GRH. */
straight_inline u32 straight_recv_at(const struct straight *t)
{
	return t->type == QPT_UD ? IB_GRH_LEN : 0;
}

/* A SEND's memory: as rx_place(). @dst: where the payload does not go to the receive's entry */
straight_inline bool straight_take_list(struct straight *t, struct hca_mem *dst)
{
	const struct hca_qp *peer = t->peer;
	u32 most = t->shared ? t->srq->max_sge : peer->max_rsge;
	u32 pd = t->shared ? t->srq->pd : peer->pd;
	u32 n = min_u32(load_relaxed(&t->rwqe->num_sge), most), bad;
	u32 in_cqe_max = t->type == QPT_UD ? CQE_INLINE : CQE_INLINE_MAX;
	u64 end = straight_recv_at(t) + t->len, room;

	/* 0 bytes go nowhere. */
	t->in_cqe = t->in_wqe && t->len - 1 < in_cqe_max;
	if (likely(t->in_cqe && n == 1)) {
		if (unlikely(!mem_local_one(t->hca, pd, t->rwqe->sge, ACC_LOCAL_WRITE, end,
					    &t->owner, &t->to)))
			return false;
		if (likely(t->owner == straight_recv_client(t) - 1))
			return true;
	}
	if (mem_local(t->hca, pd, t->rwqe->sge, n, ACC_LOCAL_WRITE, end, dst, &room, &bad) ||
	    end > room)
		return false;
	t->in_cqe = t->in_cqe && dst->client == straight_recv_client(t) - 1;
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

/*
 * Room for the completions. Those of a request without an ACK come in another order than the steps'
 * (straight.c), which no program sees that has one of the two only.
 */
straight_inline bool straight_has_room(struct straight *t)
{
	t->scq = &t->hca->cq[t->qp->scq];
	keep_pointer(t->scq);
	if (!straight_is_reliable(t) && t->signaled && t->recv && t->scq->client == t->rcq->client)
		return false;
	if (t->signaled && !cq_has_slots(t->seg, t->scq, t->recv && t->scq == t->rcq ? 2 : 1))
		return false;
	return !t->recv || cq_has_slots(t->peer_seg, t->rcq, 1);
}

/* Where the payload goes, what the message takes, and room for its completions. */
straight_inline bool straight_take_all(struct engine *e, struct straight *t, struct hca_mem *dst)
{
	if (t->type == QPT_XRC_SEND && !straight_take_named(e, t))
		return false;
	if (t->write && !straight_take_target(t))
		return false;
	/* The copy to memory of the peer's process finds out whether that still lives. */
	if (t->recv || t->owner != straight_recv_client(t) - 1) {
		t->peer_seg = seg_of(e, straight_recv_client(t));
		if (unlikely(!t->peer_seg))
			return false;
	}
	return (!t->recv || straight_take_recv(t)) && straight_has_room(t) &&
	       (t->write || straight_take_list(t, dst));
}

#endif
