/* SPDX-License-Identifier: MIT */
/**
 * DOC: guards: pages of outstanding requests that the CPU must not touch (--check=buffers).
 *
 * Whole pages within a data segment get the protection that their owner, the device, asks for: none
 * at all while a receive, READ or atomic may write there, and read-only while a send reads them.
 * The device is not hindered, as it does not use the program's addresses. The first access of the
 * program faults, or is seen before its system call; the checker notes where it was, and gives the
 * program its rights back. The report follows with the next call of the API, which can ask in what
 * state the queue pair is.
 *
 * Memory is guarded only if it was private, anonymous or of a file, and writable when it was
 * registered, so that the rights that it had are known. The registering thread's own stack and
 * receives that overlap have no guards.
 */
#ifndef LIBTAP_CHECK_GUARD_H
#define LIBTAP_CHECK_GUARD_H

#include "libtap/check/object.h"

/* --- guard.c --- */

/** check_guard_wants() - whether anybody wants to know. */
bool check_guard_wants(void);
/** check_guard_start() - whether rights can be taken away: the device and a handler do without. */
bool check_guard_start(void);
/**
 * check_guard_lock() - lock for a fault handler, which may have interrupted the thread that holds
 * the lock. Return: false: that seems to be so.
 */
bool check_guard_lock(pthread_mutex_t *of);
/**
 * check_guard_add() - guard the segments of a request to a queue pair or SRQ from now on.
 * @target: it writes them
 */
void check_guard_add(const struct check_obj *queue, struct check_wr *wr, bool target);
/** check_guard_pages() - the whole pages of a segment; *from >= *to: it has none. */
void check_guard_pages(const struct ibv_sge *sge, u64 *from, u64 *to);
/** check_guard_remove() - it leaves its queue. */
void check_guard_remove(struct check_wr *wr);
/** check_guard_remove_qp() - the queue pair executes nothing any more. */
void check_guard_remove_qp(const struct check_obj *qp);
/** check_guard_fork() - in a child, whose memory belongs to no device. */
void check_guard_fork(void);

/** check_guard_memory() - a system call uses memory; check_guard_fault(): a fault has come. */
void check_guard_memory(u64 addr, u64 len, enum tap_memory use);
bool check_guard_fault(struct tap_fault *fault);
/** check_guard_pause() - the library needs its rights until the end of the call. */
void check_guard_pause(u64 addr, u64 len);
/** check_guard_resume() - a call has ended. */
void check_guard_resume(void);
/** check_guard_was_used() - whether the program has used guarded memory of a request. */
bool check_guard_was_used(const struct check_wr *wr);

/* --- guard_report.c --- */

/**
 * struct guard_owner - the request that a report names. @queue: the queue pair or SRQ (@kind);
 *	@ord: its ordinal
 * @shared: the memory is, and no device may write there while it has a guard
 * @from, @to: the guarded pages
 */
struct guard_owner {
	enum vobj kind;
	const void *queue;
	u32 ord;
	bool target;
	bool shared;
	u64 from;
	u64 to;
	u64 wr_id;
	check_stack posted;
};

/** check_guard_note() - keep what was found; the caller holds the lock of the guards. */
void check_guard_note(const struct guard_owner *owner, enum tap_memory use, u64 addr,
		      check_stack stack);
/** check_guard_note_use() - keep that the CPU has used bytes to which a peer writes. */
void check_guard_note_use(const struct check_use *use, u64 addr, bool write, check_stack stack);
/** check_guard_report() - a call begins: report what was found. */
void check_guard_report(void);
/** check_guard_report_fork() - in a child: nothing was found. */
void check_guard_report_fork(void);

#endif
