/* SPDX-License-Identifier: MIT */
/**
 * DOC: what a request in a straight line changes: the two commits, their completions and counters.
 * Only straight.c includes this; it has found out before that all of it may be done.
 */
#ifndef EMULATOR_TRANSPORT_STRAIGHT_COMMIT_H
#define EMULATOR_TRANSPORT_STRAIGHT_COMMIT_H

#include "emulator/port_counter.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/straight_take.h"

/*
 * The state of a QP as vectors of 16 bytes. A commit loads all of it, adds, and stores it twice. To
 * change single fields of what was stored makes the loads that follow wait for those stores.
 */
typedef u32 __attribute__((vector_size(16), may_alias)) words32;
typedef u64 __attribute__((vector_size(16), may_alias)) words64;

straight_inline struct cqe *straight_cqe(struct seg_hdr *seg, const struct hca_cq *cq)
{
	struct cqe *ring = seg_ptr(seg, cq->ring + CQ_HDR),
		   *cqe = &ring[cq->prod & (cq->depth - 1)];

	keep_pointer(cqe);
	return cqe;
}

straight_inline void straight_fill_recv(struct engine *e, const struct straight *t, struct cqe *cqe)
{
	const struct hca_qp *peer = t->peer;

	cqe->wr_id = t->rwqe->wr_id;
	cqe->ts = cq_timestamp(e, t->rcq);
	cqe->byte_len = straight_recv_at(t) + t->len;
	cqe->imm = t->imm ? load_relaxed(&t->slot->imm) : 0;
	cqe->qpn = peer->qpn;
	cqe->src_qp = peer->attr.dest_qpn;
	cqe->slot = t->rslot;
	cqe->vendor_err = 0;
	cqe->status = WCS_SUCCESS;
	cqe->opcode = t->write ? WCO_RECV_RDMA_WITH_IMM : WCO_RECV;
	cqe->wc_flags = t->imm ? WCF_WITH_IMM : 0;
	cqe->flags = t->in_cqe ? CQE_RECV | CQE_HAS_DATA : CQE_RECV;
	if (t->shared) {
		cqe->flags |= CQE_SRQ;
		cqe->owner = cqe_owner((u32)(t->srq - t->hca->srq), t->srq->gen);
	}
	if (t->type == QPT_UD) {
		cqe->src_qp = t->to_ud->path.src_qpn & IB_QPN_MASK;
		cqe->flags |= CQE_GRH | CQE_EXT;
		cqe->wc_flags |= ud_cqe_origin(t->hca, peer, &t->to_ud->path, t->to_ud->av,
					       ud_ip_payload(t->len, t->imm), cqe);
	}
}

/* enum ib_wc_opcode, of a completion of the send queue. */
straight_inline u8 straight_wc_opcode(const struct straight *t)
{
	if (t->atomic)
		return t->op == WR_ATOMIC_FETCH_AND_ADD ? WCO_FETCH_ADD : WCO_COMP_SWAP;
	return t->read ? WCO_RDMA_READ : t->write ? WCO_RDMA_WRITE : WCO_SEND;
}

straight_inline void straight_fill_send(struct engine *e, const struct straight *t, struct cqe *cqe)
{
	cqe->wr_id = load_relaxed(&t->slot->wr_id);
	cqe->ts = cq_timestamp(e, t->scq);
	cqe->byte_len = t->atomic ? sizeof(u64) : t->read ? t->len : 0;
	cqe->imm = 0;
	cqe->qpn = t->qp->qpn;
	cqe->src_qp = 0;
	cqe->slot = t->qp->req.una;
	cqe->vendor_err = 0;
	cqe->status = WCS_SUCCESS;
	cqe->opcode = straight_wc_opcode(t);
	cqe->wc_flags = 0;
	cqe->flags = 0;
}

/* As commit_fill(), of a commit that changes neither the QP's state nor a tag. @cq: NULL: none */
straight_inline struct hca_commit *straight_begin(struct hca *hca, const struct hca_qp *qp, u32 cq,
						  u32 prod)
{
	struct hca_commit *c = &hca->commit;

	c->qp = qp_slot(qp);
	c->qp_state = qp->state;
	c->cq = cq;
	c->cq_prod = prod;
	c->srq = 0;
	return c;
}

/*
 * The state after a message, as resp_advance() and rx_end() make it; after a READ or an atomic, as
 * resp_accept_request() and resp_atomic() do.
 */
straight_inline void straight_advance_resp(const struct straight *t, const struct resp_state *was,
					   words32 to[4])
{
	const words32 *from = (const words32 *)was;
	const u32 packet = t->type != QPT_UD; /* datagrams have no order */
	const u32 ended = t->read ? RESP_NAK_SENT : RESP_NAK_SENT | RESP_UNEXPECTED;
	const words32 moved = { packet, packet, t->recv && !t->shared, 0 };
	const words32 kept = { IB_PSN_MASK, IB_PSN_MASK, ~0u, packet ? ~ended : ~0u };
	const words64 count = { 1, t->read ? 0 : t->len };

	/* @epsn, @msn, @rq_cons, @flags */
	to[0] = (from[0] + moved) & kept;
	/* @op, @rkey, @off, @len */
	if (t->type == QPT_UD || t->read)
		to[1] = from[1];
	else if (t->write)
		to[1] = (words32){ BOP_WRITE, t->rkey, 0, t->len };
	else
		to[1] = (from[1] & (words32){ 0, ~0u, 0, ~0u }) | (words32){ BOP_SEND, 0, 0, 0 };
	/* @va, @at_head and @held */
	to[2] = from[2] + (words32){ 0, 0, t->atomic, 0 };
	if (t->write)
		to[2] = (words32)(words64){ t->va, ((words64)to[2])[1] };
	if (t->recv)
		to[2] &= (words32){ ~0u, ~0u, ~0u, 0 };
	/* @rx_pkts, @rx_bytes */
	to[3] = (words32)((words64)from[3] + count);
}

