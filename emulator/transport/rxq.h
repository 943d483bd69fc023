/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive queues as messages find them: a QP's own, an SRQ, or a WQ. See rxq.c.
 *
 * Most messages go to a QP's own queue. Their code is inline, so that the compiler drops the
 * branches for the other kinds where it knows the queue.
 */
#ifndef EMULATOR_TRANSPORT_RXQ_H
#define EMULATOR_TRANSPORT_RXQ_H

#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/transport/responder.h"

/** struct rx - the receive queue that a message goes to, as this holder sees it. */
struct rx {
	struct seg_hdr *seg; /* its owner's */
	struct hca_cq *cq;
	struct hca_srq *srq; /* NULL: the QP's own */
	struct hca_wq *wq; /* or a WQ; NULL: none */
	u32 name; /* cqe_owner() of the SRQ or WQ */
	u32 owner; /* client index + 1 */
	u32 pd; /* its keys are checked against */
	u32 max_sge;
};

/**
 * struct rx_wc - what the completion of a receive contains.
 * @flags: enum cqe_flags; @wc_flags: enum ib_wc_flags, immediate and invalidation apart
 * @bad, @room: when it was refused: the key, the bytes it had room for
 */
struct rx_wc {
	const struct rq_wqe *wqe;
	u32 slot;
	u32 len;
	u8 opcode;
	u8 flags;
	u8 wc_flags;
	u32 bad;
	u32 room;
};

/**
 * rx_give_back() - a QP is destroyed or reset in mid-message: return the slot of the SRQ's receive
 * that it holds to the client, by an entry with CQE_SKIP.
 */
void rx_give_back(struct engine *e, struct hca_qp *qp);
/** wq_flush() - complete the receives of a WQ in ERR with WR_FLUSH_ERR. */
void wq_flush(struct engine *e, struct hca_wq *wq);
/** rx_holds() - the SRQ whose receive the QP's message has; NULL: none, or that SRQ has gone. */
struct hca_srq *rx_holds(struct hca *hca, const struct hca_qp *qp);
/** rx_open_srq(), rx_open_wq() - open an SRQ, a WQ. Return: as rx_open(). */
bool rx_open_srq(struct engine *e, struct hca_qp *qp, struct hca_srq *srq, struct rx *rx);
bool rx_open_wq(struct engine *e, struct hca_wq *wq, struct rx *rx);
/** rx_next_shared() - rx_next() where the queue is not the QP's own. */
const struct rq_wqe *rx_next_shared(const struct rx *rx, const struct resp_state *s, u32 *slot);
/** rx_taken() - after a commit that took from an SRQ: check its limit. */
void rx_taken(struct engine *e, const struct rx *rx);
/**
 * rx_lost() - a message's completion finds no room in the CQ. Called before the commit that ends
 * the message.
 */
void rx_lost(struct engine *e, struct hca_qp *qp, const struct rx *rx);
/**
 * rx_fail() - complete the receive with @status (0: leave it), commit *s and the QP's new state.
 */
void rx_fail(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s, u32 status,
	     u32 qp_state);
/**
 * rx_error() - rx_fail() of an unreliable QP, with a journal entry. The error is the receiver's
 * own; no NAK goes to the peer.
 */
void rx_error(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b, u32 status,
	      u32 cause, u32 info);
/** rx_journal() - only the journal entry, for the receive that the message holds or would take. */
void rx_journal(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
		u32 status, u32 cause, u32 info);
/** wq_commit() - complete a receive of a WQ. */
void wq_commit(struct engine *e, const struct rx *rx, u32 state, struct cqe *cqe);

/** rx_open_own() - the QP's own queue. Return: false when it is out of reach now. */
static inline bool rx_open_own(struct engine *e, const struct hca_qp *qp, struct rx *rx)
{
	rx->srq = NULL;
	rx->wq = NULL;
	rx->name = 0;
	rx->owner = qp->client;
	rx->pd = qp->pd;
	rx->max_sge = qp->max_rsge;
	rx->cq = &e->hca->cq[qp->rcq];
	rx->seg = seg_of(e, rx->owner);
	return rx->seg;
}

/** rx_open() - the queue @srq, or the QP's own. Return: false when it is out of reach now. */
static inline bool rx_open(struct engine *e, struct hca_qp *qp, struct hca_srq *srq, struct rx *rx)
{
	return srq ? rx_open_srq(e, qp, srq, rx) : rx_open_own(e, qp, rx);
}

