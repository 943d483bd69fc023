/* SPDX-License-Identifier: MIT */
/*
 * Plays a program of the trace with a thread for each of its threads, and the main thread as
 * watchdog.
 */
#include "traces/replay/play.h"
#include "traces/replay/identity.h"
#include "traces/replay/live.h"
#include "traces/replay/local_dev.h"
#include "traces/replay/memory.h"
#include "traces/replay/objects.h"
#include "traces/replay/overlap.h"
#include "traces/replay/recv_place.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/turn.h"
#include "traces/replay/unreceived.h"
#include "traces/replay/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* How much longer a call may take than waits that report themselves. */
#define GRACE_NS 5000000000ULL

static bool play_sends(struct rp_thread *t, const struct vt_rec *rec)
{
	if (!(rec->kind == VT_WR ? rp_play_post_wr(t, rec) : rp_play_post_send(t, rec)))
		return false;
	rp_unreceived_await(t, rec);
	return true;
}

static bool play_record(struct rp_thread *t, const struct vt_rec *rec)
{
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		return rp_play_call(t, rec);
	case VT_POST_SEND:
	case VT_WR:
		return play_sends(t, rec);
	case VT_POST_RECV:
	case VT_POST_SRQ:
	case VT_POST_WQ:
		return rp_play_post_recv(t, rec);
	case VT_POST_OPS:
		return rp_play_post_ops(t, rec);
	case VT_DM:
		return rp_play_dm(t, rec);
	case VT_POLL:
		return rp_play_poll(t, rec);
	case VT_NOTIFY:
		return rp_play_notify(t, rec);
	case VT_CQ_EVENT:
		return rp_play_cq_event(t, rec);
	case VT_ACK:
		return rp_play_ack(t, rec);
	case VT_MEM:
		return rp_play_mem(t, rec);
	default:
		return true;
	}
}

static const struct vt_rec *thread_next_rec(const struct rp_thread *t, uint64_t *off)
{
	const struct vt_rec *rec;

	do
		rec = vt_rec_next(t->prog->p, off);
	while (rec && rec->thread != t->slot->thread);
	return rec;
}

/* Requests of a live program that come now are not in the record: the session holds them back. */
static void thread_wait_held(const struct rp_thread *t, const struct vt_rec *rec)
{
	struct rp_share *s = t->prog->w->share;
	unsigned int rest = 0;

	/* The session checks how far the thread has got. */
	rp_slot_advance(t->slot, rec->end + 1);
	while (!__atomic_load_n(&s->held, __ATOMIC_SEQ_CST) && !rp_is_failed(t->prog->w))
		rp_wait_step(&rest);
}

