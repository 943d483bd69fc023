/* SPDX-License-Identifier: MIT */
/**
 * DOC: the requester: from posted WQEs to bursts.
 *
 * Theory of operation
 * -------------------
 * req_step() sends the next burst of the WQE at @next: up to qp_chunk() bytes, a whole number of
 * packets unless it ends the message. The new state is committed before the burst goes on the wire,
 * since a wire without delay delivers it, and its ACK, within the call. The ring stays writable to
 * the client, so a WQE is copied before it is checked, and read again when it completes or is
 * retransmitted: a client that changes it in between confuses only itself.
 *
 * A READ of more than qp_read_chunk() bytes is split into several requests: each step of the model
 * is bounded.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/flush.h"
#include "emulator/transport/mw.h"
#include "emulator/transport/pace.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/raw.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/srd.h"
#include "emulator/transport/straight.h"
#include "emulator/transport/tag_match.h"
#include "emulator/transport/wc_fault.h"
#include "emulator/transport/wire.h"
#include "emulator/transport/wqe.h"
#include "emulator/transport/write_batch.h"

#define PSN_WINDOW (1 << 22)

/* In SQD only WQEs that were begun go on; the next one is not read. */
static bool sqd_is_halted(const struct hca_qp *qp, const struct req_state *s)
{
	return unlikely(qp->state == QPS_SQD) && (s32)(s->sent - s->next) <= 0;
}

/* Whether WQE @next may begin, or go on, now. */
static bool wqe_may_send(const struct hca_qp *qp, const struct req_state *s, const struct sq_wqe *w)
{
	if (psn_diff(s->next_psn, s->una_psn) > PSN_WINDOW)
		return false;
	if ((w->send_flags & SEND_FENCE) && s->rd_out)
		return false;
	return !wqe_is_rd(w->opcode) || s->rd_out < qp->attr.max_rd_atomic;
}

/* wc_fault_wqe(), and complete a WQE that fails. */
static int wqe_fault(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		     const struct req_state *s, const struct sq_wqe *w, u64 len)
{
	int ret = wc_fault_wqe(e, qp, s, w, len);

	if (ret == 1)
		req_fail(e, qp, seg, qp->fault.status, CAUSE_FAULT, qp->fault.rule);
	return ret;
}

/*
 * Begin a work request that is executed within the HCA, or as frames. It must be the oldest
 * incomplete one.
 */
