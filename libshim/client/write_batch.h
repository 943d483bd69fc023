/* SPDX-License-Identifier: MIT */
/**
 * DOC: deferred doorbells that let small RDMA WRITEs form batches.
 */
#ifndef LIBSHIM_CLIENT_WRITE_BATCH_H
#define LIBSHIM_CLIENT_WRITE_BATCH_H

#include "emulator/types.h"

/**
 * struct write_batch - the deferred doorbell of a QP; under the send queue's lock.
 * @rung: send queue index up to which the doorbell was rung
 * @fabric_runs: the fabric process's runs of this QP that were seen
 * @rest: number of coming posts that must not wait
 * @penalty: value of @rest the next time
 */
struct write_batch {
	u32 rung;
	u32 fabric_runs;
	u32 rest;
	u32 penalty;
};

/*
 * Of so many work requests in flight the last may wait for more. With fewer, less one, none of this
 * need be called: the next post cannot wait, and does not ask when this one ended.
 */
#define WRITE_BATCH_FROM 16u

/* --- write_batch.c --- */

/**
 * shim_write_batch_wait() - whether the small WRITEs just posted may wait for more of them.
 * @slot: the QP's slot
 * @head: index after the WRITEs
 * @in_flight: work requests that were posted and not yet polled
 *
 * Otherwise the caller notes that by shim_write_batch_rung(), under the same lock, rings the
 * doorbell without the lock and then calls shim_write_batch_end().
 */
bool shim_write_batch_wait(struct write_batch *b, u32 slot, u32 head, u32 in_flight);
void shim_write_batch_end(void);

static inline void shim_write_batch_rung(struct write_batch *b, u32 head)
{
	b->rung = head;
}

#endif
