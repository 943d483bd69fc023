/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions that fail on purpose, and deferred WQEs: see wc_fault.h.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/wc_fault.h"

u8 wc_fault_nak(u32 status)
{
	switch (status) {
	case WCS_REM_INV_REQ_ERR:
		return AETH_NAK_INV_REQ;
	case WCS_REM_ACCESS_ERR:
		return AETH_NAK_REM_ACCESS;
	case WCS_REM_OP_ERR:
		return AETH_NAK_REM_OP;
	default:
		return 0;
	}
}

/* Ask about WQE @s->next. */
static void wc_fault_ask(struct engine *e, struct hca_qp *qp, const struct req_state *s,
			 const struct sq_wqe *w, u64 len)
{
	struct hca_work work = {
		.qp = qp,
		.client = qp->client - 1,
		.opcode = w->opcode,
		.wr_id = w->wr_id,
		.len = len,
	};
	u32 status = e->ops->fault(e->ctx, &work);

	qp->fault.wqe = s->next + 1;
	qp->fault.rule = work.rule;
	qp->fault.status = (u8)status;
	qp->fault.nak = wc_fault_nak(status);
	qp->fault.late = status == WCS_BAD_RESP_ERR;
	qp->fault.held_until = work.hold_ns ? e->ops->now(e->ctx) + work.hold_ns : 0;
	qp->fault.held_posts = work.hold_posts;
}

/* Whether so many WQEs were posted after @s->next as the rule asks for. */
static bool wqe_is_passed(const struct hca_qp *qp, const struct req_state *s, u32 posted)
{
	return qp->fault.held_posts && posted - s->next > qp->fault.held_posts;
}

/* Whether WQE @s->next, which was asked about, must not begin yet. */
static bool wqe_is_held(struct engine *e, struct hca_qp *qp, const struct req_state *s)
{
	struct hca_qp_fault *f = &qp->fault;
	struct req_state wait = *s;

	if (likely(!f->held_until))
		return false;
	if (e->ops->now(e->ctx) >= f->held_until ||
	    wqe_is_passed(qp, s, sq_posted(seg_of(e, qp->client), qp))) {
		f->held_until = 0;
		return false;
	}
	/* Until then the timer is that of the packets before it, whose end runs the QP again. */
	if (s->una != s->next)
		return true;
	wait.flags |= REQ_RNR_WAIT;
	qp_timer_arm(e, qp, f->held_until);
	commit_req(e, qp, &wait, qp->state, NULL, NULL);
	return true;
}

bool wc_fault_posted(struct engine *e, struct hca_qp *qp, u32 posted)
{
	struct req_state s = qp->req;

	if (qp->fault.wqe != s.next + 1 || !qp->fault.held_until || !wqe_is_passed(qp, &s, posted))
		return false;
	s.flags &= ~(u32)REQ_RNR_WAIT;
	qp_timer_arm(e, qp, 0);
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	return true;
}

/* Whether a WQE before *s->next is on its way to its end. */
static bool wc_fault_is_before(const struct hca_qp *qp, const struct req_state *s)
{
	u32 doomed = qp->fault.wqe - 1;

	return (qp->fault.nak || qp->fault.late) && doomed - s->una < s->next - s->una;
}

static void wc_fault_count(struct engine *e, const struct hca_qp *qp, u32 status)
{
	if (status == WCS_RETRY_EXC_ERR)
		dev_count(e->hca, qp, CNT_RETRY_EXC);
	else if (status == WCS_RNR_RETRY_EXC_ERR)
		dev_count(e->hca, qp, CNT_RNR_RETRY_EXC);
}

int wc_fault_wqe(struct engine *e, struct hca_qp *qp, const struct req_state *s,
		 const struct sq_wqe *w, u64 len)
{
	struct hca_qp_fault *f = &qp->fault;

	if (wc_fault_is_before(qp, s))
		return -EAGAIN;
	if (f->wqe != s->next + 1) {
		/* One that was begun was asked about, or began before there was a rule. */
		if (s->next_off || (s32)(s->sent - s->next) > 0)
			return 0;
		wc_fault_ask(e, qp, s, w, len);
	}
	if (wqe_is_held(e, qp, s))
		return -EAGAIN;
	if (!f->status || f->nak || f->late)
		return 0;
	if (s->una != s->next)
		return -EAGAIN;
	wc_fault_count(e, qp, f->status);
	if (f->status == WCS_FATAL_ERR)
		qp_event_raise(e, qp, EV_QP_FATAL, CAUSE_FAULT, f->rule);
	return 1;
}

void wc_fault_mark_burst(const struct hca_qp *qp, const struct req_state *s, struct burst *b)
{
	if (qp->fault.wqe != s->next + 1)
		return;
	b->aeth = qp->fault.nak;
	b->rule = qp->fault.rule;
}

u32 wc_fault_recv(struct engine *e, struct hca_qp *qp, const struct rx *rx, const struct burst *b,
		  u64 wr_id, u64 room)
{
	struct hca_qp_fault *f = &qp->fault;
	struct hca_work work = {
		.qp = qp,
		.client = rx->owner - 1,
		.recv = true,
		.wr_id = wr_id,
		.len = room,
	};

	if (!(b->flags & BF_FIRST) && b->op == BOP_SEND)
		return 0;
	/* It may be offered again, until its memory can be reached. */
	if (f->recv_asked && f->recv_psn == b->psn && f->recv_from == b->src_qpn)
		return f->recv_status;
	f->recv_status = (u8)e->ops->fault(e->ctx, &work);
	f->recv_rule = work.rule;
	f->recv_psn = b->psn;
	f->recv_from = b->src_qpn;
	f->recv_asked = true;
	return f->recv_status;
}

bool wc_fault_recv_error(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
			 const struct rq_wqe *w)
{
	u32 status = wc_fault_recv(e, qp, rx, b, w->wr_id, w->total_len);

	if (status)
		rx_error(e, qp, rx, b, status, CAUSE_FAULT, qp->fault.recv_rule);
	return status;
}