/** rx_next() - the receive that the QP's message in progress, or its next, takes; NULL: none. */
static inline const struct rq_wqe *rx_next(const struct rx *rx, struct hca_qp *qp,
					   const struct resp_state *s, u32 *slot)
{
	if (unlikely(rx->srq || rx->wq))
		return rx_next_shared(rx, s, slot);
	*slot = s->rq_cons;
	return rq_is_posted(rx->seg, qp) ? rq_slot(rx->seg, qp, s->rq_cons) : NULL;
}

/**
 * rx_end() - the message's receive has ended. Return: the SRQ that it is taken from now, or NULL.
 */
static inline struct hca_srq *rx_end(const struct rx *rx, struct resp_state *s)
{
	bool held = s->held;

	s->held = 0;
	if (likely(!rx->srq)) {
		s->rq_cons++;
		return NULL;
	}
	return held ? NULL : rx->srq;
}

/** resp_advance() - *s moves past a burst that was placed. */
static inline void resp_advance(struct resp_state *s, const struct burst *b, u64 len)
{
	s->epsn = psn_add(b->psn, b->npkts);
	s->flags &= ~(u32)RESP_NAK_SENT;
	s->rx_pkts += b->npkts;
	s->rx_bytes += len;
	if (b->flags & BF_LAST) {
		s->msn = (s->msn + 1) & IB_PSN_MASK;
		s->flags &= ~(u32)(RESP_IN_MSG | RESP_UNEXPECTED);
		s->off = 0;
	} else {
		s->flags |= RESP_IN_MSG;
		s->off += (u32)len;
	}
}

/** rx_hold() - publish that the message goes on after this packet: *s holds the receive. */
static inline void rx_hold(struct engine *e, struct hca_qp *qp, const struct rx *rx,
			   struct resp_state *s, u32 slot)
{
	struct hca_srq *take = NULL;

	if (unlikely(rx->srq && !s->held)) {
		s->held = slot + 1;
		qp->held_srq = (u32)(rx->srq - e->hca->srq) + 1;
		qp->held_gen = rx->srq->gen;
		take = rx->srq;
	}
	commit_recv(e, qp, s, qp->state, NULL, NULL, take);
	if (unlikely(take))
		rx_taken(e, rx);
}

/**
 * cqe_fill_recv() - the completion of a receive.
 * @qpn, @src_qp: of the QP whose queue it is of; a WQ's number, and 0
 */
static inline void cqe_fill_recv(struct engine *e, const struct rx *rx, u32 qpn, u32 src_qp,
				 const struct rq_wqe *w, u32 slot, u32 status, struct cqe *cqe)
{
	cqe->wr_id = w->wr_id;
	cqe->ts = cq_timestamp(e, rx->cq);
	cqe->byte_len = 0;
	cqe->imm = 0;
	cqe->qpn = qpn;
	cqe->src_qp = src_qp;
	cqe->slot = slot;
	cqe->vendor_err = 0;
	cqe->status = (u8)status;
	cqe->opcode = WCO_RECV;
	cqe->wc_flags = 0;
	cqe->flags = CQE_RECV;
	if (unlikely(rx->srq || rx->wq)) {
		cqe->flags |= rx->srq ? CQE_SRQ : CQE_WQ;
		cqe->owner = rx->name;
	}
}

/** cqe_fill_qp() - the same, of a message to @qp: its own queue's, its SRQ's or its WQ's. */
static inline void cqe_fill_qp(struct engine *e, const struct rx *rx, const struct hca_qp *qp,
			       const struct rq_wqe *w, u32 slot, u32 status, struct cqe *cqe)
{
	u32 qpn = likely(!rx->wq) ? qp->qpn : rx->wq->wqn;

	cqe_fill_recv(e, rx, qpn, likely(!rx->wq) ? qp->attr.dest_qpn : 0, w, slot, status, cqe);
}

/** cqe_fill_imm() - the message's immediate data, or the key that it invalidates. */
static inline void cqe_fill_imm(const struct burst *b, struct cqe *cqe)
{
	if (b->flags & BF_IMM) {
		cqe->wc_flags |= WCF_WITH_IMM;
		cqe->imm = b->imm;
	} else if (b->flags & BF_INV) {
		cqe->wc_flags |= WCF_WITH_INV;
		cqe->imm = b->inv_rkey;
	}
}

