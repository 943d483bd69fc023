/* SPDX-License-Identifier: MIT */
/**
 * DOC: where messages find their receives: a QP's own queue, or a shared one.
 *
 * Theory of operation
 * -------------------
 * An own queue is taken from in order and its index moves when the message has ended. From a shared
 * one, a message takes its receive with its first packet, since other QPs go on taking in between;
 * the QP's state keeps which one it holds until the message ends. Taking and the QP's new state are
 * one commit.
 *
 * The receive's memory, completion queue and key checks are those of the queue's owner, who for XRC
 * is another process than the QP's.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/transport/rxq.h"

bool rx_open_srq(struct engine *e, struct hca_qp *qp, struct hca_srq *srq, struct rx *rx)
{
	struct hca *hca = e->hca;

	rx->srq = srq;
	rx->wq = NULL;
	rx->name = cqe_owner((u32)(srq - hca->srq), srq->gen);
	rx->owner = srq->client;
	rx->pd = srq->pd;
	rx->max_sge = srq->max_sge;
	rx->cq = &hca->cq[srq->type == SRQ_BASIC ? qp->rcq : srq->cq - 1];
	rx->seg = seg_of(e, rx->owner);
	/* A basic SRQ's completions go to the QP's CQ, which is its owner's too. */
	return rx->seg && rx->cq->client == rx->owner;
}

bool rx_open_wq(struct engine *e, struct hca_wq *wq, struct rx *rx)
{
	rx->srq = NULL;
	rx->wq = wq;
	rx->name = cqe_owner((u32)(wq - e->hca->wq), wq->gen);
	rx->owner = wq->client;
	rx->pd = wq->pd;
	rx->max_sge = wq->max_sge;
	rx->cq = &e->hca->cq[wq->cq];
	rx->seg = seg_of(e, rx->owner);
	return rx->seg;
}

static const struct rq_wqe *wq_next(struct seg_hdr *seg, const struct hca_wq *wq)
{
	const struct wq_ctl *ctl = seg_ptr(seg, wq->ring);
	u32 posted = load_acquire(&ctl->prod);

	if (posted == wq->cons || posted - wq->cons > wq->depth)
		return NULL;
	return seg_ptr(seg, wq->ring + sizeof(struct wq_ctl) +
				    (u64)(wq->cons & (wq->depth - 1)) * wq->stride);
}

const struct rq_wqe *rx_next_shared(const struct rx *rx, const struct resp_state *s, u32 *slot)
{
	const struct hca_srq *srq = rx->srq;

	if (rx->wq) {
		*slot = rx->wq->cons;
		return wq_next(rx->seg, rx->wq);
	}
	if (unlikely(s->held & HELD_TAG))
		return NULL;
	if (s->held) {
		*slot = s->held - 1;
		return srq_slot(rx->seg, srq, *slot);
	}
	if (srq->cons == srq_posted(rx->seg, srq))
		return NULL;
	*slot = srq_next_slot(rx->seg, srq);
	return srq_slot(rx->seg, srq, *slot);
}

static void srq_event(struct engine *e, struct hca_srq *srq, u32 event)
{
	struct chan_event ev = {
		.type = event,
		.kind = ELEM_SRQ,
		.handle = (u32)(srq - e->hca->srq),
		.gen = srq->gen,
	};

	chan_push(e, srq->client, srq->async_chan, &ev);
}

/* A receive of the WQ ends and cannot say so: its CQ is full. */
static void wq_fatal_event(struct engine *e, const struct rx *rx)
{
	const struct hca_wq *wq = rx->wq;
	const struct chan_event ev = {
		.type = EV_WQ_FATAL,
		.kind = ELEM_WQ,
		.handle = (u32)(wq - e->hca->wq),
		.gen = wq->gen,
	};

	journal_client(e, wq->client, wq->dev, JRN_EVENT, EV_WQ_FATAL, CAUSE_CQ_OVERRUN, wq->cq);
	chan_push(e, wq->client, wq->async_chan, &ev);
}

/*
 * An SRQ with a CQ of its own goes down with that: whatever comes for it from now on has no way to
 * be reported. Said once.
 */
void rx_lost(struct engine *e, struct hca_qp *qp, const struct rx *rx)
{
	struct hca_srq *srq = rx->srq;

	cq_entry_lost(e, qp, rx->cq);
	if (!srq || !srq->cq || srq->dead || rx->cq->ignore_overrun)
		return;
	journal_client(e, rx->owner, srq->dev, JRN_EVENT, EV_SRQ_ERR, CAUSE_CQ_OVERRUN,
		       (u32)(rx->cq - e->hca->cq));
	srq_event(e, srq, EV_SRQ_ERR);
	srq->dead = 1;
}

void rx_taken(struct engine *e, const struct rx *rx)
{
	struct hca_srq *srq = rx->srq;

	if (!srq->limit || srq_posted(rx->seg, srq) - srq->cons >= srq->limit)
		return;
	journal_client(e, srq->client, srq->dev, JRN_EVENT, EV_SRQ_LIMIT_REACHED, CAUSE_LIMIT,
		       srq->limit);
	srq_event(e, srq, EV_SRQ_LIMIT_REACHED);
	srq->limit = 0;
}

void wq_commit(struct engine *e, const struct rx *rx, u32 state, struct cqe *cqe)
{
	if (unlikely(!cqe && rx->wq->state != WQS_ERR))
		wq_fatal_event(e, rx);
	commit_wq(e, rx->wq, rx->wq->cons + 1, state, rx->cq, cqe);
	if (cqe && rx->cq->chan)
		cq_notify(e, rx->seg, rx->cq, state != WQS_RDY);
}

