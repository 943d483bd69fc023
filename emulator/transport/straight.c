/* SPDX-License-Identifier: MIT */
/**
 * DOC: the common request in a straight line: a SEND or an RDMA WRITE of one packet, from the WQE
 * to both completions.
 *
 * Theory of operation
 * -------------------
 * Requester, responder and completer pass each other bursts, and each checks what the others may
 * have sent. Most requests meet nothing that these checks are for: no link is between the two QPs,
 * nothing is outstanding, the packet is the one that the responder expects, its receive is posted,
 * to the QP or to its SRQ, and there is room in the CQs. straight_send() finds out whether all of
 * that is so (straight_take.h), and then changes HCA memory as the steps would have: the same
 * commits, counters, completions and events. Whatever it does not know it leaves to them, before it
 * has changed anything.
 *
 * Invariant: after straight_send() HCA memory, segments and the programs' memory are as after the
 * steps of the requester. tests/unit/emulator/transport/test_straight.c compares them.
 *
 * With RC and XRC the order is that of the steps: payload, the responder's commit, the requester's.
 * A holder that dies between the two commits leaves a request that was received and whose ACK is
 * missing. The requester's commit is one, not three: that the packet was sent, acknowledged and
 * completed. Without it, the WQE is sent again with the same PSN, and the responder takes it for a
 * duplicate.
 *
 * UC and UD know no duplicates, but may lose messages. There the requester's commit comes first,
 * and a holder that dies between the two has lost one.
 */
#include "emulator/engine.h"
#include "emulator/port_counter.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/straight.h"
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

/* A small WRITE to one cache line. Return: false: it is none, or is to be copied in another way. */
straight_inline bool straight_copy_line(struct engine *e, const struct straight *t)
{
	u64 addr = t->to.addr;

	return t->in_wqe && likely(addr / 64 == (addr + t->len - 1) / 64) &&
	       likely(e->ops->copy_line) &&
	       e->ops->copy_line(e->ctx, t->owner, addr, t->slot->sge, t->len);
}

/* Copy the payload to @dst, or a WRITE's to @t->to, as resp_fetch(). */
straight_inline bool straight_copy(struct engine *e, const struct straight *t, struct hca_mem *dst,
				   struct hca_mem *src)
{
	const struct hca_qp *qp = t->qp;