/* Bytes of payload that the completion entry of a burst's message has room for. */
static inline u32 rx_cqe_room(const struct rx *rx, const struct burst *b)
{
	const u32 connected = 1u << QPT_RC | 1u << QPT_UC | 1u << QPT_XRC_RECV;

	if (unlikely(!(connected >> b->dst_type & 1) || (rx->srq && rx->srq->type == SRQ_TM)))
		return CQE_INLINE;
	return CQE_INLINE_MAX;
}

/*
 * Small payload goes into the completion entry. The poller copies it to the receive's buffers, and
 * can only reach regions of its own process.
 */
static inline bool rx_in_cqe(struct engine *e, const struct rx *rx, const struct burst *b,
			     const struct hca_mem *dst, struct cqe *cqe)
{
	const u8 whole = BF_FIRST | BF_LAST;
	struct seg_hdr *src;

	if (b->len > rx_cqe_room(rx, b) || (b->flags & whole) != whole || b->mem->kind != MEM_SEG ||
	    b->mem->n != 1 || dst->client != rx->owner - 1)
		return false;
	src = e->ops->seg(e->ctx, b->mem->client);
	if (!src)
		return false;
	memcpy(cqe->data, seg_ptr(src, b->mem->iov[0].addr + b->off), b->len);
	return true;
}

/**
 * rx_place() - copy a packet's payload to byte @at of the receive wc->wqe, small payload into @cqe.
 * Return: 0, -EACCES, -EMSGSIZE, or as resp_fetch().
 */
static inline int rx_place(struct engine *e, const struct hca_qp *qp, const struct rx *rx,
			   const struct burst *b, u64 at, struct rx_wc *wc, struct cqe *cqe)
{
	const struct rq_wqe *w = wc->wqe;
	struct hca_mem dst;
	u64 room;

	if (mem_local(e->hca, rx->pd, w->sge, min_u32(w->num_sge, rx->max_sge), ACC_LOCAL_WRITE,
		      at + b->len, &dst, &room, &wc->bad))
		return -EACCES;
	wc->room = (u32)min_u64(room, UINT32_MAX);
	if (at + b->len > room)
		return -EMSGSIZE;
	if (b->len && cqe && rx_in_cqe(e, rx, b, &dst, cqe)) {
		wc->flags |= CQE_HAS_DATA;
		return 0;
	}
	return resp_fetch(e, qp, b, &dst, at);
}

/** rx_done() - publish the end of a message; a completion that finds no room fails the QP. */
void rx_done(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s,
	     const struct burst *b, const struct rx_wc *wc, struct cqe *cqe);

/** rx_done_fast() - the same, inline, for the common messages. */
static inline __attribute__((always_inline)) void
rx_done_fast(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s,
	     const struct burst *b, const struct rx_wc *wc, struct cqe *cqe)
{
	struct hca_srq *take;
	u32 was = qp->state;

	if (likely(cqe)) {
		cqe_fill_qp(e, rx, qp, wc->wqe, wc->slot, WCS_SUCCESS, cqe);
		cqe->opcode = wc->opcode;
		cqe->byte_len = wc->len;
		cqe->flags |= wc->flags;
		cqe->wc_flags = wc->wc_flags;
		cqe_fill_imm(b, cqe);
		if (unlikely(qp_is_datagram(qp)))
			cqe->src_qp = b->src_qpn & IB_QPN_MASK;
	}
	if (unlikely(rx->wq)) {
		wq_commit(e, rx, cqe ? WQS_RDY : WQS_ERR, cqe);
		return;
	}
	if (likely(wc->opcode == WCO_RECV))
		count_recv(e->hca, qp);
	if (unlikely(!cqe))
		rx_lost(e, qp, rx);
	take = rx_end(rx, s);
	commit_recv(e, qp, s, cqe || rx->cq->ignore_overrun ? was : QPS_ERR, rx->cq, cqe, take);
	if (unlikely(cqe && rx->cq->chan))
		cq_notify(e, rx->seg, rx->cq, b->flags & BF_SOLICITED);
	if (unlikely(take))
		rx_taken(e, rx);
	if (unlikely(!cqe))
		engine_ring(e, qp->client - 1, qp_slot(qp));
}

#endif
