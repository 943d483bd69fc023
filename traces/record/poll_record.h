/* SPDX-License-Identifier: MIT */
/** DOC: records of polls and of other operations on CQs. */
#ifndef TRACES_RECORD_POLL_RECORD_H
#define TRACES_RECORD_POLL_RECORD_H

#include "traces/record/object.h"

/** struct rec_span - when a call began. */
struct rec_span {
	u64 begin;
	u64 t_begin;
};

#define REC_CQEX_BATCH 256u /* completions of a record; more get another one */

/** struct rec_cqex - the completions of the current poll of an extended CQ. */
struct rec_cqex {
	struct rec_span span;
	u32 n;
	struct vt_wc wc[REC_CQEX_BATCH];
};

/**
 * rec_poll_begin() - begin the record of a poll, including empty polls before it. End it by
 * rec_record_stamp() and vt_rec_commit().
 * @cq: NULL: unknown
 * @ret: the result of the poll, or minus errno
 * @wc: set to where its @n completions are to be written
 * Return: NULL: the trace takes no more.
 */
struct vt_rec *rec_poll_begin(struct rec_obj *cq, int ret, u32 n, struct vt_wc **wc);
/** rec_poll_fill_wc() - fill in a completion of a record, which is 0. */
void rec_poll_fill_wc(struct vt_wc *to, const struct ibv_wc *wc, const struct tap_obj *ctx);
/** rec_cqop_record() - write a record of an operation on a CQ. */
void rec_cqop_record(enum vt_kind kind, struct rec_span span, const struct vt_cqop *op);
/** rec_poll_record_empty() - record the remaining empty polls of a CQ, at its end. @cq: or NULL */
void rec_poll_record_empty(struct rec_obj *cq);
/** rec_cqex_record_poll() - record a poll of an extended CQ. */
void rec_cqex_record_poll(struct rec_obj *o, struct rec_span span, const struct vt_wc *wc, u32 n,
			  int ret);
/** rec_cqex_flush() - record the completions that were polled from a CQ so far. */
void rec_cqex_flush(struct rec_obj *o);
/** rec_cqex_set_open() - the CQ that this thread is polling by ibv_start_poll(), or NULL. */
void rec_cqex_set_open(struct rec_obj *o);
/** rec_cqex_flush_open() - record the completions of that CQ, before another record. */
void rec_cqex_flush_open(void);
void rec_cqex_free(struct rec_obj *o);

#endif