	if (t->in_wqe) {
		src->client = qp->client - 1;
		src->kind = MEM_SEG;
		src->n = 1;
		src->iov[0].addr = (u64)((const char *)t->slot->sge - (const char *)t->seg);
		src->iov[0].len = t->len;
	}
	if (t->write) {
		dst->client = t->owner;
		dst->kind = MEM_VM;
		dst->n = 1;
		dst->iov[0] = t->to;
	}
	return !e->ops->copy(e->ctx, dst, straight_recv_at(t), src, 0, t->len,
			     (u64)t->peer->qpn << 32 | qp->req.next_psn << 1 | 1);
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

straight_inline void straight_fill_send(struct engine *e, const struct straight *t, struct cqe *cqe)
{
	cqe->wr_id = load_relaxed(&t->slot->wr_id);
	cqe->ts = cq_timestamp(e, t->scq);
	cqe->byte_len = 0;
	cqe->imm = 0;
	cqe->qpn = t->qp->qpn;
	cqe->src_qp = 0;
	cqe->slot = t->qp->req.una;
	cqe->vendor_err = 0;
	cqe->status = WCS_SUCCESS;
	cqe->opcode = t->write ? WCO_RDMA_WRITE : WCO_SEND;
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

/* The state after a message, as resp_advance() and rx_end() make it. */
straight_inline void straight_advance_resp(const struct straight *t, const struct resp_state *was,
					   words32 to[4])
{
	const words32 *from = (const words32 *)was;
	const u32 packet = t->type != QPT_UD; /* datagrams have no order */
	const words32 moved = { packet, packet, t->recv && !t->shared, 0 };
	const words32 kept = { IB_PSN_MASK, IB_PSN_MASK, ~0u,
			       ~(u32)(packet ? RESP_NAK_SENT | RESP_UNEXPECTED : 0) };
	const words64 count = { 1, t->len };

	/* @epsn, @msn, @rq_cons, @flags */
	to[0] = (from[0] + moved) & kept;
	/* @op, @rkey, @off, @len */
	if (t->type == QPT_UD)
		to[1] = from[1];
	else if (t->write)
		to[1] = (words32){ BOP_WRITE, t->rkey, 0, t->len };
	else
		to[1] = (from[1] & (words32){ 0, ~0u, 0, ~0u }) | (words32){ BOP_SEND, 0, 0, 0 };
	/* @va, @at_head and @held */
	to[2] = from[2];
	if (t->write)
		to[2] = (words32)(words64){ t->va, ((words64)to[2])[1] };
	if (t->recv)
		to[2] &= (words32){ ~0u, ~0u, ~0u, 0 };
	/* @rx_pkts, @rx_bytes */
	to[3] = (words32)((words64)from[3] + count);
}

/* The responder's commit. */
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
	if (t->recv)
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

/* The request and its ACK, and the message. */
straight_inline void straight_count(const struct straight *t)
{
	const struct hca_qp *qp = t->qp;
	const bool ack = straight_is_reliable(t);

	if (ack && likely(fresh_add_message(t->hca, qp->ports, t->len, !t->write)))
		return;
	if (ack)
		port_count_between(t->hca, &qp->back, 1, 0);
	port_count_between(t->hca, t->type == QPT_UD ? &t->to_ud->path : &qp->path, 1, t->len);
	if (!t->write) {
		count_recv(t->hca, t->peer);
		count_send(t->hca, qp);
	}
}

/* The request of a WQE of which opcode and kind of payload are known. Inlined for each kind. */
straight_inline bool straight_carry_out(struct engine *e, struct straight *t, bool write, bool imm)
{
	struct hca_mem src, dst;
	struct cqe *cqe = NULL;

	t->write = write;
	t->imm = imm;
	t->recv = !write || imm;
	t->in_cqe = false;
	if (unlikely(!straight_take_wqe(t, &src) || !straight_take_all(e, t, &dst)))
		return false;
	if (t->recv)
		cqe = straight_cqe(t->peer_seg, t->rcq);
	if (likely(t->in_cqe))
		copy_small(cqe->data, t->slot->sge, t->len);
	else if (t->len && !(write && straight_copy_line(e, t)) &&
		 unlikely(!straight_copy(e, t, &dst, &src)))
		return false;
	if (t->recv)
		straight_fill_recv(e, t, cqe);
	if (!straight_is_reliable(t))
		straight_commit_send(e, t);
	straight_commit_recv(e, t, cqe);
	if (straight_is_reliable(t))
		straight_commit_send(e, t);
	straight_count(t);
	e->budget_bytes -= t->len;
	e->budget_wrs--;
	return true;
}

/* A basic SRQ of the peer's process; others are for the steps. */
straight_inline struct hca_srq *straight_own_srq(struct hca *hca, const struct hca_qp *peer)
{
	struct hca_srq *srq = &hca->srq[peer->srq - 1];

	keep_pointer(srq);
	return srq->type == SRQ_BASIC && srq->client == peer->client ? srq : NULL;
}

/* The request of the WQE @slot, which takes a receive of the peer's SRQ. */
static __attribute__((noinline)) bool straight_send_shared(struct engine *e, struct hca_qp *qp,
							   struct hca_qp *peer, struct seg_hdr *seg,
							   const struct sq_wqe *slot, u32 op,
							   bool in_wqe)
{
	struct straight t = {
		.hca = e->hca,
		.qp = qp,
		.peer = peer,
		.seg = seg,
		.slot = slot,
		.srq = straight_own_srq(e->hca, peer),
		.type = QPT_RC,
		.in_wqe = in_wqe,
		.shared = true,
	};

	return t.srq && straight_carry_out(e, &t, op == WR_RDMA_WRITE_WITH_IMM, op != WR_SEND);
}

/* The request of the WQE @slot. Each opcode gets a copy of the code, without others' branches. */
straight_inline bool straight_send_op(struct engine *e, struct hca_qp *qp, struct hca_qp *peer,
				      struct seg_hdr *seg, const struct sq_wqe *slot, u32 op,
				      bool in_wqe)
{
	struct straight t = {
		.hca = e->hca,
		.qp = qp,
		.peer = peer,
		.seg = seg,
		.slot = slot,
		.type = QPT_RC,
		.in_wqe = in_wqe,
	};

	if (op == WR_RDMA_WRITE)
		return straight_carry_out(e, &t, true, false);
	if (unlikely(peer->srq))
		return straight_send_shared(e, qp, peer, seg, slot, op, in_wqe);
	if (op == WR_SEND)
		return straight_carry_out(e, &t, false, false);
	return op == WR_SEND_WITH_IMM ? straight_carry_out(e, &t, false, true)
				      : straight_carry_out(e, &t, true, true);
}

/* The same with a payload that does not lie in the WQE. */
static __attribute__((noinline)) bool straight_send_list(struct engine *e, struct hca_qp *qp,
							 struct hca_qp *peer, struct seg_hdr *seg,
							 const struct sq_wqe *slot, u32 op)
{
	return straight_send_op(e, qp, peer, seg, slot, op, false);
}

bool straight_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct hca_qp *peer = straight_find_peer(e, qp);
	const struct sq_wqe *slot;
	u32 op;

	if (unlikely(!peer))
		return false;
	slot = sq_slot(seg, qp, qp->req.next);
	keep_pointer(slot);
	op = load_relaxed(&slot->opcode);
	if (unlikely(op > WR_SEND_WITH_IMM || !(qp->wr_mask >> op & 1)))
		return false;
	return likely(load_relaxed(&slot->hw) & SQ_HW_INLINE)
		       ? straight_send_op(e, qp, peer, seg, slot, op, true)
		       : straight_send_list(e, qp, peer, seg, slot, op);
}

/* The request of the WQE @slot by UC, which knows no SRQs, or XRC, which names one. */
straight_inline bool straight_send_connected(struct engine *e, struct hca_qp *qp,
					     struct seg_hdr *seg, const struct sq_wqe *slot, u32 op,
					     u32 type)
{
	struct straight t = {
		.hca = e->hca,
		.qp = qp,
		.peer = straight_find_peer(e, qp),
		.seg = seg,
		.slot = slot,
		.type = type,
		.in_wqe = load_relaxed(&slot->hw) & SQ_HW_INLINE,
	};

	if (unlikely(!t.peer || (type == QPT_UC && (t.peer->resp.flags & RESP_SKIP))))
		return false;
	if (op == WR_RDMA_WRITE)
		return straight_carry_out(e, &t, true, false);
	t.shared = type == QPT_XRC_SEND;
	return straight_carry_out(e, &t, op == WR_RDMA_WRITE_WITH_IMM, op != WR_SEND);
}

static __attribute__((noinline)) bool straight_send_uc(struct engine *e, struct hca_qp *qp,
						       struct seg_hdr *seg,
						       const struct sq_wqe *slot, u32 op)
{
	return straight_send_connected(e, qp, seg, slot, op, QPT_UC);
}

static __attribute__((noinline)) bool straight_send_xrc(struct engine *e, struct hca_qp *qp,
							struct seg_hdr *seg,
							const struct sq_wqe *slot, u32 op)
{
	return straight_send_connected(e, qp, seg, slot, op, QPT_XRC_SEND);
}

/* A datagram. */
static __attribute__((noinline)) bool straight_send_ud(struct engine *e, struct hca_qp *qp,
						       struct seg_hdr *seg,
						       const struct sq_wqe *slot, u32 op)
{
	struct straight_address to;
	struct straight t = {
		.hca = e->hca,
		.qp = qp,
		.peer = straight_take_address(e, qp, slot, &to),
		.seg = seg,
		.slot = slot,
		.to_ud = &to,
		.type = QPT_UD,
		.in_wqe = load_relaxed(&slot->hw) & SQ_HW_INLINE,
	};

	if (unlikely(!t.peer))
		return false;
	t.shared = t.peer->srq;
	if (unlikely(t.shared)) {
		t.srq = straight_own_srq(e->hca, t.peer);
		if (!t.srq)
			return false;
	}
	return straight_carry_out(e, &t, false, op != WR_SEND);
}

bool straight_send_other(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	const struct sq_wqe *slot = sq_slot(seg, qp, qp->req.next);
	u32 op = load_relaxed(&slot->opcode);

	if (op > WR_SEND_WITH_IMM || !(qp->wr_mask >> op & 1))
		return false;
	if (qp->type == QPT_UC)
		return straight_send_uc(e, qp, seg, slot, op);
	if (qp->type == QPT_UD)
		return straight_send_ud(e, qp, seg, slot, op);
	return straight_send_xrc(e, qp, seg, slot, op);
}
