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

/*
 * Finds the CQ before the call: an acknowledgement lets another thread's ibv_destroy_cq() return,
 * after which the table has no such object.
 */
enum tap_verdict rec_cq_begin(struct tap_cqop *p)
{
	struct tap_scratch *mine = &p->op.scratch[TAP_RECORD];

	rec_span_keep(mine, rec_span_begin());
	mine->word[2] = p->what == TAP_CQ_EVENT ? 0 : tap_obj_ord(VOBJ_CQ, p->cq);
	return TAP_PASS;
}

void rec_cq_end(struct tap_cqop *p)
{
	static const enum vt_kind kinds[] = {
		[TAP_CQ_ARM] = VT_NOTIFY,
		[TAP_CQ_EVENT] = VT_CQ_EVENT,
		[TAP_CQ_ACK] = VT_ACK,
	};
	const struct tap_scratch *mine = &p->op.scratch[TAP_RECORD];
	struct vt_cqop op = { .cq = (u32)mine->word[2], .n = p->n, .ret = p->ret };

	if (p->what == TAP_CQ_EVENT) {
		/* A non-blocking call found no event: like an empty poll, it is not recorded. */
		if (p->ret && p->err == EAGAIN)
			return;
		op.ret = p->ret ? -p->err : 0;
		op.obj2 = tap_obj_ord(VOBJ_CH, p->channel);
		if (!p->ret)
			op.cq = tap_obj_ord(VOBJ_CQ, p->cq);
	}
	rec_cqop_record(kinds[p->what], rec_span_kept(mine), &op);
}