static bool req_begin(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct sq_wqe *w)
{
	struct req_state s = qp->req;

	if (s.una != s.next)
		return false;
	memcpy(w, sq_slot(seg, qp, s.next), sizeof(*w));
	if (wqe_allowed(qp->type, w->opcode))
		return likely(!e->ops->fault) || !wqe_fault(e, qp, seg, &s, w, w->total_len);
	req_fail(e, qp, seg, WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	return false;
}

/* The oldest work request is done, and took no PSNs. */
static void req_done(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct req_state s = qp->req;

	s.next++;
	s.next_off = 0;
	s.sent = s.next;
	e->budget_wrs--;
	/* One step: that it was begun leaves no other trace. */
	req_complete(e, qp, seg, &s);
}

/* LOCAL_INV and BIND_MW. Return: as req_step(). */
static bool req_local(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	u32 info = 0, status = WCS_SUCCESS;
	struct sq_wqe w;

	if (!req_begin(e, qp, seg, &w))
		return qp->state == QPS_ERR || qp->state == QPS_SQE;
	if (w.opcode == WR_BIND_MW)
		status = mw_bind(e->hca, qp, &w, &info);
	else if (mw_invalidate(e->hca, qp, qp->pd, w.rkey, mw_turn_sq(qp), true))
		status = WCS_MW_BIND_ERR; /* "memory management operation error" (IBTA 11.6.2) */
	if (status)
		req_fail(e, qp, seg, status, CAUSE_WINDOW, info ? info : w.rkey);
	else
		req_done(e, qp, seg);
	return true;
}

/* One frame. Return: as req_step(). */
static bool req_raw(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct verdict v;
	struct req_state s;
	struct sq_wqe w;
	u64 at = qp->req.next_off;
	int ret;

	if (unlikely(pace_waits(e, qp)))
		return false;
	if (!req_begin(e, qp, seg, &w))
		return qp->state == QPS_ERR || qp->state == QPS_SQE;
	ret = raw_send(e, qp, seg, sq_slot(seg, qp, qp->req.next), &w, &at, &v);
	if (ret >= 0)
		pace_sent(e, qp, w.opcode == WR_TSO ? w.ah + w.remote_qkey : w.total_len);
	if (ret == 1 || ret == -EAGAIN) {
		s = qp->req;
		s.next_off = at;
		s.sent = s.next + 1; /* begun: it goes on in SQD */
		commit_req(e, qp, &s, qp->state, NULL, NULL);
		if (ret == -EAGAIN)
			qp_stall(e, qp);
		return ret == 1;
	}
	if (ret)
		req_fail(e, qp, seg, (u32)-ret, v.cause, v.info);
	else
		req_done(e, qp, seg);
	return true;
}

/* *s moves past @npkts packets with @chunk bytes of its WQE's @total. */
static inline void req_advance(struct req_state *s, const struct sq_wqe *w, u32 npkts, u64 chunk,
			       u64 total)
{
	s->next_psn = psn_add(s->next_psn, npkts);
	s->next_off += chunk;
	s->tx_pkts += npkts;
	s->tx_bytes += chunk;
	if (wqe_is_rd(w->opcode))
		s->rd_out++;
	if (s->next_off == total) {
		s->next++;
		s->next_off = 0;
	}
	if ((s32)(s->next + 1 - s->sent) > 0)
		s->sent = s->next_off ? s->next + 1 : s->next;
}

/* Send the next burst of the WQE at @next, which is posted. Return: as req_step(). */
static __attribute__((noinline)) bool req_next(struct engine *e, struct hca_qp *qp,
					       struct seg_hdr *seg)
{
	struct req_state old = qp->req, s = old;
	const struct sq_wqe *slot;
	struct sq_wqe w;
	struct hca_mem mem;
	struct burst b;
	struct verdict v;
	u64 total, chunk;
	int fault;

	if (unlikely(sq_slot(seg, qp, s.next)->opcode == WR_LOCAL_INV ||
		     sq_slot(seg, qp, s.next)->opcode == WR_BIND_MW))
		return req_local(e, qp, seg);
	if (unlikely(qp->type == QPT_RAW_PACKET))
		return req_raw(e, qp, seg);
	slot = sq_slot(seg, qp, s.next);
	memcpy(&w, slot, sizeof(w));
	v = wqe_check(e, qp, seg, slot, &w, &mem, &total);
	if (v.status) {
		/* The WQEs before it complete first. */
		if (s.una != s.next)
			return false;
		req_fail(e, qp, seg, v.status, v.cause, v.info);
		return true;
	}
	if (unlikely(e->ops->fault)) {
		fault = wqe_fault(e, qp, seg, &s, &w, total);
		if (fault)
			return fault > 0;
	}
	if (!wqe_may_send(qp, &s, &w))
		return false;
	if (wqe_ops[w.opcode].op == BOP_ATOMIC_REQ)
		total = 0;
	if (s.next_off > total)
		s.next_off = total; /* the client shortened a WQE under way */
	/* A retried READ is split at the same offsets as before. */
	chunk = qp_chunk_len(qp, w.opcode == WR_RDMA_READ ? qp_read_chunk(qp) : qp_chunk(qp),
			     s.next_off, total);
	wqe_burst(qp, &s, &w, &mem, total, chunk, &b);
	if (unlikely(e->ops->fault))
		wc_fault_mark_burst(qp, &s, &b);
	if (unlikely(qp->type == QPT_UD) && ud_address(e, qp, &w, &b)) {
		req_fail(e, qp, seg, WCS_LOC_QP_OP_ERR, CAUSE_AH, w.ah);
		return true;
	}
	req_advance(&s, &w, b.npkts, chunk, total);
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	e->budget_bytes -= (s64)chunk;
	e->budget_wrs--;
	e->held = false;
	if (wire_send(e, &b) == -EAGAIN) {
		commit_req(e, qp, &old, qp->state, NULL, NULL);
		if (!e->held)
			qp_stall(e, qp);
		return false;
	}
	/* There are no ACKs: a message that was sent is complete. */
	if (unlikely(!qp_reliable(qp)) && s.next != old.next)
		req_complete(e, qp, seg, &s);
	return true;
}

/* Several WRITEs wait, none is under way, and the wire neither delays nor drops. */
static bool req_may_batch(const struct engine *e, const struct hca_qp *qp, struct seg_hdr *seg,
			  u32 posted)
{
	const struct req_state *s = &qp->req;

	return posted - s->next > 1 && s->una == s->next && !s->next_off && !e->ops->wire &&
	       load_relaxed(&sq_slot(seg, qp, s->next)->opcode) == WR_RDMA_WRITE;
}

/* Send the next burst. Return: whether it is worth while to call again. */
static inline bool req_step(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	u32 posted = sq_posted(seg, qp);

	if (qp->req.next == posted || sqd_is_halted(qp, &qp->req))
		return false;
	if ((qp->req.flags & REQ_RNR_WAIT) && !wc_fault_posted(e, qp, posted))
		return false;
	if (unlikely(req_may_batch(e, qp, seg, posted)) && write_batch_send(e, qp, seg, posted))
		return true;
	return req_next(e, qp, seg);
}

void req_rewind(struct req_state *s, u32 mtu)
{
	s->next = s->una;
	s->next_psn = s->una_psn;
	s->next_off = (u64)((s->una_psn - s->una_first) & IB_PSN_MASK) * mtu;
	s->rd_out = 0;
}

void req_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	      u32 info)
{
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	struct req_state s = qp->req;
	const struct sq_wqe *w;
	struct cqe *cqe;

	if (unlikely(req_own(&s))) {
		rndv_fail(e, qp, seg, status, cause, info);
		return;
	}
	w = sq_slot(seg, qp, s.una);
	journal_send(e, qp, w, status, cause, info);
	cqe = cq_reserve(e, seg, cq);
	if (cqe)
		cqe_fill_send(e, qp, w, s.una, status, cqe);
	s.una++;
	s.next = s.una;
	s.next_off = 0;
	s.next_psn = s.una_psn = s.una_first;
	qp_timer_arm(e, qp, 0);
	/* A send error of an unreliable QP leaves its receive side alone (IBTA 10.3.1.6). */
	commit_req(e, qp, &s, qp_reliable(qp) ? QPS_ERR : QPS_SQE, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

/* The ACK timeout has passed: retransmit, or give up. */
static void ack_timeout(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	struct req_state s = qp->req;

	dev_count(e->hca, qp, CNT_TIMEOUT);
	if (!s.retry) {
		dev_count(e->hca, qp, CNT_RETRY_EXC);
		req_fail(e, qp, seg, WCS_RETRY_EXC_ERR, CAUSE_RETRY, qp->attr.retry_cnt);
		return;
	}
	s.retry--;
	s.flags &= ~(u32)REQ_RESENT;
	qp->n_retry++;
	dev_count(e->hca, qp, CNT_RETRY);
	journal_retry(e, qp, CAUSE_TIMEOUT, qp->attr.timeout);
	req_rewind(&s, qp->mtu);
	commit_req(e, qp, &s, qp->state, NULL, NULL);
}

void req_timeout(struct engine *e, struct hca_qp *qp)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	struct req_state s = qp->req;

	if (!seg || (qp->state != QPS_RTS && qp->state != QPS_SQD))
		return;
	if (unlikely(qp->type == QPT_SRD)) {
		srd_timeout(e, qp, seg);
		return;
	}
	if (s.flags & REQ_RNR_WAIT) {
		s.flags &= ~(u32)REQ_RNR_WAIT;
		commit_req(e, qp, &s, qp->state, NULL, NULL);
	} else if (s.next_psn != s.una_psn) {
		ack_timeout(e, qp, seg);
	}
}

static void sqd_check_drained(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;

	if (s.next_psn != s.una_psn || (s.flags & REQ_DRAINED) || (s32)(s.sent - s.next) > 0 ||
	    req_own(&s) || (qp->type == QPT_SRD && !srd_is_idle(qp)))
		return;
	if (qp->attr.en_sqd_async_notify)
		qp_event_raise(e, qp, EV_SQ_DRAINED, CAUSE_NONE, 0);
	s.flags |= REQ_DRAINED;
	commit_req(e, qp, &s, qp->state, NULL, NULL);
}

/* The ACK timeout counts from when the packet left its port. */
static u64 ack_timer_start(struct engine *e, const struct hca_qp *qp)
{
	u64 now = e->ops->now(e->ctx);

	return unlikely(qp->path.via) && qp->left_at > now ? qp->left_at : now;
}

/* Arm the ack timer while something is unacknowledged (IBTA 9.9.2.1.1). */
static inline void ack_timer_arm(struct engine *e, struct hca_qp *qp)
{
	const struct req_state *s = &qp->req;

	if (unlikely(qp->stalled || (s->flags & REQ_RNR_WAIT)))
		return;
	if (unlikely(qp->ack_due))
		relay_resumed(e, qp);
	if (likely(s->next_psn == s->una_psn) || !qp->attr.timeout || !qp_reliable(qp))
		qp->deadline = 0;
	else if (!qp->deadline)
		qp_timer_arm(e, qp, ack_timer_start(e, qp) + qp_ack_timeout_ns(e->hca, qp));
}

/* Run a QP that was stalled, or whose segment is not at hand. Return: false: it cannot run here. */
static bool req_resume(struct engine *e, struct hca_qp *qp, const struct seg_hdr *seg)
{
	if (!seg || e->self != ENGINE_FABRIC) {
		/* A QP in an RNR wait has its timer. */
		if (!(qp->req.flags & REQ_RNR_WAIT) || !qp->deadline)
			qp_stall(e, qp);
		return false;
	}
	/* The timer of a stalled QP was not its ACK timeout. */
	if (!(qp->req.flags & REQ_RNR_WAIT))
		qp_timer_arm(e, qp, 0);
	qp->stalled = 0;
	return true;
}

static inline bool qp_may_request(const struct hca_qp *qp)
{
	return likely(qp->state == QPS_RTS) || qp->state == QPS_SQD;
}

/** enum turn - what remains of a QP's send side after a step. */
enum turn {
	TURN_STOP, /* the next step has to wait */
	TURN_MORE, /* it is worth while to go on */
	TURN_DONE, /* nothing: all that was posted is complete, and no timer runs */
};

static inline enum turn turn_of(bool more)
{
	return more ? TURN_MORE : TURN_STOP;
}

/*
 * A step of a QP of which nothing is outstanding: straight_is_ready(), or with @other
 * straight_is_other_ready(). Inlined for each.
 */
static inline __attribute__((always_inline)) enum turn
req_step_ready(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, bool other)
{
	u32 n = sq_waiting(seg, qp), posted = qp->req.next + n;

	if (unlikely(!n))
		return TURN_STOP;
	if (unlikely(n > 1) && req_may_batch(e, qp, seg, posted) &&
	    write_batch_send(e, qp, seg, posted))
		return TURN_MORE;
	if (likely(other ? straight_send_other(e, qp, seg) : straight_send(e, qp, seg)))
		return likely(n == 1) ? TURN_DONE : TURN_MORE;
	return turn_of(req_next(e, qp, seg));
}

/* One step of the QP's send side. */
static inline enum turn req_turn(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	if (likely(straight_is_ready(e, qp)))
		return req_step_ready(e, qp, seg, false);
	if (straight_is_other_ready(e, qp))
		return req_step_ready(e, qp, seg, true);
	if (unlikely(qp->type == QPT_SRD) && qp_may_request(qp))
		return turn_of(srd_step(e, qp, seg));
	if (likely(qp_may_request(qp)))
		return turn_of(unlikely(rndv_turn(qp)) ? rndv_step(e, qp) : req_step(e, qp, seg));
	return turn_of((qp->state == QPS_ERR || qp->state == QPS_SQE) && !qp_flush(e, qp, seg));
}

/* The QP's turn ends. @more: its budget did */
static __attribute__((noinline)) void req_end_turn(struct engine *e, struct hca_qp *qp, bool more)
{
	if (unlikely(more)) {
		engine_ring(e, qp->client - 1, qp_slot(qp));
		e->kick = true;
	}
	if (unlikely(qp->type == QPT_SRD))
		srd_timer_arm(e, qp);
	else if (likely(qp_may_request(qp)))
		ack_timer_arm(e, qp);
	if (unlikely(qp->state == QPS_SQD))
		sqd_check_drained(e, qp);
}

void req_run_qp(struct engine *e, u32 slot)
{
	struct hca_qp *qp = &e->hca->qp[slot];
	enum turn turn = TURN_MORE;
	struct seg_hdr *seg;

	keep_pointer(qp);
	if (!qp->client)
		return;
	seg = seg_of(e, qp->client);
	if (unlikely(!seg || qp->stalled) && !req_resume(e, qp, seg))
		return;
	if (e->self == ENGINE_FABRIC)
		store_relaxed(&qp->n_fabric, qp->n_fabric + 1);
	e->hca->cur_qp = slot + 1;
	while (turn == TURN_MORE && budget_left(e))
		turn = req_turn(e, qp, seg);
	e->hca->cur_qp = 0;
	if (unlikely(turn != TURN_DONE))
		req_end_turn(e, qp, turn == TURN_MORE);
}
