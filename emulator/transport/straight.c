/* SPDX-License-Identifier: MIT */
/**
 * DOC: the common request in a straight line: a SEND, an RDMA WRITE, an RDMA READ or an atomic of
 * one packet, from the WQE to all completions.
 *
 * Theory of operation
 * -------------------
 * Requester, responder and completer pass each other bursts, and each checks what the others may
 * have sent. Most requests meet nothing that these checks are for: no link is between the two QPs,
 * nothing is outstanding, the packet is the one that the responder expects, its receive is posted,
 * to the QP or to its SRQ, and there is room in the CQs. straight_send() finds out whether all of
 * that is so (straight_take.h), and then changes HCA memory as the steps would have: the same
 * commits, counters, completions and events. Whatever it does not know it leaves to them, before it
 * has changed anything but an atomic's word.
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
 * An atomic is executed before either commit, and its result kept where duplicates find it. When
 * the WQE is sent again, atomic_execute() knows that it was executed. So the steps can also
 * take over where the result cannot be copied to the requester's memory.
 *
 * UC and UD know no duplicates, but may lose messages. There the requester's commit comes first,
 * and a holder that dies between the two has lost one.
 */
#include "emulator/engine.h"
#include "emulator/transport/atomic.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/straight.h"
#include "emulator/transport/straight_commit.h"
#include "emulator/transport/straight_take.h"
#include "emulator/transport/wqe.h"

/* Copy @len bytes, not 0, to one cache line. Return: false: to be copied in another way. */
straight_inline bool straight_copy_line(struct engine *e, u32 owner, u64 addr, const void *from,
					u32 len)
{
	return likely(addr / 64 == (addr + len - 1) / 64) && likely(e->ops->copy_line) &&
	       e->ops->copy_line(e->ctx, owner, addr, from, len);
}

