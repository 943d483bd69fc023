/* SPDX-License-Identifier: MIT */
/*
 * Extended CQs: the completions from ibv_start_poll() to ibv_end_poll() are one record, unless the
 * thread records another call in between: then one before each of these, and one at the end.
 *
 * The library below holds the CQ's lock in between, so the batch needs none. When an entry becomes
 * current, the recorder reads its fields; the program's own reads are not recorded.
 */
#include "traces/record/hooks.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/session.h"

static void rec_cqex_add_current(struct rec_obj *o, struct ibv_cq_ex *ex)
{
	const struct tap_obj *ctx = o->tap->ctx_obj;
	struct rec_cqex *b = o->ex;
	struct ibv_wc wc;
	struct vt_wc *to;
	u64 ts;

	if (b->n == REC_CQEX_BATCH)
		rec_cqex_flush(o);
	if (!b->n) {
		b->span.begin = load_relaxed(&rec.w.order->next);
		b->span.t_begin = vt_now();
	}
	tap_cqex_read(o->tap, ex, &wc, &ts);
	to = &b->wc[b->n++];
	memset(to, 0, sizeof(*to));
	rec_poll_fill_wc(to, &wc, ctx);
	to->ts = ts;
	rec_recv_completed(to, ctx);
}

enum tap_verdict rec_cqex_begin(struct tap_cqex *p)
{
	struct rec_obj *o = rec_obj_of(p->obj);

	p->op.scratch[TAP_RECORD].word[0] = load_relaxed(&rec.w.order->next);
	if (p->what != TAP_CQEX_END)
		return TAP_PASS;
	rec_cqex_set_open(NULL);
	/* Write the record before other threads can poll the CQ. */
	if (o && o->ex)
		rec_cqex_flush(o);
	return TAP_PASS;
}

static void rec_cqex_started(struct rec_obj *o, const struct tap_cqex *p)
{
	struct rec_span span = { .begin = p->op.scratch[TAP_RECORD].word[0] };

	if (p->ret == ENOENT) {
		__atomic_add_fetch(&o->empty, 1, __ATOMIC_RELAXED);
		return;
	}
	span.t_begin = vt_now();
	if (p->ret) {
		rec_cqex_record_poll(o, span, NULL, 0, -p->ret);
		return;
	}
	o->ex->n = 0;
	rec_cqex_add_current(o, p->ex);
	o->ex->span = span;
	rec_cqex_set_open(o);
}

void rec_cqex_end(struct tap_cqex *p)
{
	struct rec_obj *o = rec_obj_of(p->obj);

	if (!o || !o->ex)
		return;
	if (p->what == TAP_CQEX_START)
		rec_cqex_started(o, p);
	else if (p->what == TAP_CQEX_NEXT && !p->ret)
		rec_cqex_add_current(o, p->ex);
}
