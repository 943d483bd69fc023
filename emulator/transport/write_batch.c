/* SPDX-License-Identifier: MIT */
/**
 * DOC: batches: small RDMA WRITEs of one QP that go over the wire without delay together.
 *
 * Reaching into another process costs about as much for one small piece as for many. So when
 * several small WRITEs wait, they become one copy of many pieces, one step of the responder, and
 * one ACK for all of them (an ACK acknowledges everything before it, IBTA 9.7.5.1.2). The pieces
 * are copied in order, and each lies within a cache line, so that none is seen before an older one
 * or in part. Whatever is not that simple takes the ordinary way, burst by burst.
 *
 * Pinning the page of each entry of the target's list costs the kernel more than copying it. So
 * adjacent pieces become one entry, where the source's entries still make the kernel copy them one
 * by one. The last piece stays apart: a copy lets the last word of an entry of several lines land
 * by itself (vmcopy.c).
 *
 * write_batch_send() has both ends at hand; write_batch_input() has the target's, of WRITEs from
 * another fabric.
 */
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/ring.h"
#include "emulator/transport/wire.h"
#include "emulator/transport/wqe.h"
#include "emulator/transport/write_batch.h"

static bool av_names_qp(const struct hca_av *av, const struct hca_qp *qp)
{
	return av->dst_dev == qp->dev && av->dst_port == qp->attr.port_num;
}

/* Whether the responder takes what comes at @psn without a word. */
static bool batch_peer_ready(struct engine *e, const struct hca_qp *qp, u32 psn)
{
	/* In RTR the first packet ever raises COMM_EST: not here. */
	if (qp->state != QPS_RTS && !(qp->state == QPS_RTR && (qp->resp.flags & RESP_COMM_EST)))
		return false;
	if (!(qp->attr.access & ACC_REMOTE_WRITE))
		return false;
	/* A copy through a helper takes several tries, and each must ask for the same. */
	if (e->self == ENGINE_FABRIC && !e->hca->client[qp->client - 1].fabric_reach)
		return false;
	if (e->hca->watched)
		return false;
	return qp->resp.epsn == psn && !(qp->resp.flags & RESP_IN_MSG);
}

/* The peer, if it would take these WRITEs without a word. */
static struct hca_qp *batch_find_peer(struct engine *e, const struct hca_qp *qp)
{
	struct hca *hca = e->hca;
	struct hca_qp *peer = hca_qp_by_num(hca, qp->attr.dest_qpn);

	if (hca->watched || qp->path.via)
		return NULL;
	if (!peer || peer->type != QPT_RC || peer->attr.dest_qpn != qp->qpn ||
	    !pkeys_match(qp->path.pkey, peer->path.pkey) || !av_names_qp(&qp->attr.av, peer) ||
	    !av_names_qp(&peer->attr.av, qp))
		return NULL;
	if (e->self == ENGINE_FABRIC && !hca->client[qp->client - 1].fabric_reach)
		return NULL;
	return batch_peer_ready(e, peer, qp->req.next_psn) ? peer : NULL;
}

/* Whether a copy takes @src entry by entry. All other memory is read into a buffer before. */
static bool mem_is_at_hand(const struct engine *e, const struct hca_mem *src)
{
	return src->kind == MEM_SEG || src->client == HCA_PROC || src->client == e->self;
}

/* Where a piece of @src goes, added to @dst. Return: false: it is for the ordinary way. */
static bool batch_add_target(struct engine *e, struct hca_qp *peer, u32 rkey, u64 va, u64 len,
			     const struct hca_mem *src, struct hca_mem *dst)
{
	struct hca_iov *last = dst->n ? &dst->iov[dst->n - 1] : NULL;
	struct hca_mem to;

	if (mem_remote(e->hca, peer, peer->pd, rkey, va, len, ACC_REMOTE_WRITE, &to))
		return false;
	if (!to.n || to.client != dst->client)
		return false;
	if (to.iov[0].addr / 64 != (to.iov[0].addr + len - 1) / 64)
		return false;
	if (last && last->addr + last->len == to.iov[0].addr && mem_is_at_hand(e, src))
		last->len += len;
	else
		dst->iov[dst->n++] = to.iov[0];
	return true;
}

/* The last piece, of @len bytes, gets an entry of its own. */
static void batch_split_last(struct hca_mem *dst, u64 len)
{
	struct hca_iov *last = &dst->iov[dst->n - 1];

	if (last->len == len)
		return;
	last->len -= len;
	/* There is room: they have become fewer entries than pieces. */
	dst->iov[dst->n++] = (struct hca_iov){ .addr = last->addr + last->len, .len = len };
}

