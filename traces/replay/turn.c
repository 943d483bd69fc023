/* SPDX-License-Identifier: MIT */
/**
 * DOC: the order of the records of all threads of a replay.
 *
 * Theory of operation
 * -------------------
 * A record begins when the calls of all other threads have passed its number. A thread waits for
 * one other thread after the other: first it spins for a moment, since most calls take some
 * microseconds, then it sleeps on that thread's slot, where it leaves the number that it waits for.
 * A thread that proceeds wakes only those that may go on now. So handing over the turn costs at
 * most one system call, and none if the other thread is still spinning.
 *
 * The spin time adapts: it doubles when spinning has saved a sleep, and is halved when it has not,
 * as with more threads than CPUs. Its bounds are about the time that a wakeup takes: a thread that
 * spins less would never meet another one that is just waking up, and both would sleep each time. A
 * thread does not spin for one that was last seen on its own CPU.
 */
#include "traces/replay/turn.h"
#include "emulator/backoff.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"

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
/* Sleeps are bounded: a process that is killed wakes nobody. */
#define SLEEP_NS 20000000

static uint64_t turn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t turn_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the CPU of the caller, from 1. */
static uint32_t cpu_current(void)
{
	return (uint32_t)sched_getcpu() + 1;
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

/* Spins until a slot has passed a number, or the spin time is over. */
static bool slot_spin(struct rp_thread *t, const struct rp_slot *s, uint64_t number)
{
	uint64_t since;
	uint32_t n;

	/* It cannot run while this thread spins. */
	if (__atomic_load_n(&s->cpu, __ATOMIC_RELAXED) == cpu_current())
		return false;
	since = vt_now();
	do {
		for (n = 0; n < LOOKS; n++) {
			if (slot_is_past(s, number)) {
				t->look_ns = turn_min(2 * t->look_ns, LOOK_MAX_NS);
				return true;
			}
			cpu_pause();
		}
	} while (vt_now() - since < t->look_ns);
	t->look_ns = turn_max(t->look_ns / 2, LOOK_MIN_NS);
	return false;
}

/* Returns false: the replay has failed. */
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

	/* Setting a timer in the past costs as much as a sleep. */
	if (due <= vt_now())
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

bool rp_turn_wait(struct rp_thread *t, const struct vt_rec *rec)
{
	struct rp_world *w = t->prog->w;
	uint32_t i;

	/* Repeat if a thread has gone back meanwhile: overlap.c moves the end of a call. */
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

/*
 * Returns the number by which a thread has finished what @rec may wait for; 0: it does nothing of
 * that kind.
 */
static uint64_t slot_awaited_end(const struct rp_world *w, const struct rp_slot *s,
				 const struct vt_rec *rec)
{
	const struct vt_program *p = &w->dir.prog[s->prog];
	uint64_t off = __atomic_load_n(&s->off, __ATOMIC_RELAXED);
	const struct vt_rec *at;

	/* A growing trace may be longer in the other process. */
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
		/*
		 * The thread may be unrelated: sleeps are bounded, and the completion is checked
		 * again.
		 */
		if (!slot_spin(t, s, end + 1))
			slot_sleep(s, end + 1);
		return true;
	}
	return false;
}
