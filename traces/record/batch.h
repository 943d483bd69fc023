/* SPDX-License-Identifier: MIT */
/**
 * DOC: the work requests between ibv_wr_start() and ibv_wr_complete(), as they will stand in their
 * record.
 */
#ifndef TRACES_RECORD_BATCH_H
#define TRACES_RECORD_BATCH_H

#include "traces/record/poll_record.h"

#define REC_BATCH_BYTES (256u << 10) /* of a QP; a longer batch is not recorded */

/**
 * struct rec_batch - the batch of a QP. The library below holds the QP's lock from start to
 * completion (ibv_wr_post(3)), so it needs none.
 * @cur: the work request under construction
 * @n: work requests of the batch; @len: their bytes
 * @lost: one did not fit
 * @span: when the batch began
 */
struct rec_batch {
	struct vt_wr *cur;
	u32 n;
	u32 len;
	bool lost;
	struct rec_span span;
	_Alignas(8) u8 buf[REC_BATCH_BYTES];
};

/** rec_batch_begin() - empty the batch. */
void rec_batch_begin(struct rec_batch *b, struct rec_span span);
/** rec_batch_add_wr() - add a work request. Return: it, or NULL: no room; the batch is lost. */
struct vt_wr *rec_batch_add_wr(struct rec_batch *b, const struct ibv_qp_ex *ex, u32 opcode);
/** rec_batch_set_tso() - the header of the current work request, IBV_WR_TSO. */
void rec_batch_set_tso(struct rec_batch *b, const void *hdr, u16 hdr_sz, u16 mss);
/** rec_batch_set_sges(), rec_batch_set_inline() - the data of the current one. @o: the QP */
void rec_batch_set_sges(struct rec_batch *b, const struct tap_obj *o, const struct ibv_sge *list,
			size_t n);
void rec_batch_set_inline(struct rec_batch *b, const struct tap_obj *o,
			  const struct ibv_data_buf *list, size_t n);
/**
 * rec_batch_record() - begin the record of the batch. End it by rec_record_stamp() and
 * vt_rec_commit(). Return: NULL: it is lost, or the trace takes no more.
 */
struct vt_rec *rec_batch_record(const struct rec_batch *b, const struct tap_obj *o);

#endif
