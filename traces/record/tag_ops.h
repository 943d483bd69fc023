/* SPDX-License-Identifier: MIT */
/** DOC: records of ibv_post_srq_ops(). */
#ifndef TRACES_RECORD_TAG_OPS_H
#define TRACES_RECORD_TAG_OPS_H

#include "traces/record/poll_record.h"

/**
 * rec_tag_record_begin() - begin the record of a chain. @srq: NULL: unknown
 * Return: NULL: the chain is too long, or the trace takes no more.
 */
struct vt_rec *rec_tag_record_begin(const struct tap_obj *srq, const struct ibv_ops_wr *op);
/** rec_tag_record_end() - end it, after the call. */
void rec_tag_record_end(struct vt_rec *r, struct rec_span span, const struct tap_post *p);

#endif
