/* SPDX-License-Identifier: MIT */
/** DOC: events that fault rules raise: see raise.h. */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/event.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/rxq.h"
#include "emulator/verbs/raise.h"

/* Whether an event without side effects can occur on the QP now. */
static bool qp_can_raise(const struct hca_qp *qp, u32 event)
{
	switch (event) {
	case EV_COMM_EST:
		return qp_is_connected(qp) && (qp->state == QPS_RTR || qp->state == QPS_RTS);
	case EV_SQ_DRAINED:
		return qp->state == QPS_SQD;
	case EV_PATH_MIG:
	case EV_PATH_MIG_ERR:
		return qp_is_connected(qp) && qp->state == QPS_RTS;
	case EV_QP_LAST_WQE_REACHED:
		return qp->srq && qp->state == QPS_ERR;
	default:
		return false;
	}
}

static void qp_move_to_err(struct engine *e, struct hca_qp *qp)
{
	store_relaxed(&qp->state, QPS_ERR);
	qp_timer_arm(e, qp, 0);
	/* Flushed here, or by a process that has its segment mapped. */
	req_run_qp(e, qp_slot(qp));
}

bool raise_qp(struct engine *e, struct hca_qp *qp, u32 event, u32 rule)
{
	if (event != EV_QP_FATAL && event != EV_QP_REQ_ERR && event != EV_QP_ACCESS_ERR) {
		if (!qp_can_raise(qp, event))
			return false;
		qp_event_raise(e, qp, event, CAUSE_FAULT, rule);
		return true;
	}
	/* An RSS QP over WQs has no state. In RESET nothing is under way that could fail. */
	if (qp->ind || qp->state == QPS_RESET || qp->state == QPS_ERR)
		return false;
	qp_event_raise(e, qp, event, CAUSE_FAULT, rule);
	qp_move_to_err(e, qp);
	return true;
}

bool raise_cq(struct engine *e, struct hca_cq *cq, u32 rule)
{
	const struct chan_event ev = {
		.type = EV_CQ_ERR,
		.kind = ELEM_CQ,
		.handle = (u32)(cq - e->hca->cq),
		.gen = cq->gen,
	};

	if (cq->overrun)
		return false;
	journal_client(e, cq->client, cq->dev, JRN_EVENT, EV_CQ_ERR, CAUSE_FAULT, rule);
	chan_push(e, cq->client, cq->async_chan, &ev);
	cq->overrun = 1;
	return true;
}

bool raise_srq(struct engine *e, struct hca_srq *srq, u32 event, u32 rule)
{
	const struct chan_event ev = {
		.type = event,
		.kind = ELEM_SRQ,
		.handle = (u32)(srq - e->hca->srq),
		.gen = srq->gen,
	};

	if (event == EV_SRQ_ERR ? srq->dead : !srq->limit)
		return false;
	journal_client(e, srq->client, srq->dev, JRN_EVENT, event, CAUSE_FAULT, rule);
	chan_push(e, srq->client, srq->async_chan, &ev);
	if (event == EV_SRQ_ERR)
		srq->dead = 1;
	else
		srq->limit = 0;
	return true;
}

bool raise_wq(struct engine *e, struct hca_wq *wq, u32 rule)
{
	const struct chan_event ev = {
		.type = EV_WQ_FATAL,
		.kind = ELEM_WQ,
		.handle = (u32)(wq - e->hca->wq),
		.gen = wq->gen,
	};

	if (wq->state != WQS_RDY)
		return false;
	journal_client(e, wq->client, wq->dev, JRN_EVENT, EV_WQ_FATAL, CAUSE_FAULT, rule);
	chan_push(e, wq->client, wq->async_chan, &ev);
	wq->state = WQS_ERR;
	wq_flush(e, wq);
	return true;
}

bool raise_context(struct engine *e, const struct hca_ref *ctx, u32 rule)
{
	const struct chan_event ev = { .type = EV_DEVICE_FATAL, .kind = ELEM_DEVICE };
	struct hca *hca = e->hca;
	u32 i;

	if (!ctx->client || ctx->kind != REF_CONTEXT)
		return false;
	journal_client(e, ctx->client, ctx->dev, JRN_EVENT, EV_DEVICE_FATAL, CAUSE_FAULT, rule);
	chan_push(e, ctx->client, ctx->async_chan, &ev);
	for (i = 0; i < hca->tab[TAB_QP].high; i++) {
		struct hca_qp *qp = &hca->qp[i];

		if (qp->client == ctx->client && qp->dev == ctx->dev && !qp->ind &&
		    qp->state != QPS_RESET && qp->state != QPS_ERR)
			qp_move_to_err(e, qp);
	}
	return true;
}
