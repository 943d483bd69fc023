/* SPDX-License-Identifier: MIT */
/**
 * DOC: detects that the live program has ended while a player waits for it.
 *
 * Data that the live program had under way may still arrive, and some things come without it:
 * completions of sends (with an error after all retries) and responses of the rdma_cm. Messages,
 * connection requests and accepts can only come from it. A wait for one of those is hopeless when
 * nothing has come for a while, and no other thread of the player can proceed, which might bring
 * what this one waits for.
 */
#include "traces/replay/live.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/turn.h"
#include "traces/replay/world.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#define SETTLE_NS 1000000000u

static bool wc_is_from_peer(const struct vt_wc *wc)
{
	return wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV;
}

/*
 * A CQ event announces what the next poll finds; completions of the player's own sends cause
 * events, too.
 */
static bool cq_event_is_from_peer(const struct vt_program *p, const struct vt_rec *rec)
{
	uint64_t off = (uint64_t)((const uint8_t *)rec - p->data);
	uint32_t cq = VT_BODY(vt_cqop, rec)->cq, i, n;

	vt_rec_next(p, &off);
	while ((rec = vt_rec_next(p, &off))) {
		if (rec->kind != VT_POLL || VT_BODY(vt_poll, rec)->cq != cq)
			continue;
		n = VT_BODY(vt_poll, rec)->n;
		for (i = 0; i < n; i++)
			if (!wc_is_from_peer(&vt_poll_wcs(rec)[i]))
				return false;
		if (n)
			return true;
	}
	return false;
}

static bool call_needs_peer(const char *line)
{
	static const char *const calls[] = { "rdma_get_request ", "rdma_accept ", "rdma_connect " };
	static const char *const events[] = { "CONNECT_REQUEST", "CONNECT_RESPONSE",
					      "ESTABLISHED" };
	const char *out = strstr(line, " = 0"), *at;
	size_t i, len;

	if (!out)
		return false;
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strncmp(line, calls[i], strlen(calls[i])))
			return true;
	at = strncmp(line, "rdma_get_cm_event ", 18) ? NULL
						     : strstr(out, " event.event=RDMA_CM_EVENT_");
	at = at ? at + strlen(" event.event=RDMA_CM_EVENT_") : NULL;
	for (i = 0; at && i < sizeof(events) / sizeof(*events); i++) {
		len = strlen(events[i]);
		if (!strncmp(at, events[i], len) && (!at[len] || at[len] == ' '))
			return true;
	}
	return false;
}

/* Whether a thread at @rec waits for the live program. */
static bool rec_needs_live(const struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_wc *wc;
	size_t len;

	switch ((enum vt_kind)rec->kind) {
	case VT_POLL:
		wc = __atomic_load_n(&t->awaited, __ATOMIC_ACQUIRE);
		return wc && wc_is_from_peer(wc);
	case VT_CQ_EVENT:
		return cq_event_is_from_peer(t->prog->p, rec);
	case VT_CALL:
		return call_needs_peer(vt_rec_line(t->prog->p, rec, &len));
	default:
		return false;
	}
}

/* Whether the thread cannot proceed without the live program. */
static bool thread_is_stuck(const struct rp_thread *t, uint64_t gone)
{
	uint64_t off = __atomic_load_n(&t->slot->off, __ATOMIC_SEQ_CST),
		 since = __atomic_load_n(&t->slot->since, __ATOMIC_SEQ_CST);
	const struct vt_rec *rec = (const struct vt_rec *)(t->prog->p->data + off);

	if (__atomic_load_n(&t->slot->next_end, __ATOMIC_SEQ_CST) == RP_DONE)
		return true;
	if (!off)
		return false;
	if (rec->kind == VT_END)
		return true;
	if (!since)
		return !rp_rec_may_begin(t->prog->w, t->slot, rec->begin);
	return vt_now() - (since > gone ? since : gone) > SETTLE_NS && rec_needs_live(t, rec);
}

bool rp_live_is_over(const struct rp_thread *t)
{
	const struct rp_prog *g = t->prog;
	uint64_t gone = __atomic_load_n(&g->w->share->gone_at, __ATOMIC_SEQ_CST);
	uint32_t i;

	if (!gone || !__atomic_load_n(&t->slot->since, __ATOMIC_SEQ_CST))
		return false;
	for (i = 0; i < g->n_threads; i++)
		if (!thread_is_stuck(&g->thread[i], gone))
			return false;
	return true;
}

bool rp_live_fail_wait(struct rp_thread *t, const struct vt_rec *rec, const char *want)
{
	const char *event = rec->kind == VT_CALL ? strstr(want, " event.event=") : NULL;

	/* For an event, name its type only. */
	if (event) {
		event += strlen(" event.event=");
		return rp_fail_rec(t, rec, "waits for %.*s; %s", (int)strcspn(event, " "), event,
				   t->prog->w->share->gone);
	}
	return rp_fail_rec(t, rec, "waits for %.600s; %s", want, t->prog->w->share->gone);
}

void rp_live_set_gone(struct rp_world *w, const char *text)
{
	snprintf(w->share->gone, sizeof(w->share->gone), "%s", text);
	__atomic_store_n(&w->share->gone_at, vt_now(), __ATOMIC_SEQ_CST);
}
