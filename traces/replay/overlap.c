/* SPDX-License-Identifier: MIT */
/**
 * DOC: destructive calls: they take away what a peer's work request needs, or an event that another
 * thread takes.
 *
 * Calls that overlapped in the record may come in any order, with one exception. A post to a send
 * queue that overlapped the end of the peer's QP, and whose own QP has no failed completion from
 * then on, took effect before that end. So the destructive call waits for such posts of other
 * programs.
 *
 * The record has the end of a program before its process is gone with all its objects. So
 * successful posts directly after the end, with nothing but successful polls in between, also take
 * effect before it, and so do those polls.
 *
 * Destroying an object discards its events that nobody has taken. If another thread of the program
 * took one in an overlapping call, that call took effect first: the destroying call waits for it.
 *
 * These waits cannot deadlock: a thread at such a post, or with only posts and successful polls
 * before it, waits for nothing that the destructive call brings about. The wait has a bound as
 * well, after which the replay goes on without it.
 */
#include "traces/replay/overlap.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COURTESY_NS 10000000000ULL
/* How long after its end a recorded process may have existed. */
#define GONE_NS 1000000000ULL

int rp_overlap_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = vt_poll_wcs(rec);
	uint32_t i, n = w->n_obj[prog][VOBJ_QP];

	if (!w->failed_at[prog])
		w->failed_at[prog] = calloc(n, sizeof(*w->failed_at[prog]));
	if (!w->failed_at[prog])
		return -ENOMEM;
	for (i = 0; i < poll->n; i++)
		if (wc[i].status != IBV_WC_SUCCESS && wc[i].qp < n)
			w->failed_at[prog][wc[i].qp] = rec->end;
	return 0;
}

static bool rec_takes_away(const struct vt_program *p, const struct vt_rec *rec)
{
	static const char *const calls[] = { "ibv_destroy_",  "ibv_dereg_",	"ibv_rereg_",
					     "ibv_dealloc_",  "ibv_close_",	"rdma_destroy_",
					     "rdma_dereg_mr", "rdma_disconnect" };
	const char *line;
	size_t len, i;

	if (rec->kind != VT_CALL)
		return rec->kind == VT_END;
	line = vt_rec_line(p, rec, &len);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strncmp(line, calls[i], strlen(calls[i])))
			return true;
	return !strncmp(line, "ibv_modify_qp ", 14) &&
	       (strstr(line, " attr.qp_state=IBV_QPS_ERR") ||
		strstr(line, " attr.qp_state=IBV_QPS_RESET"));
}

static bool post_went_well(const struct rp_world *w, uint32_t prog, const struct vt_rec *rec,
			   uint64_t since)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);

	return post->bad && post->obj < w->n_obj[prog][VOBJ_QP] &&
	       (!w->failed_at[prog] || w->failed_at[prog][post->obj] <= since);
}

