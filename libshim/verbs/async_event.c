/* SPDX-License-Identifier: MIT */
/**
 * DOC: asynchronous events.
 *
 * Destroying an object waits until its delivered events have been acknowledged. Delivery is counted
 * under objs_lock, together with the lookup of the object: either an event is delivered before the
 * object leaves its table, and the destroying thread waits for its ACK, or it is dropped.
 */
#include "libshim/verbs/async_event.h"

#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/srq.h"
#include "libshim/verbs/wq.h"

void shim_events_drain(pthread_mutex_t *mutex, pthread_cond_t *cond, const u32 *acked,
		       u32 delivered)
{
	pthread_mutex_lock(mutex);
	while (*acked != delivered)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

void shim_qp_end_events(struct shim_context *ctx, struct shim_qp *qp)
{
	struct ibv_qp *ibqp = &qp->qp;

	shim_chan_drop(ctx->async_chan, qp->opened ? ELEM_OPENED_QP : ELEM_QP, ibqp->handle,
		       qp->qpn);
	shim_events_drain(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed, qp->async_events);
}

/* An object whose context was closed may report to a channel that another context uses now. */
static bool event_of_cq(struct ibv_context *ibctx, const struct chan_event *ev,
			struct ibv_async_event *out)
{
	struct shim_cq *cq = ev->handle < HCA_MAX_CQ ? objs->cq[ev->handle] : NULL;

	if (!cq || cq->gen != ev->gen || cq->cq.context != ibctx)
		return false;
	cq->async_events++;
	out->element.cq = &cq->cq;
	return true;
}

static bool event_of_qp(struct ibv_context *ibctx, const struct chan_event *ev,
			struct ibv_async_event *out)
{
	struct shim_qp *qp = shim_qp_find(ev->gen);

	if (!qp || qp->qp.context != ibctx)
		return false;
	qp->async_events++;
	if (ev->type != EV_COMM_EST && ev->type != EV_SQ_DRAINED &&
	    ev->type != EV_QP_LAST_WQE_REACHED)
		shim_qp_saw_error(qp);
	out->element.qp = &qp->qp;
	return true;
}

static bool event_of_opened(struct ibv_context *ibctx, const struct chan_event *ev,
			    struct ibv_async_event *out)
{
	struct shim_qp *qp = objs->opened;

	while (qp && (qp->qp.handle != ev->handle || qp->qpn != ev->gen))
		qp = qp->next_opened;
	if (!qp || qp->qp.context != ibctx)
		return false;
	qp->async_events++;
	out->element.qp = &qp->qp;
	return true;
}

static bool event_of_srq(struct ibv_context *ibctx, const struct chan_event *ev,
			 struct ibv_async_event *out)
{
	struct shim_srq *srq = ev->handle < HCA_MAX_SRQ ? objs->srq[ev->handle] : NULL;

	if (!srq || srq->gen != ev->gen || srq->srq.context != ibctx)
		return false;
	srq->async_events++;
	out->element.srq = &srq->srq;
	return true;
}

static bool event_of_wq(struct ibv_context *ibctx, const struct chan_event *ev,
			struct ibv_async_event *out)
{
	struct shim_rwq *wq = ev->handle < HCA_MAX_WQ ? objs->wq[ev->handle] : NULL;

	if (!wq || wq->gen != ev->gen || wq->wq.context != ibctx)
		return false;
	wq->async_events++;
	out->element.wq = &wq->wq;
	return true;
}

/* Return: whether the object of the event still exists. */
static bool event_translate(struct ibv_context *ibctx, const struct chan_event *ev,
			    struct ibv_async_event *out)
{
	bool ok = false;

	memset(out, 0, sizeof(*out));
	out->event_type = ev->type;
	pthread_mutex_lock(&objs_lock);
	switch (ev->kind) {
	case ELEM_CQ:
		ok = event_of_cq(ibctx, ev, out);
		break;
	case ELEM_QP:
		ok = event_of_qp(ibctx, ev, out);
		break;
	case ELEM_OPENED_QP:
		ok = event_of_opened(ibctx, ev, out);
		break;
	case ELEM_SRQ:
		ok = event_of_srq(ibctx, ev, out);
		break;
	case ELEM_WQ:
		ok = event_of_wq(ibctx, ev, out);
		break;
	case ELEM_PORT:
		out->element.port_num = (int)ev->handle;
		ok = true;
		break;
	case ELEM_DEVICE:
		ok = true;
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&objs_lock);
	return ok;
}

/** ibv_get_async_event() - ibv_get_async_event(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int ibv_get_async_event(struct ibv_context *ibctx, struct ibv_async_event *event)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct chan_event ev;

	if (call_fails(CALL_ibv_get_async_event))
		return -1;
	if (!ctx)
		return -1;
	if (ctx->dead)
		return fail_minus(-EIO);
	do {
		if (shim_chan_get(ctx->async_chan, ctx->async_fd, &ev))
			return -1;
	} while (!event_translate(ibctx, &ev, event));
	return 0;
}

static void event_count_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, u32 *acked)
{
	pthread_mutex_lock(mutex);
	++*acked;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

/** ibv_ack_async_event() - ibv_ack_async_event(3). */
SHIM_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;
	struct ibv_wq *wq = event->element.wq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event_count_ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event_count_ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event_count_ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case IBV_EVENT_WQ_FATAL:
		event_count_ack(&wq->mutex, &wq->cond, &wq->events_completed);
		break;
	default: /* of a port or the device: no destroying thread waits for them */
		break;
	}
}

void shim_raise_fatal(void)
{
	struct chan_event ev = { .type = EV_DEVICE_FATAL, .kind = ELEM_DEVICE };
	struct shim_context *ctx;

	pthread_mutex_lock(&objs_lock);
	/* It can fail for a channel that is being closed, which no thread waits on. */
	for (ctx = contexts; ctx; ctx = ctx->next)
		if (!ctx->closed)
			shim_chan_push(ctx->async_chan, &ev);
	pthread_mutex_unlock(&objs_lock);
}
