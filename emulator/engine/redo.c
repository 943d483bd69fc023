/* SPDX-License-Identifier: MIT */
/**
 * DOC: applying again the commit of a holder that died. See queue/commit.c.
 */
#include "emulator/engine.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/transport/rxq.h"

/* Apply the step's changes of a QP, or a WQ. */
static void redo_state(struct hca *hca, const struct hca_commit *c, u32 valid)
{
	struct hca_qp *qp = &hca->qp[c->qp];

	if (valid == COMMIT_WQ) {
		hca->wq[c->wq].cons = c->wq_cons;
		hca->wq[c->wq].state = c->wq_state;
		return;
	}
	if (valid == COMMIT_REQ)
		qp->req = c->req;
	else
		qp->resp = c->resp;
	if (valid == COMMIT_RESP && c->srq && c->srq <= HCA_MAX_SRQ) {
		hca->srq[c->srq - 1].unexpected = c->srq_unexpected;
		hca->srq[c->srq - 1].cons = c->srq_cons;
	}
	commit_state(qp, c->qp_state);
}

static void redo_event(struct engine *e)
{
	struct hca_commit *c = &e->hca->commit;
	struct hca_cq *cq =
		c->event_cq && c->event_cq <= HCA_MAX_CQ ? &e->hca->cq[c->event_cq - 1] : NULL;
	struct seg_hdr *seg = cq && cq->client ? seg_of(e, cq->client) : NULL;

	if (seg && cq->chan)
		cq_event_redo(e, seg, cq);
	store_release(&c->event_cq, 0);
}

/* An event was queued, but perhaps not counted. A reader ignores a surplus count. */
static void redo_wake(struct engine *e)
{
	struct hca_commit *c = &e->hca->commit;

	if (c->wake && c->wake <= HCA_MAX_CLIENTS && c->wake_chan < SEG_MAX_CHANS &&
	    seg_of(e, c->wake))
		e->ops->notify(e->ctx, c->wake - 1, c->wake_chan);
	store_release(&c->wake, 0);
}

/* A receive was taken: that may have been the one that the SRQ's limit waits for. */
static void redo_srq_limit(struct engine *e)
{
	u32 i = e->hca->commit.srq;
	struct rx rx = { .srq = i && i <= HCA_MAX_SRQ ? &e->hca->srq[i - 1] : NULL };

	if (!rx.srq || !rx.srq->client)
		return;
	rx.seg = seg_of(e, rx.srq->client);
	if (rx.seg)
		rx_taken(e, &rx);
}

void commit_redo(struct engine *e)
{
	struct hca_commit *c = &e->hca->commit;
	struct hca_cq *cq = c->cq && c->cq <= HCA_MAX_CQ ? &e->hca->cq[c->cq - 1] : NULL;
	u32 valid = load_acquire(&c->valid);
	struct seg_hdr *seg;

	redo_wake(e);
	redo_event(e);
	if (cq && !cq->client)
		cq = NULL;
	seg = cq ? seg_of(e, cq->client) : NULL;
	if (valid && (valid == COMMIT_WQ ? c->wq < HCA_MAX_WQ : c->qp < HCA_MAX_QP)) {
		redo_state(e->hca, c, valid);
		if (valid != COMMIT_WQ && c->tag)
			commit_apply_tag(e);
		if (seg) {
			struct cqe *ring = seg_ptr(seg, cq->ring + CQ_HDR);

			commit_entry(cq, &ring[(c->cq_prod - 1) & (cq->depth - 1)], c->cq_prod);
		}
		store_between(&c->valid, 0);
	}
	c->tag = 0; /* of a step that was not committed */
	redo_srq_limit(e);
	/* Killed between entry and event: the event may be sent twice, never not at all. */
	if (seg && cq->chan)
		cq_notify(e, seg, cq, true);
}
