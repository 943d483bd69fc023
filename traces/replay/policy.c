/* SPDX-License-Identifier: MIT */
/**
 * DOC: handles what a live program does that was not recorded at that place: messages and rdma_cm
 * events.
 *
 * --unexpected chooses the policy. fail: it is a divergence (poll.c, call.c). wait: it is put aside
 * until the record asks for it. ignore: it is answered as far as necessary, and discarded. After
 * that the replay compares neither which receive a message consumes, nor the final contents of
 * memory.
 */
#include "traces/replay/policy.h"
#include "traces/replay/objects.h"
#include "traces/replay/post.h"
#include "traces/replay/replay.h"
#include "traces/replay/world.h"

#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** struct rp_aside - an event that came early. */
struct rp_aside {
	struct rdma_cm_event *event;
	struct rdma_event_channel *channel;
	struct rp_aside *next;
};

bool rp_policy_set(struct rp_world *w, const char *name)
{
	static const char *const names[] = {
		[RP_FAIL] = "fail", [RP_WAIT] = "wait", [RP_IGNORE] = "ignore"
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		w->unexpected = i;
		return true;
	}
	return false;
}

void rp_policy_note(struct rp_thread *t, const struct vt_rec *rec, const char *want,
		    const char *got)
{
	const char *name = vt_info_get(&t->prog->p->about, "name");
	char place[64];

	__atomic_add_fetch(&t->prog->w->share->count.unexpected, 1, __ATOMIC_RELAXED);
	if (t->prog->w->unexpected != RP_WAIT)
		return;
	vt_rec_place(t->prog->p, rec, place, sizeof(place));
	fprintf(stderr, "rdmaemu: replay: %s (%s): unexpected: %.600s; waiting for: %.600s\n",
		place, name ? name : "?", got, want);
}

/* --- messages --- */

void rp_recv_repost(struct rp_thread *t, const struct vt_rec *rec, uint32_t qp, struct rp_recv *r)
{
	uint32_t srq = t->prog->qp_srq[qp];
	struct ibv_sge sge[VT_MAX_SGE];
	struct ibv_recv_wr wr = { .wr_id = r->wr_id, .sg_list = sge, .num_sge = (int)r->wr->n_sge },
			   *bad;
	struct rp_queue *q = srq ? &t->prog->srq[srq] : &t->prog->rq[qp];
	uint8_t *none = NULL;

	rp_sges_make(t, rec, r->wr, sge, &none);
	if (srq ? ibv_post_srq_recv(rp_obj(t->prog, VOBJ_SRQ, srq), &wr, &bad)
		: ibv_post_recv(rp_obj(t->prog, VOBJ_QP, qp), &wr, &bad))
		return;
	/* At the end, as in the hardware queue. */
	r->next = NULL;
	*q->last = r;
	q->last = &r->next;
}

/* --- events --- */

/* Returns the object that a word of a line names, such as " event.id=id2". */
static const void *event_named_id(const struct rp_prog *g, const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? rp_obj(g, VOBJ_ID, (uint32_t)strtoul(at + strlen(word), NULL, 10)) : NULL;
}

/* Whether an event has the recorded type and identifier. */
static bool event_is_recorded(const struct rp_prog *g, const char *want,
			      const struct rdma_cm_event *ev)
{
	const char *kind = rdma_event_str(ev->event), *at = strstr(want, " event.event=");
	const char *status = strstr(want, " event.status=");
	size_t len = strlen(kind);

	if (!at)
		return false;
	at += strlen(" event.event=");
	if (strncmp(at, kind, len) != 0 || (at[len] && at[len] != ' '))
		return false;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return event_named_id(g, want, " event.listen_id=id") == ev->listen_id;
	return event_named_id(g, want, " event.id=id") == ev->id &&
	       (status ? atoi(status + strlen(" event.status=")) : 0) == ev->status;
}

static struct rdma_cm_event *aside_take(struct rp_prog *g, const char *want,
					const struct rdma_event_channel *channel)
{
	struct rp_aside **at, *found;
	struct rdma_cm_event *ev;

	for (at = &g->aside; *at; at = &(*at)->next) {
		if ((*at)->channel != channel || !event_is_recorded(g, want, (*at)->event))
			continue;
		found = *at;
		*at = found->next;
		ev = found->event;
		free(found);
		return ev;
	}
	return NULL;
}

static void aside_add(struct rp_prog *g, struct rdma_cm_event *ev, struct rdma_event_channel *ch)
{
	struct rp_aside *new = malloc(sizeof(*new)), **at;

	if (!new)
		return;
	*new = (struct rp_aside){ .event = ev, .channel = ch };
	for (at = &g->aside; *at; at = &(*at)->next)
		;
	*at = new;
}

static void event_discard(struct rdma_cm_event *ev)
{
	struct rdma_cm_id *fresh = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ? ev->id : NULL;

	if (fresh)
		rdma_reject(fresh, NULL, 0);
	rdma_ack_cm_event(ev);
	if (fresh)
		rdma_destroy_id(fresh);
}

int rp_policy_get_event(struct rp_thread *t, const struct vt_rec *rec, const char *want,
			struct rdma_event_channel *channel, struct rdma_cm_event **ev)
{
	struct rp_prog *g = t->prog;
	char got[160];
	int ret;

	for (;;) {
		pthread_mutex_lock(&g->lock);
		*ev = aside_take(g, want, channel);
		pthread_mutex_unlock(&g->lock);
		if (*ev)
			return 0;
		ret = rdma_get_cm_event(channel, ev);
		if (ret || event_is_recorded(g, want, *ev))
			return ret;
		snprintf(got, sizeof(got), "%s, status %d", rdma_event_str((*ev)->event),
			 (*ev)->status);
		rp_policy_note(t, rec, want, got);
		if (g->w->unexpected == RP_IGNORE) {
			event_discard(*ev);
			continue;
		}
		pthread_mutex_lock(&g->lock);
		aside_add(g, *ev, channel);
		pthread_mutex_unlock(&g->lock);
	}
}

void rp_policy_drop_events(struct rp_prog *g, const struct rdma_cm_id *id)
{
	struct rp_aside **at, *gone;

	pthread_mutex_lock(&g->lock);
	for (at = &g->aside; *at;) {
		if ((*at)->event->id != id && (*at)->event->listen_id != id) {
			at = &(*at)->next;
			continue;
		}
		gone = *at;
		*at = gone->next;
		event_discard(gone->event);
		free(gone);
	}
	pthread_mutex_unlock(&g->lock);
}
