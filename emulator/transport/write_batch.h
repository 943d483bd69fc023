/* SPDX-License-Identifier: MIT */
/**
 * DOC: small WRITEs that are executed together. See write_batch.c.
 */
#ifndef EMULATOR_TRANSPORT_WRITE_BATCH_H
#define EMULATOR_TRANSPORT_WRITE_BATCH_H

#include "emulator/engine.h"

/*
 * Small WRITEs up to this size, a cache line, are carried together
 * (emulator/transport/write_batch.c).
 */
#define WRITE_BATCH_PIECE 64u
#define WRITE_BATCH_MAX	  LIM_SGE /* pieces of one copy */

/**
 * struct write_batch_piece - a small RDMA WRITE: where it goes, and its payload in struct
 * burst_batch.src.
 */
struct write_batch_piece {
	u64 va;
	u32 rkey;
	u32 len;
};
/**
 * struct burst_batch - WRITEs of one packet each that have arrived together.
 * @first: the first of them, checked; the others differ in PSN, one more each, and in @piece only
 * @src: their payload, an entry each
 */
struct burst_batch {
	struct burst first;
	u32 n;
	struct write_batch_piece piece[WRITE_BATCH_MAX];
	struct hca_mem src;
};

/* --- write_batch.c --- */

/**
 * write_batch_send() - send the small WRITEs that wait, up to WQE @posted, as one.
 * Return: false when there is nothing of the kind: the ordinary way is to be taken.
 */
bool write_batch_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 posted);
/**
 * write_batch_input() - they arrive. Token held.
 * Return: whether they have been executed; if not nothing has changed, and they are to be given to
 * hca_input() one by one.
 */
bool write_batch_input(struct engine *e, const struct burst_batch *t);

#endif
