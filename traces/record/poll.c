/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of polls and of CQ events. Empty polls are counted, and the count is recorded with the
 * next poll that finds something.
 */
#include "traces/record/poll.h"
#include "traces/record/next_symbol.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

static void rec_poll_fill_wc(struct vt_wc *to, const struct ibv_wc *wc, const struct rec_obj *ctx)
{
	const struct rec_obj *qp = rec_obj_find_qpn(ctx, wc->qp_num);

	to->wr_id = wc->wr_id;
	to->status = wc->status;
	to->vendor_err = wc->vendor_err;
	to->qp = qp ? qp->ord : 0;
	to->qp_num = wc->qp_num;
	/* Other fields of a failed completion are undefined. */
	if (wc->status != IBV_WC_SUCCESS)
		return;
	to->opcode = wc->opcode;
	to->byte_len = wc->byte_len;
	to->imm = wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ? wc->imm_data : 0;
	to->src_qp = wc->src_qp;
	to->wc_flags = wc->wc_flags;
	to->pkey_index = wc->pkey_index;
	to->slid = wc->slid;
	to->sl = wc->sl;
	to->dlid_path_bits = wc->dlid_path_bits;
}

static void rec_poll_record_wcs(struct rec_obj *o, struct rec_span span, int ret,
				const struct ibv_wc *wc)
{
	u32 i, n = ret > 0 ? (u32)ret : 0;
	struct vt_wc *to;
	struct vt_rec *r = rec_poll_begin(o, ret, n, &to);

	if (!r)
		return;
	for (i = 0; i < n; i++) {
		rec_poll_fill_wc(&to[i], &wc[i], o ? o->ctx_obj : NULL);
		rec_recv_completed(&to[i], o ? o->ctx_obj : NULL);
	}
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

int rec_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct rec_ctx *ctx = rec_ctx_find(cq->context);
	struct rec_span span;
	struct rec_obj *o;
	int ret, saved;

	if (!rec_enter())
		return ctx->ops.poll_cq(cq, n, wc);
	/*
	 * Reads the counter without incrementing it, to keep its cache line shared between the
	 * programs.
	 */
	span.begin = load_relaxed(&rec.w.order->next);
	span.t_begin = 0;
	ret = ctx->ops.poll_cq(cq, n, wc);
	saved = errno;
	o = rec_obj_find(VOBJ_CQ, cq);
	if (!ret && o) {
		__atomic_add_fetch(&o->empty, 1, __ATOMIC_RELAXED);
	} else if (ret) {
		span.t_begin = vt_now();
		rec_poll_record_wcs(o, span, ret, wc);
	}
	rec_leave();
	errno = saved;
	return ret;
}

int rec_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct rec_ctx *ctx = rec_ctx_find(cq->context);
	struct vt_cqop op = { .n = (u64)solicited_only };
	struct rec_span span;
	int saved;

	if (!rec_enter())
		return ctx->ops.req_notify_cq(cq, solicited_only);
	span = rec_span_begin();
	op.ret = ctx->ops.req_notify_cq(cq, solicited_only);
	saved = errno;
	op.cq = rec_obj_ord(VOBJ_CQ, cq);
	rec_cqop_record(VT_NOTIFY, span, &op);
	rec_leave();
	errno = saved;
	return op.ret;
}

SHIM_EXPORT int wrap_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				  void **context) __asm__("ibv_get_cq_event");
SHIM_EXPORT void wrap_ack_cq_events(struct ibv_cq *cq, unsigned int n) __asm__("ibv_ack_cq_events");

int wrap_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	static void *slot;
	__typeof__(&wrap_get_cq_event) lower;
	struct vt_cqop op = { .cq = 0 };
	struct rec_span span;
	int ret, saved;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "ibv_get_cq_event");
	if (!rec_enter())
		return lower(channel, cq, context);
	span = rec_span_begin();
	ret = lower(channel, cq, context);
	saved = errno;
	op.ret = ret ? -saved : 0;
	op.cq = ret ? 0 : rec_obj_ord(VOBJ_CQ, *cq);
	op.obj2 = rec_obj_ord(VOBJ_CH, channel);
	op.n = 1;
	/* A non-blocking call found no event: like an empty poll, it is not recorded. */
	if (!ret || saved != EAGAIN)
		rec_cqop_record(VT_CQ_EVENT, span, &op);
	rec_leave();
	errno = saved;
	return ret;
}

void wrap_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	static void *slot;
	__typeof__(&wrap_ack_cq_events) lower;
	struct vt_cqop op = { .n = n };
	struct rec_span span;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "ibv_ack_cq_events");
	if (!rec_enter()) {
		lower(cq, n);
		return;
	}
	op.cq = rec_obj_ord(VOBJ_CQ, cq);
	span = rec_span_begin();
	lower(cq, n);
	rec_cqop_record(VT_ACK, span, &op);
	rec_leave();
}