static void *thread_play(void *arg)
{
	struct rp_thread *t = arg;
	const struct vt_rec *rec;
	uint64_t off = 0;
	bool ok = true;

	/* By default sleeps take 50 us longer, which is more than most intervals between calls. */
	if (t->prog->pace)
		prctl(PR_SET_TIMERSLACK, 1UL);
	for (rec = thread_next_rec(t, &off); rec && ok; rec = thread_next_rec(t, &off)) {
		rp_slot_enter(t, rec);
		ok = rp_turn_wait(t, rec);
		if (ok) {
			rp_overlap_wait(t, rec);
			ok = play_record(t, rec);
		}
		if (ok && rec->end == t->prog->w->share->hold_at)
			thread_wait_held(t, rec);
	}
	/*
	 * The program has ended when its process is gone: the process that started it publishes
	 * that.
	 */
	if (ok && (t->slot->thread || !t->prog->p->ended))
		rp_slot_enter(t, NULL);
	__atomic_store_n(&t->slot->since, 0, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&t->prog->running, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Detects calls that do not return; the replay's own waits end by themselves. */
static void program_watch(struct rp_prog *g)
{
	struct timespec nap = { .tv_nsec = 2000000 };
	const struct vt_rec *rec;
	struct rp_thread *t;
	uint64_t since, off;
	uint32_t i;
	size_t len;

	while (__atomic_load_n(&g->running, __ATOMIC_SEQ_CST)) {
		nanosleep(&nap, NULL);
		if (rp_is_failed(g->w))
			return;
		for (i = 0; i < g->n_threads; i++) {
			t = &g->thread[i];
			since = __atomic_load_n(&t->slot->since, __ATOMIC_RELAXED);
			off = __atomic_load_n(&t->slot->off, __ATOMIC_RELAXED);
			if (!since || !off)
				continue;
			rec = (const struct vt_rec *)(g->p->data + off);
			if (rec->kind == VT_CALL && rp_live_is_over(t)) {
				rp_live_fail_wait(t, rec, vt_rec_line(g->p, rec, &len));
				return;
			}
			if (vt_now() - since < g->timeout + GRACE_NS)
				continue;
			rp_diverge(t, rec, "the call's end", "it returned",
				   "it has not returned in time");
			return;
		}
	}
}

static int program_prepare(struct rp_prog *g, struct vt_error *err)
{
	uint32_t i;
	int ret = rp_objects_init(g);

	if (!ret)
		ret = rp_memory_init(g, err);
	else
		snprintf(err->text, sizeof(err->text), "p%u: no memory", g->p->num);
	if (!ret && (rp_places_init(g) || rp_unreceived_init(g))) {
		snprintf(err->text, sizeof(err->text), "p%u: no memory", g->p->num);
		ret = -ENOMEM;
	}
	if (ret)
		return ret;
	g->devs = ibv_get_device_list(NULL);
	g->n_threads = g->p->n_threads + 1;
	g->thread = calloc(g->n_threads, sizeof(*g->thread));
	if (!g->thread) {
		snprintf(err->text, sizeof(err->text), "p%u: no memory", g->p->num);
		return -ENOMEM;
	}
	for (i = 0; i < g->n_threads; i++) {
		g->thread[i].prog = g;
		g->thread[i].slot = &g->w->slot[g->first_slot + i];
	}
	return 0;
}

/* All programs start together; the recorded pace counts from there. */
static void program_wait_start(struct rp_world *w)
{
	unsigned int rest = 0;

	if (__atomic_add_fetch(&w->share->ready, 1, __ATOMIC_SEQ_CST) == w->share->players)
		__atomic_store_n(&w->share->start, vt_now(), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&w->share->start, __ATOMIC_SEQ_CST) && !rp_is_failed(w))
		rp_wait_step(&rest);
}

/* With a live program: the player gets the name of the recorded program, and its own start time. */
static void program_stand_for(struct rp_world *w, const struct vt_program *p)
{
	const char *name = vt_info_get(&p->about, "name");
	const struct vt_rec *rec;
	uint64_t off = 0;

	if (name)
		prctl(PR_SET_NAME, name);
	rec = vt_rec_next(p, &off);
	if (rec)
		w->first_t = rec->t_begin;
}

int rp_play_program(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout)
{
	static struct rp_prog g;
	struct vt_error err;
	uint32_t i;

	g.w = w;
	g.nth = nth;
	g.p = &w->dir.prog[nth];
	g.pace = pace;
	g.timeout = timeout;
	g.first_slot = (uint32_t)(rp_slots_of(w, nth) - w->slot);
	if (w->live)
		program_stand_for(w, g.p);
	pthread_mutex_init(&g.lock, NULL);
	if (!rp_local_dev_check(&g))
		return 1;
	if (program_prepare(&g, &err)) {
		fprintf(stderr, "rdmaemu: replay: %s\n", err.text);
		return 2;
	}
	__atomic_store_n(&w->share->pid[nth], getpid(), __ATOMIC_RELEASE);
	program_wait_start(w);
	if (rp_map_make(&g)) {
		fprintf(stderr, "rdmaemu: replay: p%u: no memory\n", g.p->num);
		return 2;
	}
	g.running = g.n_threads;
	for (i = 0; i < g.n_threads; i++) {
		if (pthread_create(&g.thread[i].id, NULL, thread_play, &g.thread[i])) {
			fprintf(stderr, "rdmaemu: replay: p%u: cannot create a thread\n", g.p->num);
			return 2;
		}
	}
	program_watch(&g);
	/*
	 * As in the program, remaining objects end with the process, and so do threads that hang.
	 */
	fflush(NULL);
	_exit(rp_is_failed(w) ? 1 : 0);
}
