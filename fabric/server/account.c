/* SPDX-License-Identifier: MIT */
/**
 * DOC: the time that the fabric process spends on each process of an isolated fabric.
 *
 * The fabric process serves all programs of an isolated fabric with one thread. A program that
 * always has work must not keep it from the others. Three rules ensure that each program gets its
 * share, whatever another one asks for:
 *
 * 1. In a turn of the loop, a process is served until SLICE_NS have passed. The rest waits for
 *    the next turn, in which all others come first. Thus a program that waits for its answer waits
 *    for a slice of each other program, and the time of the fabric process is used as long as any
 *    program has work.
 * 2. A process that has used its slice up rests as long, if another one was served a moment ago.
 *    That one is likely to come again at once. And a fabric process that sleeps in between has the
 *    CPU as soon as it is woken, which one that computes without end has not on a busy machine.
 *    Requests and kicks of the process do not wake it meanwhile (park.c). Where it cannot sleep, it
 *    gives its CPU away after each turn (slices.c).
 * 3. One piece of work, such as a command that searches a large table, may take much longer than a
 *    slice. If it has taken more than LONG_NS, the process then rests until each other program that
 *    is active could have had as much time.
 *
 * The kernel may take the CPU from the fabric process in a slice. So a slice that was long by the
 * clock only makes the fabric process measure the CPU time of that process's slices for a while:
 * reading it takes a system call.
 *
 * A process has one account, however many connections and clients it has. Processes that it starts
 * have accounts of their own.
 */
#include "fabric/server/account.h"
#include "fabric/proto/real_time.h"

#include <stdlib.h>

#define SLICE_NS  25000ULL
#define LONG_NS	  100000ULL
#define RECENT_NS 1000000ULL /* a program that was served within that time comes again soon */
#define SLOW_NS	  1000000000ULL /* how long the CPU time of a slow one is measured */
#define PERIOD_NS 100000000ULL /* a program that takes no time for so long is not active */
#define REST_MAX  1000000000ULL

static struct account **account_bucket(struct accounts *t, s32 pid)
{
	return &t->bucket[(u32)pid % ACCOUNT_BUCKETS];
}

struct account *account_get(struct accounts *t, s32 pid)
{
	struct account **bucket, *a;

	bucket = account_bucket(t, pid);
	for (a = *bucket; a; a = a->next)
		if (a->pid == pid) {
			a->refs++;
			return a;
		}
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->pid = pid;
	a->refs = 1;
	a->next = *bucket;
	*bucket = a;
	return a;
}

struct account *account_share(struct account *a)
{
	if (a)
		a->refs++;
	return a;
}

void account_put(struct accounts *t, struct account *a)
{
	struct account **at;

	if (!a || --a->refs)
		return;
	for (at = account_bucket(t, a->pid); *at != a; at = &(*at)->next)
		;
	*at = a->next;
	free(a);
}

void accounts_turn(struct accounts *t)
{
	t->turn++;
}

bool accounts_are_many(const struct accounts *t)
{
	return t->active > 1 || t->active_before > 1;
}

bool account_may(const struct accounts *t, const struct account *a, u64 now)
{
	return now >= a->rest_until && (a->turn != t->turn || a->used < SLICE_NS);
}

u64 account_begin(const struct account *a)
{
	return unlikely(a->slow_until) ? thread_cpu_ns() : real_ns();
}

/* It takes time in this period. */
static void account_mark_active(struct accounts *t, struct account *a, u64 now)
{
	u64 period = now / PERIOD_NS;

	if (period != t->period) {
		t->active_before = period == t->period + 1 ? t->active : 0;
		t->active = 0;
		t->period = period;
	}
	if (a->period != period) {
		a->period = period;
		t->active++;
	}
}

/* Note that it was served last, and when another one was. */
static void account_mark_last(struct accounts *t, const struct account *a, u64 now)
{
	if (a != t->last) {
		t->other_at = t->last_at;
		t->last = a;
	}
	t->last_at = now;
}

/* Whether another one was served than the last, a moment ago. */
static bool accounts_take_turns(const struct accounts *t, u64 now)
{
	return now - t->other_at < RECENT_NS;
}

/* It has taken @used ns of CPU time at once, and much longer than a slice. */
static void account_rest_long(struct accounts *t, struct account *a, u64 used, u64 now)
{
	u32 active = max_u32(t->active, t->active_before);

	a->slow_until = now + SLOW_NS;
	if (active > 1)
		a->rest_until = now + min_u64(used * (active - 1), REST_MAX);
}

void account_end(struct accounts *t, struct account *a, u64 begin)
{
	bool slow = a->slow_until;
	u64 now = real_ns(), used = (slow ? thread_cpu_ns() : now) - begin;

	account_mark_active(t, a, now);
	account_mark_last(t, a, now);
	if (a->turn != t->turn) {
		a->turn = t->turn;
		a->used = 0;
	}
	a->used += used;
	t->are_mixed |= accounts_take_turns(t, now);
	if (slow && used > LONG_NS)
		account_rest_long(t, a, used, now);
	else if (a->used >= SLICE_NS && accounts_take_turns(t, now))
		a->rest_until = now + min_u64(a->used, LONG_NS);
	if (!slow && used > LONG_NS)
		a->slow_until = now + SLOW_NS;
	else if (slow && now > a->slow_until)
		a->slow_until = 0;
}