/* A small WRITE. Return: as straight_copy_line(). */
straight_inline bool straight_write_line(struct engine *e, const struct straight *t)
{
	return t->in_wqe && straight_copy_line(e, t->owner, t->to.addr, t->slot->sge, t->len);
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
	else if (t->len && !(write && straight_write_line(e, t)) &&
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

/* A request whose WQE was not read yet: it has no flags, and nothing of it was taken. */
straight_inline struct straight straight_start(const struct engine *e, struct hca_qp *qp,
					       struct hca_qp *peer, struct seg_hdr *seg,
					       const struct sq_wqe *slot, u32 type)
{
	return (struct straight){
		.hca = e->hca,
		.qp = qp,
		.peer = peer,
		.seg = seg,
		.slot = slot,
		.type = type,
	};
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
	struct straight t = straight_start(e, qp, peer, seg, slot, QPT_RC);

	t.srq = straight_own_srq(e->hca, peer);
	t.in_wqe = in_wqe;
	t.shared = true;
	return t.srq && straight_carry_out(e, &t, op == WR_RDMA_WRITE_WITH_IMM, op != WR_SEND);
}

/* The request of the WQE @slot. Each opcode gets a copy of the code, without others' branches. */
straight_inline bool straight_send_op(struct engine *e, struct hca_qp *qp, struct hca_qp *peer,
				      struct seg_hdr *seg, const struct sq_wqe *slot, u32 op,
				      bool in_wqe)
{
	struct straight t = straight_start(e, qp, peer, seg, slot, QPT_RC);

	t.in_wqe = in_wqe;
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

/*
 * An RDMA READ. Its payload is in place before the responder's commit, which the steps make first.
 */
static __attribute__((noinline)) bool straight_read(struct engine *e, struct hca_qp *qp,
						    struct hca_qp *peer, struct seg_hdr *seg,
						    const struct sq_wqe *slot)
{
	struct straight t = straight_start(e, qp, peer, seg, slot, QPT_RC);
	struct hca_mem src, dst;

	t.read = true;
	if (unlikely(!straight_take_read(e, &t, &src, &dst) || !straight_has_room(&t)))
		return false;
	if (unlikely(e->ops->copy(e->ctx, &dst, 0, &src, 0, t.len,
				  (u64)qp->qpn << 32 | qp->req.next_psn << 1)))
		return false;
	straight_commit_recv(e, &t, NULL);
	straight_commit_send(e, &t);
	straight_count(&t);
	e->budget_bytes -= t.len;
	e->budget_wrs--;
	return true;
}

/* Copy an atomic's result to @dst: as response_place(). */
straight_inline bool straight_place_result(struct engine *e, const struct straight *t, u64 result,
					   const struct hca_mem *dst)
{
	struct hca_mem src;

	comp_note_result(t->qp, t->seg, result, &src);
	if (dst->n == 1 && dst->iov[0].addr != IOV_NULL &&
	    likely(straight_copy_line(e, dst->client, dst->iov[0].addr, &result, sizeof(result))))
		return true;
	return !e->ops->copy(e->ctx, dst, 0, &src, 0, sizeof(result),
			     (u64)t->qp->qpn << 32 | t->qp->req.next_psn << 1);
}

/* An atomic. */
static __attribute__((noinline)) bool straight_atomic(struct engine *e, struct hca_qp *qp,
						      struct hca_qp *peer, struct seg_hdr *seg,
						      const struct sq_wqe *slot, u32 op)
{
	struct straight t = straight_start(e, qp, peer, seg, slot, QPT_RC);
	const struct burst b = {
		.psn = qp->req.next_psn,
		.atomic_op = (u8)op,
		.compare_add = load_relaxed(&slot->compare_add),
		.swap = load_relaxed(&slot->swap),
	};
	struct hca_mem word, dst;

	t.read = t.atomic = true;
	t.op = op;
	if (unlikely(!straight_take_atomic(e, &t, &word, &dst) || !straight_has_room(&t) ||
		     atomic_execute(e, peer, &b, &word) ||
		     !straight_place_result(e, &t, atomic_next(peer)->orig, &dst)))
		return false;
	straight_commit_recv(e, &t, NULL);
	straight_commit_send(e, &t);
	straight_count(&t);
	e->budget_wrs--;
	return true;
}

/* A request of an opcode after SEND_WITH_IMM's. */
static __attribute__((noinline)) bool straight_send_rare(struct engine *e, struct hca_qp *qp,
							 struct hca_qp *peer, struct seg_hdr *seg,
							 const struct sq_wqe *slot, u32 op)
{
	if (!(qp->wr_mask >> op & 1))
		return false;
	if (op == WR_RDMA_READ)
		return straight_read(e, qp, peer, seg, slot);
	return wqe_is_atomic(op) && straight_atomic(e, qp, peer, seg, slot, op);
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
		return op < WR_COUNT && straight_send_rare(e, qp, peer, seg, slot, op);
	return likely(load_relaxed(&slot->hw) & SQ_HW_INLINE)
		       ? straight_send_op(e, qp, peer, seg, slot, op, true)
		       : straight_send_list(e, qp, peer, seg, slot, op);
}

/* The request of the WQE @slot by UC, which knows no SRQs, or XRC, which names one. */
straight_inline bool straight_send_connected(struct engine *e, struct hca_qp *qp,
					     struct seg_hdr *seg, const struct sq_wqe *slot, u32 op,
					     u32 type)
{
	struct hca_qp *peer = straight_find_peer(e, qp);
	struct straight t = straight_start(e, qp, peer, seg, slot, type);

	t.in_wqe = load_relaxed(&slot->hw) & SQ_HW_INLINE;
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
	struct hca_qp *peer = straight_take_address(e, qp, slot, &to);
	struct straight t = straight_start(e, qp, peer, seg, slot, QPT_UD);

	t.in_wqe = load_relaxed(&slot->hw) & SQ_HW_INLINE;
	t.to_ud = &to;
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
