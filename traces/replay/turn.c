/* SPDX-License-Identifier: MIT */
/**
 * DOC: order among all threads of a replay.
 *
 * Theory of operation
 * -------------------
 * A record begins when the calls of all other threads have got past its number. Who waits for its turn waits for one
 * thread after the other: it looks for a moment, as what others do takes some microseconds, and then sleeps at that thread's slot
 * with the number that it waits for. A thread that gets on wakes those only who may go on then, so that handing the turn over
 * costs a system call at most, and none where the other one still looks.
 *
 * How long a thread looks follows from what it has met: twice as long when that has saved it a sleep, half as
 * long when it has not, as where there are more threads than CPUs. The bounds are about what it takes to be woken: who
 * looked shorter would never meet another one that is being woken, and both would sleep each time. Nobody looks at a thread
 * that was on its own CPU.
 */
#include "traces/replay/replay.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MIN_NS 10000u
#define LOOK_MAX_NS 50000u
#define LOOKS	    8u /* between two readings of the clock */
/* A bounded sleep: who dies without a word wakes nobody. */
#define SLEEP_NS 20000000

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static uint64_t turn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t turn_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The CPU that the caller runs on, from 1. */
static uint32_t cpu_current(void)
{
	return (uint32_t)sched_getcpu() + 1;
}

static void slot_wake(struct rp_slot *s)
{
	__atomic_store_n(&s->wanted, RP_DONE, __ATOMIC_SEQ_CST);
	/* Who has put its number in between sees this, and does not sleep. */
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

void rp_slot_enter(struct rp_thread *t, const struct vt_rec *rec)
{
	__atomic_store_n(&t->slot->off,
			 rec ? (uint64_t)((const uint8_t *)rec - t->prog->p->data) : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->since, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->cpu, cpu_current(), __ATOMIC_RELAXED);
	rp_slot_advance(t->slot, rec ? rec->end : RP_DONE);
}

static bool slot_is_past(const struct rp_slot *s, uint64_t number)
{
	return __atomic_load_n(&s->next_end, __ATOMIC_SEQ_CST) >= number;
}

bool rp_rec_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin)
{
	uint32_t i;

	for (i = 0; i < w->n_slots; i++)
		if (&w->slot[i] != mine && !slot_is_past(&w->slot[i], begin))
			return false;
	return true;
}

static void slot_sleep(struct rp_slot *s, uint64_t number)
{
	struct timespec bound = { .tv_nsec = SLEEP_NS };
	uint32_t beat = __atomic_load_n(&s->beat, __ATOMIC_SEQ_CST);
	uint64_t was = __atomic_load_n(&s->wanted, __ATOMIC_SEQ_CST);

	while (number < was && !__atomic_compare_exchange_n(&s->wanted, &was, number, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (!slot_is_past(s, number))
		syscall(SYS_futex, &s->beat, FUTEX_WAIT, beat, &bound, NULL, 0);
}

/* Look whether a slot gets past a number, for as long as it has been worth it. */
static bool slot_spin(struct rp_thread *t, const struct rp_slot *s, uint64_t number)
{
	uint64_t since;
	uint32_t n;

	/* It gets nowhere while we are here. */
	if (__atomic_load_n(&s->cpu, __ATOMIC_RELAXED) == cpu_current())
		return false;
	since = vt_now();
	do {
		for (n = 0; n < LOOKS; n++) {
			if (slot_is_past(s, number)) {
				t->look_ns = turn_min(2 * t->look_ns, LOOK_MAX_NS);
				return true;
			}
			cpu_relax();
		}
	} while (vt_now() - since < t->look_ns);
	t->look_ns = turn_max(t->look_ns / 2, LOOK_MIN_NS);
	return false;
}

/* Returns false: somebody has failed. */
static bool slot_wait_past(struct rp_thread *t, struct rp_slot *s, uint64_t number)
{
	if (slot_is_past(s, number) || slot_spin(t, s, number))
		return true;
	while (!slot_is_past(s, number)) {
		if (rp_is_failed(t->prog->w))
			return false;
		slot_sleep(s, number);
	}
	return true;
}

static void turn_pace(const struct rp_thread *t, const struct vt_rec *rec)
{
	const struct rp_world *w = t->prog->w;
	uint64_t due =
		w->share->start + (rec->t_begin > w->first_t ? rec->t_begin - w->first_t : 0);
	struct timespec at = { .tv_sec = (time_t)(due / 1000000000u),
			       .tv_nsec = (long)(due % 1000000000u) };

	/* The call sets a timer for a time that is over as well, which costs as much as a sleep. */
	if (due <= vt_now())
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

bool rp_turn_wait(struct rp_thread *t, const struct vt_rec *rec)
{
	struct rp_world *w = t->prog->w;
	uint32_t i;

	/* Once more if one has gone back meanwhile: it was at the end of what overlap.c lets pass. */
	do {
		if (rp_is_failed(w))
			return false;
		for (i = 0; i < w->n_slots; i++)
			if (&w->slot[i] != t->slot && !slot_wait_past(t, &w->slot[i], rec->begin))
				return false;
	} while (!rp_rec_may_begin(w, t->slot, rec->begin));
	if (t->prog->pace)
		turn_pace(t, rec);
	__atomic_store_n(&t->slot->cpu, cpu_current(), __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->since, vt_now(), __ATOMIC_RELAXED);
	return true;
}

/* The number by which a thread is over with what may bring about the end of @rec; 0: it does nothing of that sort. */
static uint64_t slot_awaited_end(const struct rp_world *w, const struct rp_slot *s,
				 const struct vt_rec *rec)
{
	const struct vt_program *p = &w->dir.prog[s->prog];
	uint64_t off = __atomic_load_n(&s->off, __ATOMIC_RELAXED);
	const struct vt_rec *at;

	/* A trace that still grows may be longer in the other process. */
	if (!off || off >= p->size || slot_is_past(s, RP_DONE))
		return 0;
	at = (const struct vt_rec *)(p->data + off);
	return at->end < rec->end || (vt_is_post(at->kind) && at->begin < rec->end) ? at->end : 0;
}

bool rp_turn_yield(struct rp_thread *t, const struct vt_rec *rec)
{
	struct rp_world *w = t->prog->w;
	struct rp_slot *s;
	uint64_t end;
	uint32_t i;

	for (i = 0; i < w->n_slots; i++) {
		s = &w->slot[i];
		end = s == t->slot ? 0 : slot_awaited_end(w, s, rec);
		if (!end || slot_is_past(s, end + 1))
			continue;
		/* It may be none of this one's business: then what is waited for comes meanwhile. */
		if (!slot_spin(t, s, end + 1))
			slot_sleep(s, end + 1);
		return true;
	}
	return false;
}
