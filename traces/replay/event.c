/* SPDX-License-Identifier: MIT */
/**
 * DOC: arms CQs, takes their events, and acknowledges them.
 *
 * Whether arming a CQ gives an event is a race in every program: completions that are present
 * already give none. If some were present here and not in the record, the replay must not wait for
 * the recorded event. The record may have the event later, after another arming: a program that
 * polls once more after arming leaves the event in the channel until its next wait. So late armings
 * are counted, and each excuses one event.
 */
#include "traces/replay/play.h"
#include "traces/replay/live.h"
#include "traces/replay/objects.h"
#include "traces/replay/poll.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define DRAIN 65536

bool rp_play_notify(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	struct rp_prog *g = t->prog;
	struct ibv_cq *cq = rp_obj(g, VOBJ_CQ, op->cq);
	char want[32], got[32];
	int ret;

	if (!cq)
		return rp_fail_rec(t, rec, "cq%u does not exist", op->cq);
	ret = ibv_req_notify_cq(cq, (int)op->n);
	pthread_mutex_lock(&g->lock);
	rp_cq_drain(g, &g->cq[op->cq], DRAIN);
	g->cq[op->cq].missed += g->cq[op->cq].first != NULL;
	pthread_mutex_unlock(&g->lock);
	if (ret == op->ret)
		return true;
	snprintf(want, sizeof(want), "%d", op->ret);
	snprintf(got, sizeof(got), "%d", ret);
	return rp_diverge(t, rec, "the result", want, got);
}

static uint32_t cq_find_ordinal(const struct rp_prog *g, const struct ibv_cq *cq)
{
	uint32_t i;

	for (i = g->n_obj[VOBJ_CQ]; i-- > 1;)
		if (rp_obj(g, VOBJ_CQ, i) == cq)
			return i;
	return 0;
}

/* Takes an event that is present. Returns false: it is of an unknown CQ. */
static bool cq_event_take(struct rp_thread *t, const struct vt_rec *rec,
			  struct ibv_comp_channel *ch)
{
	struct rp_prog *g = t->prog;
	struct ibv_cq *cq;
	void *context;
	uint32_t ord;

	if (ibv_get_cq_event(ch, &cq, &context))
		return rp_fail_rec(t, rec, "ibv_get_cq_event: %s", strerrorname_np(errno));
	ord = cq_find_ordinal(g, cq);
	if (!ord)
		return rp_diverge(t, rec, "the event", "of a CQ of the trace", "of another");
	pthread_mutex_lock(&g->lock);
	g->cq[ord].events++;
	g->cq[ord].pending++;
	pthread_mutex_unlock(&g->lock);
	return true;
}

/* Whether the recorded event has come, or need not come. */
static bool cq_event_is_due(struct rp_prog *g, uint32_t cq)
{
	bool yes = true;

	pthread_mutex_lock(&g->lock);
	if (g->cq[cq].pending)
		g->cq[cq].pending--;
	else if (g->cq[cq].missed)
		g->cq[cq].missed--;
	else
		yes = false;
	pthread_mutex_unlock(&g->lock);
	return yes;
}

bool rp_play_cq_event(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);
	struct rp_prog *g = t->prog;
	struct ibv_comp_channel *ch = rp_obj(g, VOBJ_CH, op->obj2);
	struct pollfd fd = { .events = POLLIN };
	char want[48];
	int n;

	if (op->ret)
		return true;
	if (!ch || !rp_obj(g, VOBJ_CQ, op->cq))
		return rp_fail_rec(t, rec, "an event of cq%u on ch%u, which do not exist", op->cq,
				   op->obj2);
	__atomic_add_fetch(&g->w->share->count.events, 1, __ATOMIC_RELAXED);
	fd.fd = ch->fd;
	snprintf(want, sizeof(want), "an event of cq%u", op->cq);
	/* Take events that are present first: even one that need not come may have come. */
	for (n = poll(&fd, 1, 0);; n = poll(&fd, 1, 5)) {
		if (n > 0 && !cq_event_take(t, rec, ch))
			return false;
		if (cq_event_is_due(g, op->cq))
			return true;
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