/* The responder has executed @n of them, of @total bytes. */
static void batch_commit_recv(struct engine *e, struct hca_qp *peer, u32 n, u64 total)
{
	struct resp_state r = peer->resp;

	r.epsn = psn_add(r.epsn, n);
	r.msn = (r.msn + n) & IB_PSN_MASK;
	r.flags &= ~(u32)RESP_NAK_SENT;
	r.rx_pkts += n;
	r.rx_bytes += total;
	commit_resp(e, peer, &r, peer->state);
	e->budget_wrs -= (s32)n;
	e->budget_bytes -= (s64)total;
}

static bool batch_add_wqe(struct engine *e, struct hca_qp *qp, struct hca_qp *peer,
			  struct seg_hdr *seg, u32 index, struct hca_mem *src, struct hca_mem *dst)
{
	const struct sq_wqe *slot = sq_slot(seg, qp, index);
	struct hca_mem from;
	struct sq_wqe w;
	u64 len;

	memcpy(&w, slot, sizeof(w));
	if (w.opcode != WR_RDMA_WRITE || (w.send_flags & SEND_FENCE))
		return false;
	if (!(w.hw & SQ_HW_INLINE) && w.num_sge != 1)
		return false;
	if (wqe_check(e, qp, seg, slot, &w, &from, &len).status || !len ||
	    len > WRITE_BATCH_PIECE || from.n != 1)
		return false;
	if (from.client != src->client || (src->n && from.kind != src->kind))
		return false;
	src->kind = from.kind;
	if (!batch_add_target(e, peer, w.rkey, w.remote_addr, len, src, dst))
		return false;
	src->iov[src->n++] = from.iov[0];
	return true;
}

bool write_batch_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 posted)
{
	struct req_state old = qp->req, s = old;
	struct hca_qp *peer = batch_find_peer(e, qp);
	struct hca_mem src, dst;
	u64 total = 0;

	if (!peer || qp->state != QPS_RTS || qp->type != QPT_RC)
		return false;
	src.client = qp->client - 1;
	src.n = 0;
	dst.client = peer->client - 1;
	dst.kind = MEM_VM;
	dst.n = 0;
	while (src.n < WRITE_BATCH_MAX && s.next + src.n != posted &&
	       batch_add_wqe(e, qp, peer, seg, s.next + src.n, &src, &dst))
		total += src.iov[src.n - 1].len;
	if (src.n < 2)
		return false;
	batch_split_last(&dst, src.iov[src.n - 1].len);
	s.next += src.n;
	s.sent = s.next;
	s.next_psn = psn_add(s.next_psn, src.n);
	s.tx_pkts += src.n;
	s.tx_bytes += total;
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	/* An error is found again, and dealt with, by the ordinary way. */
	if (e->ops->copy(e->ctx, &dst, 0, &src, 0, total, (u64)qp->qpn << 32 | old.next_psn << 1)) {
		commit_req(e, qp, &old, qp->state, NULL, NULL);
		return false;
	}
	port_count_between(e->hca, &qp->path, src.n, total);
	batch_commit_recv(e, peer, src.n, total);
	wire_send_ack(e, peer, peer->resp.epsn - 1, AETH_ACK);
	return true;
}

bool write_batch_input(struct engine *e, const struct burst_batch *t)
{
	const struct burst *b = &t->first;
	struct hca_qp *qp = hca_qp_by_num(e->hca, b->dst_qpn);
	struct hca_mem dst;
	u64 total = 0;
	u32 i;

	if (!t->n || !qp || qp->type != QPT_RC || !qp_addressed(qp, b) || !seg_of(e, qp->client) ||
	    !batch_peer_ready(e, qp, b->psn))
		return false;
	dst.client = qp->client - 1;
	dst.kind = MEM_VM;
	dst.n = 0;
	for (i = 0; i < t->n; i++) {
		if (!batch_add_target(e, qp, t->piece[i].rkey, t->piece[i].va, t->piece[i].len,
				      &t->src, &dst))
			return false;
		total += t->piece[i].len;
	}
	batch_split_last(&dst, t->piece[t->n - 1].len);
	/* An error is found again, and dealt with, by the ordinary way. */
	if (e->ops->copy(e->ctx, &dst, 0, &t->src, 0, total, (u64)qp->qpn << 32 | b->psn << 1 | 1))
		return false;
	batch_commit_recv(e, qp, t->n, total);
	port_count_packets(e->hca, qp->dev, qp->attr.port_num, MOVE_RECEIVED, t->n, total);
	if (b->flags & BF_ACK_REQ)
		wire_send_ack(e, qp, qp->resp.epsn - 1, AETH_ACK);
	return true;
}
