/* SPDX-License-Identifier: MIT */
/**
 * DOC: how the fabric process shares CPUs with the programs that it serves.
 *
 * Theory of operation
 * -------------------
 * Where programs poll memory on all CPUs, a process that wakes up waits until the slice of one of
 * them ends. Since Linux 6.12 one that asks for shorter slices preempts one with longer ones. That
 * needs no privilege; older kernels ignore it. So the fabric process has short slices.
 *
 * That is wrong for a fabric process that never sleeps, as next to a program of an isolated fabric
 * that rings doorbells without end. That program has one CPU, the fabric process another one, and
 * the programs that wait for their answers have none: each yields while it polls, which costs it
 * one of its long slices, and is woken next to a process whose short slice always ends first.
 * Therefore a fabric process that has not slept for a while, and serves several programs, takes
 * slices of the usual length and yields after each turn of its loop. A program that got an answer
 * then takes it, asks again and yields, within microseconds. If no process waits for the CPU, the
 * fabric process goes on at once.
 *
 * A process that computes keeps the CPU for its whole slice. So the fabric process gives away no
 * more time than it uses: after a yield it goes on for as long as that has taken.
 */
#include "fabric/server/slices.h"
#include "fabric/proto/real_time.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_NS  100000ULL /* the shortest that Linux gives */
#define USUAL	  0ULL
#define ASLEEP_NS 10000ULL /* a wait of that length was a sleep */
#define AWAKE_NS  1000000ULL

/*
 * struct slices_attr - the kernel's struct sched_attr, in its first version. C libraries define
 * that one in different headers, or not at all.
 */
struct slices_attr {
	u32 size, policy;
	u64 flags;
	s32 nice;
	u32 priority;
	u64 runtime_ns, deadline_ns, period_ns;
};

/* Threads that write files are in no hurry: they do not inherit it. */
static void slices_set(u64 ns)
{
	struct slices_attr s = { 0 };

	if (syscall(SYS_sched_getattr, 0, &s, sizeof(s), 0) || s.policy != SCHED_NORMAL)
		return;
	s.size = sizeof(s);
	s.flags |= SCHED_FLAG_RESET_ON_FORK;
	s.runtime_ns = ns;
	/* Where it is forbidden, packets take longer on a busy machine. */
	(void)syscall(SYS_sched_setattr, 0, &s, 0);
}

void slices_begin(struct slices *s)
{
	slices_set(SHORT_NS);
	s->slept_at = real_ns();
}

void slices_waited(struct slices *s, u64 from, u64 to)
{
	if (to - from < ASLEEP_NS)
		return;
	s->slept_at = to;
	if (!s->are_long)
		return;
	s->are_long = false;
	slices_set(SHORT_NS);
}

void slices_give_way(struct slices *s)
{
	u64 now = real_ns(), after;

	if (now < s->slept_at + AWAKE_NS || now < s->keep_until)
		return;
	if (!s->are_long)
		slices_set(USUAL);
	s->are_long = true;
	sched_yield();
	after = real_ns();
	s->keep_until = after + (after - now);
}
