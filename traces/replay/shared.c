/* SPDX-License-Identifier: MIT */
/* Shared by all threads of a replay: waiting, and ending by a divergence. */
#include "traces/replay/shared.h"
#include "traces/replay/replay.h"
#include "traces/replay/world.h"

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
#define LONG	4096u /* steps after which the waits get longer */
#define REST_NS 50000

void rp_wait_step(unsigned int *n)
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

static void slot_wake(struct rp_slot *s)
{
	__atomic_store_n(&s->wanted, RP_DONE, __ATOMIC_SEQ_CST);
	/*
	 * A thread that stores its number between these two sees the new beat, and does not sleep.
	 */
	__atomic_add_fetch(&s->beat, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &s->beat, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void rp_slots_wake_all(const struct rp_world *w)
{
	uint32_t i;

	for (i = 0; i < w->n_slots; i++)
		slot_wake(&w->slot[i]);
}

void rp_slot_advance(struct rp_slot *s, uint64_t end)
{
	__atomic_store_n(&s->next_end, end, __ATOMIC_SEQ_CST);
	if (end >= __atomic_load_n(&s->wanted, __ATOMIC_SEQ_CST))
		slot_wake(s);
}

bool rp_is_failed(const struct rp_world *w)
{
	return __atomic_load_n(&w->share->failed, __ATOMIC_RELAXED) != 0;
}

void rp_fail(struct rp_world *w, const char *text)
{
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&w->share->failed, &none, 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		snprintf(w->share->why, sizeof(w->share->why), "%s", text);
		__atomic_store_n(&w->share->failed, 2, __ATOMIC_SEQ_CST);
	}
	rp_slots_wake_all(w);
}

void rp_fail_devices(struct rp_world *w, const char *why)
{
	__atomic_store_n(&w->share->unfit, 1, __ATOMIC_SEQ_CST);
	rp_fail(w, why);
}

static const char *program_name(const struct vt_program *p)
{
	const char *name = vt_info_get(&p->about, "name");

	return name ? name : "?";
}

bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got)
{
	const struct vt_program *p = t->prog->p;
	char text[sizeof(t->prog->w->share->why)], place[64];
	const char *line = "";
	size_t len;

	vt_rec_place(p, rec, place, sizeof(place));
	if (rec->kind == VT_CALL)
		line = vt_rec_line(p, rec, &len);
	snprintf(text, sizeof(text),
		 "%s (%.100s): %s: %s differs\n  recorded: %.1200s\n  replayed: %.1200s%s%.1200s",
		 place, program_name(p), vt_kind_name(rec->kind), what, want, got,
		 *line ? "\n  line:     " : "", line);
	rp_fail(t->prog->w, text);
	return false;
}

bool rp_fail_rec(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
{
	const struct vt_program *p = t->prog->p;
	char text[1024], place[64];
	va_list ap;
	int n;

	vt_rec_place(p, rec, place, sizeof(place));
	/* The name comes from the trace and may have any length. */
	n = snprintf(text, sizeof(text), "%s (%.100s): ", place, program_name(p));
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	rp_fail(t->prog->w, text);
	return false;
}
