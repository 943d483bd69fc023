/* SPDX-License-Identifier: MIT */
/**
 * DOC: stopping the program's other threads while pages change places.
 *
 * A thread is stopped by a signal whose handler waits. Then it runs in user mode: neither it nor
 * the kernel for it writes to memory, so no access can be lost, fail, or see a page half exchanged.
 * lend_stop() stops all threads, or none, and then the pages stay where they are. A thread that
 * blocks the signal, sleeps in a call that the signal would disturb (call.h), or does not stop in
 * time costs nothing but lent memory. So does a debugger, which would show its user each of the
 * signals, unless the user has asked for lent memory.
 */
#ifndef LIBSHIM_LEND_THREADS_H
#define LIBSHIM_LEND_THREADS_H

#include "emulator/types.h"

#include <signal.h>

/** LEND_SIGNAL - stops threads, unless the program has a handler for it. */
#define LEND_SIGNAL (SIGRTMAX - 2)

/* --- mode.c --- */

/**
 * lend_can_stop() - whether memory may be lent, and threads can be stopped on this kind of machine,
 * with this libc.
 */
bool lend_can_stop(void);

/* --- threads.c --- */

/**
 * lend_stop() - stop the other threads. The caller has the lock of this folder, and takes no other
 * until lend_resume(), not even malloc()'s: stopped threads have them.
 * @brief: not for long, and only what no debugger sees
 * Return: 0, or -EBUSY: all run on.
 */
int lend_stop(bool brief);
/**
 * lend_signal_is_ours() - whether threads can be stopped by LEND_SIGNAL: the program does not use
 * it. From then on it has a handler.
 */
bool lend_signal_is_ours(void);
/**
 * lend_signal_is_shown() - whether a debugger traces the program, and its user has not asked for
 * lent memory: each LEND_SIGNAL would interrupt that user.
 */
bool lend_signal_is_shown(void);
/** lend_resume() - end what a successful lend_stop() has begun. */
void lend_resume(void);
/**
 * lend_has_stopped() - between these two: whether other threads were stopped. They may have changed
 * anything before.
 */
bool lend_has_stopped(void);
/**
 * lend_stopped_need() - whether the kernel writes to [from, to) while it has threads stopped: each
 * has variables that tell on which CPU it is (rseq(2)).
 */
bool lend_stopped_need(u64 from, u64 to);
/** lend_threads_forget() - in a forked child, which has one thread. */
void lend_threads_forget(void);

#endif