static bool poll_went_well(const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = vt_poll_wcs(rec);
	uint32_t i;

	for (i = 0; i < poll->n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			return false;
	return poll->ret >= 0;
}

/* Whether a record may have taken effect before the destructive call did. */
static bool rec_is_in_time(const struct rp_slot *s, const struct vt_rec *rec,
			   const struct vt_rec *taking)
{
	if (taking->kind == VT_END)
		return rec->t_begin < taking->t_end + GONE_NS;
	return rec->thread != s->thread || rec->begin < taking->end;
}

/* Returns the number by which the last such post of that thread ended, or 0. */
static uint64_t slot_posts_until(const struct rp_world *w, const struct rp_slot *s,
				 const struct vt_rec *taking)
{
	const struct vt_program *p = &w->dir.prog[s->prog];
	uint64_t off = __atomic_load_n(&s->off, __ATOMIC_RELAXED), until = 0;
	const struct vt_rec *rec;

	while ((rec = vt_rec_next(p, &off)) && rec_is_in_time(s, rec, taking)) {
		if (rec->thread != s->thread)
			continue;
		if (vt_is_send(rec->kind) && post_went_well(w, s->prog, rec, taking->begin))
			until = rec->end;
		else if (rec->kind == VT_POLL && poll_went_well(rec))
			until = until && taking->kind == VT_END ? rec->end : until;
		else if (rec->kind == VT_CALL || rec->kind == VT_CQ_EVENT || rec->kind == VT_POLL)
			break;
	}
	return until;
}

/* Waits until the thread has passed @until. Returns false: it takes too long. */
static bool slot_wait_until(const struct rp_world *w, const struct rp_slot *s, uint64_t until,
			    uint64_t *since)
{
	unsigned int rest = 0;

	while (__atomic_load_n(&s->next_end, __ATOMIC_SEQ_CST) <= until && !rp_is_failed(w)) {
		if (!*since)
			*since = vt_now();
		else if (vt_now() - *since > COURTESY_NS)
			return false;
		rp_wait_step(&rest);
	}
	return true;
}

/**
 * struct forgets - a call that discards the untaken events of an object. The last entry is empty.
 */
static const struct forgets {
	const char *call, *object; /* the argument that names it */
	/* the call that takes its events, and the word that names it there */
	const char *take, *about;
} forgets[] = {
	{ "rdma_destroy_id ", " id=", "rdma_get_cm_event ", " event.id=" },
	{ "ibv_destroy_qp ", " qp=", "ibv_get_async_event ", " event.element=" },
	{ "ibv_destroy_cq ", " cq=", "ibv_get_async_event ", " event.element=" },
	{ "ibv_destroy_srq ", " srq=", "ibv_get_async_event ", " event.element=" },
	{ "ibv_destroy_wq ", " wq=", "ibv_get_async_event ", " event.element=" },
	{ NULL, NULL, NULL, NULL },
};

/* Returns the word after @arg in a call of that name, and its length; NULL: none. */
static const char *call_word(const struct vt_program *p, const struct vt_rec *rec, const char *call,
			     const char *arg, size_t *len)
{
	const char *line, *word;

	if (rec->kind != VT_CALL)
		return NULL;
	line = vt_rec_line(p, rec, len);
	if (strncmp(line, call, strlen(call)) != 0)
		return NULL;
	word = strstr(line, arg);
	if (!word)
		return NULL;
	word += strlen(arg);
	*len = strcspn(word, " ");
	return word;
}

/*
 * Returns the number by which that thread's last call ended that took an event of the object, or 0.
 */
static uint64_t slot_takes_until(const struct vt_program *p, const struct rp_slot *s,
				 const struct forgets *f, const struct vt_rec *rec)
{
	uint64_t off = __atomic_load_n(&s->off, __ATOMIC_RELAXED), until = 0;
	size_t len, other_len;
	const char *object = call_word(p, rec, f->call, f->object, &len), *other;
	const struct vt_rec *at;

	while (object && (at = vt_rec_next(p, &off)) && at->begin < rec->end) {
		if (at->thread != s->thread || at->end > rec->end)
			continue;
		other = call_word(p, at, f->take, f->about, &other_len);
		if (other && other_len == len && !memcmp(other, object, len))
			until = at->end;
	}
	return until;
}

/* Returns the entry of @rec, or the empty one. */
static const struct forgets *forgets_find(const struct vt_program *p, const struct vt_rec *rec)
{
	const struct forgets *f = forgets;
	size_t len;

	while (f->call && !call_word(p, rec, f->call, f->object, &len))
		f++;
	return f;
}

/* Returns the number up to which the thread of @s precedes @rec of @t, or 0. */
static uint64_t slot_goes_until(const struct rp_thread *t, const struct vt_rec *rec,
				const struct forgets *f, bool takes, const struct rp_slot *s)
{
	const struct rp_world *w = t->prog->w;
	uint64_t until;

	if (s->prog == t->slot->prog)
		return s != t->slot && f->call ? slot_takes_until(t->prog->p, s, f, rec) : 0;
	until = takes ? slot_posts_until(w, s, rec) : 0;
	/* Threads after the end wait for it as usual. */
	if (until > __atomic_load_n(&t->slot->next_end, __ATOMIC_SEQ_CST))
		rp_slot_advance(t->slot, until);
	return until;
}

void rp_overlap_wait(const struct rp_thread *t, const struct vt_rec *rec)
{
	const struct rp_world *w = t->prog->w;
	const struct forgets *f = forgets_find(t->prog->p, rec);
	bool takes = !w->live && rec_takes_away(t->prog->p, rec);
	uint64_t until, since = 0;
	uint32_t i;

	for (i = 0; i < w->n_slots && (f->call || takes); i++) {
		if (__atomic_load_n(&w->slot[i].next_end, __ATOMIC_SEQ_CST) == RP_DONE)
			continue;
		until = slot_goes_until(t, rec, f, takes, &w->slot[i]);
		if (until && !slot_wait_until(w, &w->slot[i], until, &since))
			return;
	}
}
