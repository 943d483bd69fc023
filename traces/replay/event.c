/* SPDX-License-Identifier: MIT */
/**
 * DOC: arms CQs, takes their events, and acknowledges them.
 *
 * An arming gives at most one event, and whether it gives one is a race in every program. The
 * replay has fewer events than the record where
 *
 * - completions are present here when the CQ is armed, and came after that in the record;
 * - the completion that raised the event comes here after the next arming: its post overlapped
 *   that arming in the record. The CQ is then armed twice for one event.
 *
 * Both are seen here: each such arming excuses one event, which the replay then need not wait for.
 * The record may have the event later, after another arming: a program that polls once more after
 * arming leaves the event in the channel until its next wait. So the excused events are counted.
 * A program that takes each event before it arms again is excused only for late armings.
 */
#include "traces/replay/play.h"
#include "traces/replay/live.h"
#include "traces/replay/objects.h"
#include "traces/replay/poll.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#define DRAIN 65536

static uint32_t cq_find_ordinal(const struct rp_prog *g, const struct ibv_cq *cq)
{
	uint32_t i;

	for (i = g->n_obj[VOBJ_CQ]; i-- > 1;)
		if (rp_obj(g, VOBJ_CQ, i) == cq)
			return i;
	return 0;
}

/*
 * Takes the events that are present, without waiting: another thread may take them, or destroy
 * their CQ. The caller holds the lock. Returns false: one is of an unknown CQ.
 */
static bool channel_take_events(struct rp_thread *t, const struct vt_rec *rec,
				struct ibv_comp_channel *ch)
{
	struct rp_prog *g = t->prog;
	struct ibv_cq *cq;
	void *context;
	uint32_t ord;

	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	while (!ibv_get_cq_event(ch, &cq, &context)) {
		ord = cq_find_ordinal(g, cq);
		if (!ord)
			return rp_diverge(t, rec, "the event", "of a CQ of the trace",
					  "of another");
		g->cq[ord].events++;
		g->cq[ord].pending++;
		g->cq[ord].armed = false;
	}
	return errno == EAGAIN ||
	       rp_fail_rec(t, rec, "ibv_get_cq_event: %s", strerrorname_np(errno));
}

/* Counts an arming that gives no event, although the one of the record may have given one. */
static void cq_excuse_arming(struct rp_cq *cq)
{
	if (cq->armed && !cq->excused)
		cq->missed++;
	cq->excused = true;
}

/* The caller holds the lock. Returns false: the replay has failed. */
static bool cq_request_event(struct rp_thread *t, const struct vt_rec *rec, struct rp_cq *cq,
			     int *ret)
{
	struct rp_prog *g = t->prog;

	if (cq->cq->channel && !channel_take_events(t, rec, cq->cq->channel))
		return false;
	cq_excuse_arming(cq);
	*ret = ibv_req_notify_cq(cq->cq, (int)VT_BODY(vt_cqop, rec)->n);
	cq->armed = !*ret;
	cq->excused = false;
	rp_cq_drain(g, cq, DRAIN);
	if (cq->first)
		cq_excuse_arming(cq);
	return true;
}

bool rp_play_notify(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	struct rp_prog *g = t->prog;
	char want[32], got[32];
	bool good;
	int ret;

	if (!rp_obj(g, VOBJ_CQ, op->cq))
		return rp_fail_rec(t, rec, "cq%u does not exist", op->cq);
	pthread_mutex_lock(&g->lock);
	good = cq_request_event(t, rec, &g->cq[op->cq], &ret);
	pthread_mutex_unlock(&g->lock);
	if (!good || ret == op->ret)
		return good;
	snprintf(want, sizeof(want), "%d", op->ret);
	snprintf(got, sizeof(got), "%d", ret);
	return rp_diverge(t, rec, "the result", want, got);
}

/* Whether the recorded event has come, or need not come. The caller holds the lock. */
static bool cq_event_is_due(struct rp_cq *cq)
{
	if (cq->pending)
		cq->pending--;
	else if (cq->missed)
		cq->missed--;
	else
		return false;
	return true;
}

bool rp_play_cq_event(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	struct rp_prog *g = t->prog;
	struct ibv_comp_channel *ch = rp_obj(g, VOBJ_CH, op->obj2);
	struct pollfd fd = { .events = POLLIN };
	bool good, due;
	char want[48];

	if (op->ret)
		return true;
	if (!ch || !rp_obj(g, VOBJ_CQ, op->cq))
		return rp_fail_rec(t, rec, "an event of cq%u on ch%u, which do not exist", op->cq,
				   op->obj2);
	__atomic_add_fetch(&g->w->share->count.events, 1, __ATOMIC_RELAXED);
	fd.fd = ch->fd;
	snprintf(want, sizeof(want), "an event of cq%u", op->cq);
	for (;; poll(&fd, 1, 5)) {
		pthread_mutex_lock(&g->lock);
		/* Even an event that need not come may have come. */
		good = channel_take_events(t, rec, ch);
		due = good && cq_event_is_due(&g->cq[op->cq]);
		pthread_mutex_unlock(&g->lock);
		if (!good || due)
			return good;
		if (rp_is_failed(g->w))
			return false;
		if (rp_live_is_over(t))
			return rp_live_fail_wait(t, rec, want);
		if (vt_now() - t->slot->since > g->timeout)
			return rp_diverge(t, rec, "the event", want, "none came");
	}
}

void rp_cq_ack_rest(struct rp_prog *g, const struct ibv_cq *cq)
{
	uint32_t ord = cq_find_ordinal(g, cq), n;

	pthread_mutex_lock(&g->lock);
	n = g->cq[ord].events;
	g->cq[ord].events = 0;
	pthread_mutex_unlock(&g->lock);
	if (ord && n)
		ibv_ack_cq_events((struct ibv_cq *)cq, n);
}

bool rp_play_ack(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	struct rp_prog *g = t->prog;
	struct ibv_cq *cq = rp_obj(g, VOBJ_CQ, op->cq);
	uint32_t n;

	if (!cq)
		return rp_fail_rec(t, rec, "cq%u does not exist", op->cq);
	pthread_mutex_lock(&g->lock);
	n = op->n < g->cq[op->cq].events ? (uint32_t)op->n : g->cq[op->cq].events;
	g->cq[op->cq].events -= n;
	pthread_mutex_unlock(&g->lock);
	if (n)
		ibv_ack_cq_events(cq, n);
	return true;
}