void rx_done(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s,
	     const struct burst *b, const struct rx_wc *wc, struct cqe *cqe)
{
	rx_done_fast(e, qp, rx, s, b, wc, cqe);
}

/* rx_fail() where the receive is a tag's. */
static void rx_fail_tag(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s,
			u32 status, u32 qp_state)
{
	struct hca_tag *tag = tm_held_tag(e->hca, s);
	struct cqe *cqe = cq_reserve(e, rx->seg, rx->cq);

	if (cqe)
		tag_cqe(e, qp, tag, status, 0, cqe);
	s->held = 0;
	commit_tag(e, tag, TAG_DONE);
	commit_recv(e, qp, s, qp_state, rx->cq, cqe, NULL);
	if (cqe && rx->cq->chan)
		cq_notify(e, rx->seg, rx->cq, true);
}

void rx_fail(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s, u32 status,
	     u32 qp_state)
{
	struct hca_srq *take = NULL;
	struct cqe *cqe = NULL;
	const struct rq_wqe *w;
	u32 slot;

	if (unlikely(status && (s->held & HELD_TAG))) {
		rx_fail_tag(e, qp, rx, s, status, qp_state);
		return;
	}
	w = status ? rx_next(rx, qp, s, &slot) : NULL;
	if (w) {
		cqe = cq_reserve(e, rx->seg, rx->cq);
		if (cqe)
			cqe_fill_qp(e, rx, qp, w, slot, status, cqe);
		take = rx_end(rx, s);
	}
	commit_recv(e, qp, s, qp_state, rx->cq, cqe, take);
	if (cqe && rx->cq->chan)
		cq_notify(e, rx->seg, rx->cq, true);
	if (take)
		rx_taken(e, rx);
}

void wq_flush(struct engine *e, struct hca_wq *wq)
{
	const struct rq_wqe *w;
	struct cqe *cqe;
	struct rx rx;
	u32 left = wq->depth;

	if (!rx_open_wq(e, wq, &rx))
		return; /* its owner has gone */
	while (left-- && (w = wq_next(rx.seg, wq))) {
		cqe = cq_reserve(e, rx.seg, rx.cq);
		if (cqe)
			cqe_fill_recv(e, &rx, wq->wqn, 0, w, wq->cons, WCS_WR_FLUSH_ERR, cqe);
		wq_commit(e, &rx, WQS_ERR, cqe);
	}
}

static void wq_refuse_recv(struct engine *e, struct rx *rx)
{
	const struct rq_wqe *w = wq_next(rx->seg, rx->wq);
	struct cqe *cqe = w ? cq_reserve(e, rx->seg, rx->cq) : NULL;

	if (cqe)
		cqe_fill_recv(e, rx, rx->wq->wqn, 0, w, rx->wq->cons, WCS_LOC_PROT_ERR, cqe);
	if (w)
		wq_commit(e, rx, WQS_ERR, cqe);
	wq_flush(e, rx->wq);
}

void rx_journal(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
		u32 status, u32 cause, u32 info)
{
	const u32 held = qp->resp.held;
	const struct hca_tag *tag = held & HELD_TAG ? &e->hca->tag[held & (HCA_MAX_TAG - 1)] : NULL;
	const struct rq_wqe *w = NULL;
	u32 slot;

	if (!tag)
		w = rx->wq ? wq_next(rx->seg, rx->wq) : rx_next(rx, qp, &qp->resp, &slot);
	journal_recv(e, qp, b, tag ? &tag->wr_id : w ? &w->wr_id : NULL, status, cause, info);
}

void rx_error(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b, u32 status,
	      u32 cause, u32 info)
{
	struct resp_state s = qp->resp;

	rx_journal(e, qp, rx, b, status, cause, info);
	if (rx->wq) {
		wq_refuse_recv(e, rx);
		return;
	}
	s.flags &= ~(u32)RESP_IN_MSG;
	rx_fail(e, qp, rx, &s, status, QPS_ERR);
	engine_ring(e, qp->client - 1, qp_slot(qp));
}

struct hca_srq *rx_holds(struct hca *hca, const struct hca_qp *qp)
{
	u32 i = qp->held_srq;
	struct hca_srq *srq = i && i <= HCA_MAX_SRQ ? &hca->srq[i - 1] : NULL;

	return qp->resp.held && srq && srq->client && srq->gen == qp->held_gen ? srq : NULL;
}

void rx_give_back(struct engine *e, struct hca_qp *qp)
{
	struct hca_srq *srq = rx_holds(e->hca, qp);
	struct resp_state s = qp->resp;
	const struct rq_wqe *w;
	struct cqe *cqe = NULL;
	struct rx rx;
	u32 slot;

	if (!srq || (s.held & HELD_TAG) || !rx_open(e, qp, srq, &rx))
		return;
	w = rx_next(&rx, qp, &s, &slot);
	/* Without room the slot is lost, but the CQ does not overrun. */
	if (w && cq_has_room(rx.seg, rx.cq))
		cqe = cq_reserve(e, rx.seg, rx.cq);
	if (!cqe)
		return;
	cqe_fill_qp(e, &rx, qp, w, slot, WCS_WR_FLUSH_ERR, cqe);
	cqe->flags |= CQE_SKIP;
	rx_end(&rx, &s);
	commit_recv(e, qp, &s, qp->state, rx.cq, cqe, NULL);
}
