/* SPDX-License-Identifier: MIT */
/** DOC: writes records of the calling thread. */
#ifndef TRACES_RECORD_RECORD_H
#define TRACES_RECORD_RECORD_H

#include "traces/record/poll_record.h"

/** rec_span_begin() - a call begins. */
static inline struct rec_span rec_span_begin(void)
{
	struct rec_span s;

	rec_cqex_flush_open();
	s.t_begin = vt_now();
	s.begin = vt_order_next(&rec.w);
	return s;
}

/** rec_record_begin() - reserve a record, as vt_rec_reserve(). */
static inline struct vt_rec *rec_record_begin(enum vt_kind kind, size_t body)
{
	rec_cqex_flush_open();
	return vt_rec_reserve(&rec.w, kind, body);
}

/** rec_record_stamp() - the call has ended: fill in the head of its record. */
static inline void rec_record_stamp(struct vt_rec *r, struct rec_span s)
{
	r->thread = rec_thread.ord;
	r->begin = s.begin;
	r->t_begin = s.t_begin;
	r->end = vt_order_next(&rec.w);
	r->t_end = vt_now();
}

/** rec_span_keep(), rec_span_kept() - keep a span from one hook of an operation to another. */
static inline void rec_span_keep(struct tap_scratch *to, struct rec_span s)
{
	to->word[0] = s.begin;
	to->word[1] = s.t_begin;
}

static inline struct rec_span rec_span_kept(const struct tap_scratch *from)
{
	return (struct rec_span){ .begin = from->word[0], .t_begin = from->word[1] };
}

#endif
