/* SPDX-License-Identifier: MIT */
/**
 * DOC: watched regions: memory to which peers write, and that the CPU uses while they do
 * (--check=polled).
 *
 * The whole pages of a region with remote write or atomic rights have no access rights. Each access
 * of the program faults; the handler asks the board whether a peer has a WRITE or an atomic
 * outstanding to that byte, lets one instruction pass, and takes the rights away again: a loop that
 * waits for a byte is seen at each turn. Accesses that go through the memory open their page until
 * the next call of the API ends, as do system calls.
 *
 * Regions and guards (guard.h) are not watched at the same time: guards have precedence.
 */
#ifndef LIBTAP_CHECK_WATCH_H
#define LIBTAP_CHECK_WATCH_H

#include "libtap/check/object.h"

/** check_watch_wants() - whether anybody wants to know. */
bool check_watch_wants(void);
/** check_watch_add() - watch a region; check_watch_remove(): no longer, it is deregistered. */
void check_watch_add(const struct check_obj *mr);
void check_watch_remove(const struct check_obj *mr);
/** check_watch_fork() - in a child, whose memory no peer reaches. */
void check_watch_fork(void);

/** check_watch_memory() - a system call uses memory; check_watch_fault(): a fault has come. */
void check_watch_memory(u64 addr, u64 len, enum tap_memory use);
bool check_watch_fault(struct tap_fault *fault);
/** check_watch_stepped() - the instruction has passed that had faulted. */
void check_watch_stepped(void);
/** check_watch_pause() - the library needs its rights until the end of the call. */
void check_watch_pause(u64 addr, u64 len);
/** check_watch_resume() - a call has ended. */
void check_watch_resume(void);

#endif
