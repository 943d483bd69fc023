/* SPDX-License-Identifier: MIT */
/**
 * DOC: the common request in a straight line: a SEND or an RDMA WRITE of one packet, from the WQE
 * to both completions.
 *
 * Theory of operation
 * -------------------
 * Requester, responder and completer pass each other bursts, and each checks what the others may
 * have sent. Most requests meet nothing that these checks are for: both QPs are on one port,
 * nothing is outstanding, the packet is the one that the responder expects, its receive is posted,
 * and there is room in the CQs. straight_send() finds out whether all of that is so, and then
 * changes HCA memory as the steps would have: the same commits, counters, completions and events.
 * Whatever it does not know it leaves to them, before it has changed anything.
 *
 * Invariant: after straight_send() HCA memory, segments and the programs' memory are as after the
 * steps of the requester. tests/unit/emulator/transport/test_straight.c compares them.
 *
 * The order is that of the steps: payload, the responder's commit, the requester's. A holder that
 * dies between the two commits leaves a request that was received and whose ACK is missing. The
 * requester's commit is one, not three: that the packet was sent, acknowledged and completed.
 * Without it, the WQE is sent again with the same PSN, and the responder takes it for a duplicate.
 */
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/ring.h"
#include "emulator/transport/commit.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/cq.h"
#include "emulator/transport/straight.h"
#include "emulator/transport/tag.h"
#include "emulator/transport/wire.h"

#define straight_inline static inline __attribute__((always_inline))

/**
 * struct straight - a request and what it needs on both sides.
 * @slot: in the ring, which the program can still write to: each field is read once
 * @op, @flags: of the WQE: enum ib_wr_opcode, enum ib_send_flags
 * @va, @rkey: of a WRITE
 * @src: its payload, unless @in_wqe: @len bytes at @slot->sge
 * @rwqe: the receive that it takes; NULL: none
 * @dst: where the payload goes, unless @in_cqe
 */
struct straight {
	struct hca_qp *qp, *peer;
	struct seg_hdr *seg, *peer_seg;
	const struct sq_wqe *slot;
	const struct rq_wqe *rwqe;
	u32 op;
	u32 flags;
	u32 len;
	u32 rkey;
	u64 va;
	bool in_wqe;
	bool in_cqe;
	struct hca_mem src, dst;
};

straight_inline bool straight_is_write(u32 op)
{
	return op <= WR_RDMA_WRITE_WITH_IMM;
}

straight_inline bool straight_has_imm(u32 op)
{
	return op == WR_RDMA_WRITE_WITH_IMM || op == WR_SEND_WITH_IMM;
}

/* Nothing is outstanding, and the HCA has no request of its own under way. */
straight_inline bool req_is_idle(const struct req_state *s)
{
	_Static_assert(sizeof(s->next_off) == sizeof(u64), "no bit of it is lost");
	return !((s->una ^ s->next) | (s->una_psn ^ s->next_psn) | s->next_off | s->rd_out |
		 s->own | (s->flags & REQ_FIN));
}

/* The peer, if a request that the QP sends now is the next that it expects; or NULL. */
straight_inline struct hca_qp *straight_find_peer(const struct engine *e, const struct hca_qp *qp)
{
	struct hca_qp *peer;

	if (qp->type != QPT_RC || qp->state != QPS_RTS || e->ops->fault || !req_is_idle(&qp->req))
		return NULL;
	peer = wire_loop_peer(e, &qp->path);
	if (unlikely(!peer || peer->state != QPS_RTS || !path_is_same(&peer->path, &qp->back)))
		return NULL;
	return likely(peer->resp.epsn == qp->req.next_psn && !(peer->resp.flags & RESP_IN_MSG))
		       ? peer
		       : NULL;
}

/* The WQE: as wqe_check(). */
straight_inline bool straight_take_wqe(struct engine *e, struct straight *t)
{
	const struct hca_qp *qp = t->qp;
	const struct sq_wqe *w = t->slot;
	u32 n, bad;
	u64 len;

	t->op = load_relaxed(&w->opcode);
	t->flags = load_relaxed(&w->send_flags);
	if (t->op > WR_SEND_WITH_IMM || !(qp->wr_mask >> t->op & 1) || (t->flags & SEND_FENCE))
		return false;
	t->in_wqe = load_relaxed(&w->hw) & SQ_HW_INLINE;
	if (likely(t->in_wqe)) {
		len = load_relaxed(&w->total_len);
		if (unlikely(len > qp->sq_stride - SQ_HDR))
			return false;
	} else {
		n = load_relaxed(&w->num_sge);
		if (n > qp->max_sge ||
		    mem_local(e->hca, qp->pd, w->sge, n, 0, ~0ULL, &t->src, &len, &bad))
			return false;
	}
	t->len = (u32)len;
	return len <= min_u32(min_u32(qp->mtu, t->peer->mtu), qp->max_msg);
}

