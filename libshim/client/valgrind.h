/* SPDX-License-Identifier: MIT */
/**
 * DOC: what valgrind's thread checkers must know of the shim.
 *
 * Helgrind and DRD understand pthread's locks, not the lock-free queues that programs share with
 * the HCA. They ignore the memory of those, and learn that a post happens before the completion
 * that a poller finds. Without valgrind all of this is one flag, which is never set.
 */
#ifndef LIBSHIM_CLIENT_VALGRIND_H
#define LIBSHIM_CLIENT_VALGRIND_H

#include "emulator/types.h"
#include "libshim/interpose/export.h"

/** shim_on_valgrind - whether the program runs under valgrind. */
extern bool shim_on_valgrind SHIM_HIDDEN;
/** shim_on_thread_checker - whether it runs under helgrind or DRD. */
extern bool shim_on_thread_checker SHIM_HIDDEN;

/** shim_valgrind_start() - set the flags, and exclude the shim's own variables. */
void shim_valgrind_start(void);
/** shim_valgrind_exclude() - exclude memory whose users synchronise without locks. */
void shim_valgrind_exclude(const void *at, u64 size);
/**
 * shim_valgrind_leave_out() - keep memcheck's leak search, which reads every accessible page of the
 * process, away from memory that has hundreds of MiB and no pointer: declare it inaccessible, and
 * accesses to it no errors.
 */
void shim_valgrind_leave_out(const void *at, u64 size);
/**
 * shim_valgrind_acquire() - all that happened before shim_valgrind_release() calls did so. Both are
 * for thread checkers: callers test @shim_on_thread_checker, so that no other tool counts them.
 */
void shim_valgrind_acquire(void);
void shim_valgrind_release(void);
/** shim_valgrind_keep_thread() - in a thread that never ends: its memory is no leak. */
void shim_valgrind_keep_thread(void);

#endif
