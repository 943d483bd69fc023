/* SPDX-License-Identifier: MIT */
/**
 * DOC: what a poller does that finds nothing.
 */
#ifndef LIBSHIM_CLIENT_POLL_IDLE_H
#define LIBSHIM_CLIENT_POLL_IDLE_H

#include "emulator/types.h"
#include "emulator/yield.h"

/**
 * struct poll_idle - the wait of a CQ's poller, see poll_idle.c.
 * @brought: the segment's count of deliveries when the wait began, at @began (ns)
 * @since, @looks: number of looks since @since, where sleeps count as polls
 * @crowd: whether other threads keep the CPUs busy
 * @patient: the wait before was a long one
 */
struct poll_idle {
	u64 began;
	u64 since;
	struct crowd crowd;
	u32 brought;
	u32 looks;
	bool patient;
};

/**
 * struct poll_shared - whether the poller of a CQ shares its CPU, see shim_poll_shared().
 * @looked: when the last look was (ns), or 0
 * @until: the CPU counts as shared until then
 * @since: when an entry was found, or a sleep ended (ns)
 * @sleeps: since the poller was last awake for long
 * @streamed: when a look found a stream of messages last (ns), or 0
 * @preempted: how often the thread had been preempted at the last long gap between two looks
 * @cons: entries of the CQ consumed at the last look
 */
struct poll_shared {
	u64 looked;
	u64 until;
	u64 since;
	u64 streamed;
	u64 preempted;
	u32 cons;
	u32 sleeps;
};

/* --- poll_idle.c --- */

/**
 * shim_poll_via() - nothing was found again, and packets pass links: receive what has come by a
 * wire, or maybe sleep until the fabric process delivers.
 * @again: receives whether to look again
 * Return: false: it did neither, since a peer of this process, or this process itself, delivers,
 * and wakes no poller.
 */
bool shim_poll_via(struct poll_idle *idle, bool *again);
/** shim_poll_end() - the caller may sleep next: do pending work, and leave the wires to others. */
void shim_poll_end(void);
/**
 * shim_poll_give_way() - nothing was found: sleep if captures lag. Return: whether to look again.
 */
bool shim_poll_give_way(void);
/**
 * shim_poll_shared() - nothing was found since the last call, maybe: sleep if the CPU is shared.
 *
 * @cons: entries of the CQ consumed so far
 *
 * Return: whether to look again.
 */
bool shim_poll_shared(struct poll_shared *s, u32 cons);

#endif