/* A WRITE's memory: as resp_write(). */
straight_inline bool straight_take_target(struct engine *e, struct straight *t)
{
	const struct hca_qp *peer = t->peer;

	t->rkey = load_relaxed(&t->slot->rkey);
	t->va = load_relaxed(&t->slot->remote_addr);
	return (peer->attr.access & ACC_REMOTE_WRITE) &&
	       !mem_remote(e->hca, peer, peer->pd, t->rkey, t->va, t->len, ACC_REMOTE_WRITE,
			   &t->dst);
}

/* The receive that the request takes: its queue is the QP's own. */
straight_inline bool straight_take_recv(struct straight *t)
{
	const struct hca_qp *peer = t->peer;

	if (peer->srq || peer->resp.rq_cons == rq_posted(t->peer_seg, peer))
		return false;
	t->rwqe = rq_slot(t->peer_seg, peer, peer->resp.rq_cons);
	return true;
}

/* A SEND's memory: as rx_place(). */
straight_inline bool straight_take_list(struct engine *e, struct straight *t)
{
	const struct hca_qp *peer = t->peer;
	u32 n = min_u32(load_relaxed(&t->rwqe->num_sge), peer->max_rsge), bad;
	u64 room;

	if (mem_local(e->hca, peer->pd, t->rwqe->sge, n, ACC_LOCAL_WRITE, t->len, &t->dst, &room,
		      &bad) ||
	    t->len > room)
		return false;
	t->in_cqe = t->in_wqe && t->len <= CQE_INLINE && t->dst.client == peer->client - 1;
	return true;
}

/* Room for the completions, which cq_reserve() then finds without a look at the client's index. */
straight_inline bool straight_has_room(const struct engine *e, const struct straight *t)
{
	const struct hca_cq *scq = &e->hca->cq[t->qp->scq], *rcq = &e->hca->cq[t->peer->rcq];
	u32 sends = t->flags & SEND_SIGNALED ? 1 : 0, recvs = t->rwqe ? 1 : 0;

	if (scq == rcq)
		sends += recvs;
	return (!sends || (!scq->overrun && scq->prod - scq->cons + sends <= scq->depth)) &&
	       (!recvs || (!rcq->overrun && rcq->prod - rcq->cons + recvs <= rcq->depth));
}

straight_inline struct cqe *straight_cqe(struct seg_hdr *seg, const struct hca_cq *cq)
{
	struct cqe *ring = seg_ptr(seg, cq->ring + CQ_HDR);

	return &ring[cq->prod & (cq->depth - 1)];
}

/* Copy the payload, as resp_fetch(). */
straight_inline bool straight_copy(struct engine *e, struct straight *t, struct cqe *cqe)
{
	const struct hca_qp *qp = t->qp, *peer = t->peer;

	if (!t->len)
		return true;
	if (t->in_cqe) {
		memcpy(cqe->data, t->slot->sge, t->len);
		return true;
	}
	if (t->in_wqe) {
		t->src.client = qp->client - 1;
		t->src.kind = MEM_SEG;
		t->src.n = 1;
		t->src.iov[0].addr = (u64)((const char *)t->slot->sge - (const char *)t->seg);
		t->src.iov[0].len = t->len;
	}
	return !e->ops->copy(e->ctx, &t->dst, 0, &t->src, 0, t->len,
			     (u64)peer->qpn << 32 | qp->req.next_psn << 1 | 1);
}

/* The fields of an entry that the two kinds have in common. */
straight_inline void straight_fill_cqe(struct engine *e, const struct hca_cq *cq, u32 qpn,
				       u64 wr_id, u32 slot, struct cqe *cqe)
{
	cqe->wr_id = wr_id;
	cqe->ts = cq_timestamp(e, cq);
	cqe->qpn = qpn;
	cqe->slot = slot;
	cqe->vendor_err = 0;
	cqe->status = WCS_SUCCESS;
}

straight_inline void straight_fill_recv(struct engine *e, const struct straight *t,
					const struct hca_cq *cq, struct cqe *cqe)
{
	const struct hca_qp *peer = t->peer;
	bool imm = straight_has_imm(t->op);

	straight_fill_cqe(e, cq, peer->qpn, t->rwqe->wr_id, peer->resp.rq_cons, cqe);
	cqe->byte_len = t->len;
	cqe->imm = imm ? load_relaxed(&t->slot->imm) : 0;
	cqe->src_qp = peer->attr.dest_qpn;
	cqe->opcode = straight_is_write(t->op) ? WCO_RECV_RDMA_WITH_IMM : WCO_RECV;
	cqe->wc_flags = imm ? WCF_WITH_IMM : 0;
	cqe->flags = t->in_cqe && t->len ? CQE_RECV | CQE_HAS_DATA : CQE_RECV;
}

