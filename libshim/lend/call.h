/* SPDX-License-Identifier: MIT */
/**
 * DOC: a system call in which the stop of a thread (threads.c) finds it.
 *
 * A signal ends a wait in the kernel. Most calls then begin again by themselves, as their handler
 * has SA_RESTART, but some return EINTR in any case, which the program would notice. For those the
 * handler puts the thread back before the instruction that made the call. Nothing was transferred
 * by a call that returns EINTR, so it is as if the thread had been slow to make it.
 *
 * A signal of the program that comes during the stop runs its handler when the stop is over. It has
 * to end the call as it would have without the stop: a thread may wait for nothing else (due.c).
 *
 * A call that has transferred a part returns that part, and no handler can change this. So a thread
 * that sleeps in a call that is not known to begin again in full is not stopped.
 *
 * A time limit begins anew with its call, unless the kernel stores how much of it is left, or a
 * wrapper of the call knows (wait.h). Waits would never end in a program that stops threads all the
 * time. call_note_stop() and call_is_stoppable() bound them: a wait ends after at most twice its
 * limit.
 */
#ifndef LIBSHIM_LEND_CALL_H
#define LIBSHIM_LEND_CALL_H

#include "emulator/types.h"

#include <ucontext.h>

#define CALL_ARGS 6u

/** enum thread_place - where a thread is. */
enum thread_place {
	THREAD_RUNS, /* in user mode or in the kernel */
	THREAD_SLEEPS, /* in a system call */
	THREAD_FAULTS, /* sleeps in the kernel, but not in a call: it waits for a page */
	THREAD_DEAD
};

/** struct thread_call - a thread's system call; all but @place only if it sleeps in one. */
struct thread_call {
	enum thread_place place;
	u64 nr;
	u64 arg[CALL_ARGS];
	u64 sp;
	u64 pc;
};

/**
 * call_file_read() - read file @name of thread @tid from /proc, as far as @size has room for it.
 * Return: 0 or -errno.
 */
int call_file_read(s32 tid, const char *name, char *text, size_t size);
/** call_read() - what the thread @tid does, from /proc. Return: 0 or -errno. */
int call_read(s32 tid, struct thread_call *call);
/** call_is_stoppable() - whether the thread's program cannot notice a signal. @now: monotonic */
bool call_is_stoppable(const struct thread_call *call, u64 now);
/** call_note_stop() - threads are stopped at @now. */
void call_note_stop(u64 now);
/**
 * call_restart() - in the handler: have an interrupted call begin again after it.
 * @seen: what the thread did before the signal, as far as it is known
 */
void call_restart(ucontext_t *uc, const struct thread_call *seen);

/* --- due.c --- */

/**
 * signal_is_due() - in the handler: whether a signal of the program has come for this thread since
 * the handler has begun. It is delivered when the handler returns.
 * @restarts: receives whether calls are to begin again after it
 */
bool signal_is_due(const ucontext_t *uc, bool *restarts);

#endif
