// SPDX-License-Identifier: MIT
/* Order among all threads of a replay, and its end by a divergence. */
#include "replay/replay.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN	64u
#define YIELD	256u
#define LONG	4096u /* rests: who has waited that long waits for something slow */
#define REST_NS 50000

void rp_rest(unsigned int *n)
{
	struct timespec nap = { .tv_nsec = *n < LONG ? REST_NS : 20 * REST_NS };

	++*n;
	if (*n < SPIN)
		return;
	if (*n < YIELD)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

bool rp_failed(const struct rp_world *w)
{
	return __atomic_load_n(&w->share->failed, __ATOMIC_RELAXED) != 0;
}

static void wake(struct rp_share *s)
{
	__atomic_add_fetch(&s->beat, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->sleepers, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->beat, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A bounded sleep: who dies without a word wakes nobody. */
static void sleep_on(struct rp_share *s, uint32_t beat)
{
	struct timespec bound = { .tv_nsec = 20000000 };

	__atomic_add_fetch(&s->sleepers, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &s->beat, FUTEX_WAIT, beat, &bound, NULL, 0);
	__atomic_sub_fetch(&s->sleepers, 1, __ATOMIC_SEQ_CST);
}

void rp_at(struct rp_thread *t, const struct vt_rec *rec)
{
	__atomic_store_n(&t->slot->off,
			 rec ? (uint64_t)((const uint8_t *)rec - t->prog->p->data) : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->since, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->next_end, rec ? rec->end : RP_DONE, __ATOMIC_SEQ_CST);
	wake(t->prog->w->share);
}

void rp_end_later(const struct rp_thread *t, uint64_t end)
{
	__atomic_store_n(&t->slot->next_end, end, __ATOMIC_SEQ_CST);
	wake(t->prog->w->share);
}

bool rp_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin)
{
	uint32_t i;

	for (i = 0; i < w->n_slots; i++)
		if (&w->slot[i] != mine &&
		    __atomic_load_n(&w->slot[i].next_end, __ATOMIC_SEQ_CST) < begin)
			return false;
	return true;
}

static void pace(const struct rp_thread *t, const struct vt_rec *rec)
{
	const struct rp_world *w = t->prog->w;
	uint64_t due =
		w->share->start + (rec->t_begin > w->first_t ? rec->t_begin - w->first_t : 0);
	struct timespec at = { .tv_sec = (time_t)(due / 1000000000u),
			       .tv_nsec = (long)(due % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

bool rp_turn(struct rp_thread *t, const struct vt_rec *rec)
{
	struct rp_world *w = t->prog->w;
	unsigned int n = 0;
	uint32_t beat;

	for (;;) {
		beat = __atomic_load_n(&w->share->beat, __ATOMIC_SEQ_CST);
		if (rp_failed(w))
			return false;
		if (rp_may_begin(w, t->slot, rec->begin))
			break;
		if (n++ < SPIN)
			continue;
		if (n < YIELD)
			sched_yield();
		else
			sleep_on(w->share, beat);
	}
	if (t->prog->pace)
		pace(t, rec);
	__atomic_store_n(&t->slot->since, vt_now(), __ATOMIC_RELAXED);
	return true;
}

void rp_fail(struct rp_world *w, const char *text)
{
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&w->share->failed, &none, 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		snprintf(w->share->why, sizeof(w->share->why), "%s", text);
		__atomic_store_n(&w->share->failed, 2, __ATOMIC_SEQ_CST);
	}
	wake(w->share);
}

void rp_unfit(struct rp_world *w, const char *why)
{
	__atomic_store_n(&w->share->unfit, 1, __ATOMIC_SEQ_CST);
	rp_fail(w, why);
}

static const char *name_of(const struct vt_program *p)
{
	const char *name = vt_thing(&p->about, "name");

	return name ? name : "?";
}

bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got)
{
	const struct vt_program *p = t->prog->p;
	char text[sizeof(t->prog->w->share->why)], place[64];
	const char *line = "";
	size_t len;

	vt_place(p, rec, place, sizeof(place));
	if (rec->kind == VT_CALL)
		line = vt_rec_line(p, rec, &len);
	snprintf(text, sizeof(text),
		 "%s (%.100s): %s: %s differs\n  recorded: %.1200s\n  replayed: %.1200s%s%.1200s",
		 place, name_of(p), vt_kind_name(rec->kind), what, want, got,
		 *line ? "\n  line:     " : "", line);
	rp_fail(t->prog->w, text);
	return false;
}

bool rp_trouble(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
{
	const struct vt_program *p = t->prog->p;
	char text[1024], place[64];
	va_list ap;
	int n;

	vt_place(p, rec, place, sizeof(place));
	/* The name is the trace's, and may be of any length. */
	n = snprintf(text, sizeof(text), "%s (%.100s): ", place, name_of(p));
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	rp_fail(t->prog->w, text);
	return false;
}