/* The responder's commit, as resp_advance() and rx_done() make it. */
straight_inline void straight_commit_recv(struct engine *e, struct straight *t, struct cqe *cqe)
{
	struct hca_commit *c = &e->hca->commit;
	struct hca_qp *peer = t->peer;
	struct hca_cq *cq = cqe ? &e->hca->cq[peer->rcq] : NULL;
	struct resp_state *s = &c->resp;

	commit_fill(c, e, peer, peer->state, cq);
	*s = peer->resp;
	s->epsn = psn_add(s->epsn, 1);
	s->msn = (s->msn + 1) & IB_PSN_MASK;
	s->flags &= ~(u32)(RESP_NAK_SENT | RESP_UNEXPECTED);
	s->op = straight_is_write(t->op) ? BOP_WRITE : BOP_SEND;
	s->off = 0;
	s->rx_pkts++;
	s->rx_bytes += t->len;
	if (straight_is_write(t->op)) {
		s->va = t->va;
		s->rkey = t->rkey;
		s->len = t->len;
	}
	if (cqe) {
		s->held = 0;
		s->rq_cons++;
	}
	store_between(&c->valid, COMMIT_RESP);
	peer->resp = *s;
	commit_end(c, e, peer, peer->state, cq, cqe);
	if (cqe && unlikely(cq->chan))
		cq_notify(e, t->peer_seg, cq, t->flags & SEND_SOLICITED);
}

/* The requester's commit: sent, acknowledged, and complete. */
straight_inline void straight_commit_send(struct engine *e, struct straight *t)
{
	struct hca_commit *c = &e->hca->commit;
	struct hca_qp *qp = t->qp;
	struct hca_cq *cq = t->flags & SEND_SIGNALED ? &e->hca->cq[qp->scq] : NULL;
	struct cqe *cqe = cq ? straight_cqe(t->seg, cq) : NULL;
	struct req_state *s = &c->req;

	if (cqe) {
		straight_fill_cqe(e, cq, qp->qpn, load_relaxed(&t->slot->wr_id), qp->req.una, cqe);
		cqe->byte_len = 0;
		cqe->imm = 0;
		cqe->src_qp = 0;
		cqe->opcode = straight_is_write(t->op) ? WCO_RDMA_WRITE : WCO_SEND;
		cqe->wc_flags = 0;
		cqe->flags = 0;
	}
	commit_fill(c, e, qp, qp->state, cq);
	*s = qp->req;
	s->next++;
	s->una++;
	s->next_psn = psn_add(s->next_psn, 1);
	s->una_psn = s->una_first = s->next_psn;
	s->tx_pkts++;
	s->tx_bytes += t->len;
	if ((s32)(s->next + 1 - s->sent) > 0)
		s->sent = s->next;
	req_progress(qp, s);
	store_between(&c->valid, COMMIT_REQ);
	qp->req = *s;
	commit_end(c, e, qp, qp->state, cq, cqe);
	if (cqe && unlikely(cq->chan))
		cq_notify(e, t->seg, cq, false);
}

/* The request and its ACK, and the message. */
straight_inline void straight_count(struct engine *e, const struct straight *t)
{
	const struct hca_path *path = &t->qp->path;

	if (!straight_is_write(t->op)) {
		count_recv(e->hca, t->peer);
		count_send(e->hca, t->qp);
	}
	port_count_packets(e->hca, path->src_dev, path->src_port, MOVE_LOOPED, 1, 0);
	port_count_packets(e->hca, path->src_dev, path->src_port, MOVE_LOOPED, 1, t->len);
}

bool straight_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct straight t;
	struct cqe *cqe = NULL;

	t.qp = qp;
	t.peer = straight_find_peer(e, qp);
	if (!t.peer)
		return false;
	t.seg = seg;
	t.slot = sq_slot(seg, qp, qp->req.next);
	if (!straight_take_wqe(e, &t))
		return false;
	t.peer_seg = seg_of(e, t.peer->client);
	t.rwqe = NULL;
	t.in_cqe = false;
	if (!t.peer_seg || (straight_is_write(t.op) && !straight_take_target(e, &t)) ||
	    (t.op != WR_RDMA_WRITE && !straight_take_recv(&t)) || !straight_has_room(e, &t) ||
	    (!straight_is_write(t.op) && !straight_take_list(e, &t)))
		return false;
	if (t.rwqe)
		cqe = straight_cqe(t.peer_seg, &e->hca->cq[t.peer->rcq]);
	if (!straight_copy(e, &t, cqe))
		return false;
	if (cqe)
		straight_fill_recv(e, &t, &e->hca->cq[t.peer->rcq], cqe);
	straight_commit_recv(e, &t, cqe);
	straight_commit_send(e, &t);
	straight_count(e, &t);
	e->budget_bytes -= t.len;
	e->budget_wrs--;
	return true;
}
