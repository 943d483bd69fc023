/* SPDX-License-Identifier: MIT */
/*
 * Records polls and CQ events. Empty polls are counted, and the count is recorded with the next
 * poll that finds something.
 */
#include "traces/record/hooks.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

static void rec_poll_record_wcs(const struct tap_poll *p, struct rec_span span)
{
	const struct tap_obj *ctx = p->obj ? p->obj->ctx_obj : NULL;
	u32 i, n = p->ret > 0 ? (u32)p->ret : 0;
	struct vt_wc *to;
	struct vt_rec *r = rec_poll_begin(rec_obj_of(p->obj), p->ret, n, &to);

	if (!r)
		return;
	for (i = 0; i < n; i++) {
		rec_poll_fill_wc(&to[i], &p->wc[i], ctx);
		rec_recv_completed(&to[i], ctx);
	}
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

enum tap_verdict rec_poll_cq_begin(struct tap_poll *p)
{
	/*
	 * Reads the counter without incrementing it, to keep its cache line shared between the
	 * programs.
	 */
	p->op.scratch[TAP_RECORD].word[0] = load_relaxed(&rec.w.order->next);
	return TAP_PASS;
}

void rec_poll_cq_end(struct tap_poll *p)
{
	struct rec_span span = { .begin = p->op.scratch[TAP_RECORD].word[0] };
	struct rec_obj *o = rec_obj_of(p->obj);

	if (!p->ret && o) {
		__atomic_add_fetch(&o->empty, 1, __ATOMIC_RELAXED);
	} else if (p->ret) {
		span.t_begin = vt_now();
		rec_poll_record_wcs(p, span);
	}
}

enum tap_verdict rec_cq_begin(struct tap_cqop *p)
{
	rec_span_keep(&p->op.scratch[TAP_RECORD], rec_span_begin());
	return TAP_PASS;
}

void rec_cq_end(struct tap_cqop *p)
{
	static const enum vt_kind kinds[] = {
		[TAP_CQ_ARM] = VT_NOTIFY,
		[TAP_CQ_EVENT] = VT_CQ_EVENT,
		[TAP_CQ_ACK] = VT_ACK,
	};
	struct vt_cqop op = { .n = p->n, .ret = p->ret };

	if (p->what == TAP_CQ_EVENT) {
		/* A non-blocking call found no event: like an empty poll, it is not recorded. */
		if (p->ret && p->err == EAGAIN)
			return;
		op.ret = p->ret ? -p->err : 0;
		op.obj2 = tap_obj_ord(VOBJ_CH, p->channel);
	}
	op.cq = p->what == TAP_CQ_EVENT && p->ret ? 0 : tap_obj_ord(VOBJ_CQ, p->cq);
	rec_cqop_record(kinds[p->what], rec_span_kept(&p->op.scratch[TAP_RECORD]), &op);
}