/* The responder's commit. @cqe: NULL: the request takes no receive */
straight_inline void straight_commit_recv(struct engine *e, const struct straight *t,
					  struct cqe *cqe)
{
	struct hca_qp *peer = t->peer;
	u32 prod = t->recv ? t->rcq->prod + 1 : 0;
	u32 cq = !t->recv ? 0 : t->type == QPT_XRC_SEND ? t->srq->cq : peer->rcq + 1;
	struct hca_commit *c = straight_begin(t->hca, peer, cq, prod);
	words32 s[4];

	straight_advance_resp(t, &peer->resp, s);
	state_copy(&c->resp, s);
	if (t->shared) {
		c->srq = (u32)(t->srq - t->hca->srq) + 1;
		c->srq_cons = t->srq->cons + 1;
		c->srq_unexpected = t->srq->unexpected;
	}
	store_between(&c->valid, COMMIT_RESP);
	state_copy(&peer->resp, s);
	if (t->shared)
		t->srq->cons = c->srq_cons;
	if (cqe)
		commit_entry(t->rcq, cqe, prod);
	store_between(&c->valid, 0);
	/* The next message's, which the peer's program has written. */
	if (t->recv && !t->shared)
		__builtin_prefetch(rq_slot(t->peer_seg, peer, peer->resp.rq_cons));
	if (t->recv && unlikely(t->rcq->chan))
		cq_notify(e, t->peer_seg, t->rcq, t->flags & SEND_SOLICITED);
}

/*
 * The state after a request that was sent, acknowledged and completed. It was that of a requester
 * with nothing outstanding: straight_is_ready(). As req_advance() and comp_complete_wqe() make it.
 */
straight_inline void straight_advance_req(const struct straight *t, const struct req_state *was,
					  words32 to[4])
{
	const words32 *from = (const words32 *)was;
	const words32 one = { 1, 1, 1, 1 }, first = { 1, 0, 0, 0 }, sent = { 0, 0, 1, 0 };
	const words32 psns = { ~0u, ~0u, IB_PSN_MASK, IB_PSN_MASK };
	const words32 kept = { IB_PSN_MASK, straight_is_reliable(t) ? ~(u32)REQ_RESENT : ~0u, ~0u,
			       ~0u };
	const words64 packet = { 0, 1 }, bytes = { t->len, 0 };

	/* @next, @una, @next_psn, @una_psn */
	to[0] = (from[0] + one) & psns;
	/* @una_first, @flags, @next_off */
	to[1] = (from[1] + first) & kept;
	/* @rd_out and the retries, @tx_pkts */
	to[2] = (words32)((words64)from[2] + packet);
	/* @tx_bytes, @sent, @own */
	to[3] = (words32)((words64)from[3] + bytes) + sent;
}

/* The requester's commit. */
straight_inline void straight_commit_send(struct engine *e, const struct straight *t)
{
	struct hca_qp *qp = t->qp;
	u32 prod = t->signaled ? t->scq->prod + 1 : 0;
	const bool ack = straight_is_reliable(t);
	u8 retry = (u8)(ack ? qp->attr.retry_cnt : qp->req.retry);
	u8 rnr_retry = (u8)(ack ? qp->attr.rnr_retry : qp->req.rnr_retry);
	struct cqe *cqe = NULL;
	struct hca_commit *c;
	words32 s[4];

	if (t->signaled) {
		cqe = straight_cqe(t->seg, t->scq);
		straight_fill_send(e, t, cqe);
	}
	c = straight_begin(t->hca, qp, t->signaled ? qp->scq + 1 : 0, prod);
	straight_advance_req(t, &qp->req, s);
	state_copy(&c->req, s);
	c->req.retry = retry;
	c->req.rnr_retry = rnr_retry;
	/* As req_progress(). */
	qp->deadline = 0;
	store_between(&c->valid, COMMIT_REQ);
	state_copy(&qp->req, s);
	qp->req.retry = retry;
	qp->req.rnr_retry = rnr_retry;
	if (t->signaled)
		commit_entry(t->scq, cqe, prod);
	store_between(&c->valid, 0);
	if (t->signaled && unlikely(t->scq->chan))
		cq_notify(e, t->seg, t->scq, false);
}

/* The request and its ACK, or a READ's response, and the message. */
straight_inline void straight_count(const struct straight *t)
{
	const struct hca_qp *qp = t->qp;
	const bool ack = straight_is_reliable(t), send = !t->write && !t->read;
	u32 there = t->read ? 0 : t->len, back = t->read ? t->len : 0;

	if (ack && likely(fresh_add_message(t->hca, t->read ? ports_turned(qp->ports) : qp->ports,
					    t->len, send)))
		return;
	if (ack)
		port_count_between(t->hca, &qp->back, 1, back);
	port_count_between(t->hca, t->type == QPT_UD ? &t->to_ud->path : &qp->path, 1, there);
	if (send) {
		count_recv(t->hca, t->peer);
		count_send(t->hca, qp);
	}
}

#endif
