/* SPDX-License-Identifier: MIT */
/*
 * Extended CQs: the completions from ibv_start_poll() to ibv_end_poll() are one record, unless the
 * thread records another call in between: then one before each of these, and one at the end.
 *
 * The library below holds the CQ's lock in between, so the batch needs none. When an entry becomes
 * current, the recorder reads its fields by the library's functions; the program's own reads are
 * not recorded.
 */
#include "traces/record/cq_ex.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

#include <stdlib.h>

static struct rec_obj *rec_cqex_object(struct ibv_cq_ex *ex)
{
	return rec_obj_find(VOBJ_CQ, ex);
}

/* Reads the fields that the CQ was created with, of the current entry. */
static void rec_cqex_fill_wc(struct vt_wc *to, struct ibv_cq_ex *ex, const struct ibv_cq_ex *low,
			     const struct rec_obj *ctx)
{
	const struct rec_obj *qp;

	memset(to, 0, sizeof(*to));
	to->wr_id = ex->wr_id;
	to->status = ex->status;
	to->vendor_err = low->read_vendor_err(ex);
	if (low->read_qp_num) {
		to->qp_num = low->read_qp_num(ex);
		qp = rec_obj_find_qpn(ctx, to->qp_num);
		to->qp = qp ? qp->ord : 0;
	}
	if (low->read_completion_ts)
		to->ts = low->read_completion_ts(ex);
	else if (low->read_completion_wallclock_ns)
		to->ts = low->read_completion_wallclock_ns(ex);
	if (ex->status != IBV_WC_SUCCESS)
		return;
	to->opcode = low->read_opcode(ex);
	to->wc_flags = low->read_wc_flags(ex);
	if (low->read_byte_len)
		to->byte_len = low->read_byte_len(ex);
	if (low->read_imm_data && (to->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)))
		to->imm = low->read_imm_data(ex);
	if (low->read_src_qp)
		to->src_qp = low->read_src_qp(ex);
	if (low->read_slid)
		to->slid = (u16)low->read_slid(ex);
	if (low->read_sl)
		to->sl = low->read_sl(ex);
	if (low->read_dlid_path_bits)
		to->dlid_path_bits = low->read_dlid_path_bits(ex);
}

static void rec_cqex_add_current(struct rec_obj *o, struct ibv_cq_ex *ex)
{
	struct rec_cqex *b = o->ex;

	if (b->n == REC_CQEX_BATCH)
		rec_cqex_flush(o);
	if (!b->n) {
		b->span.begin = load_relaxed(&rec.w.order->next);
		b->span.t_begin = vt_now();
	}
	rec_cqex_fill_wc(&b->wc[b->n], ex, &b->low, o->ctx_obj);
	rec_recv_completed(&b->wc[b->n++], o->ctx_obj);
}

static int rec_cqex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct rec_obj *o = rec_cqex_object(ex);
	struct rec_span span;
	int ret;

	if (!rec_enter())
		return o->ex->low.start_poll(ex, attr);
	span.begin = load_relaxed(&rec.w.order->next);
	span.t_begin = 0;
	ret = o->ex->low.start_poll(ex, attr);
	if (ret == ENOENT) {
		__atomic_add_fetch(&o->empty, 1, __ATOMIC_RELAXED);
	} else {
		span.t_begin = vt_now();
		if (ret) {
			rec_cqex_record_poll(o, span, NULL, 0, -ret);
		} else {
			o->ex->n = 0;
			rec_cqex_add_current(o, ex);
			o->ex->span = span;
			rec_cqex_set_open(o);
		}
	}
	rec_leave();
	return ret;
}

static int rec_cqex_next_poll(struct ibv_cq_ex *ex)
{
	struct rec_obj *o = rec_cqex_object(ex);
	int ret;

	if (!rec_enter())
		return o->ex->low.next_poll(ex);
	ret = o->ex->low.next_poll(ex);
	if (!ret)
		rec_cqex_add_current(o, ex);
	rec_leave();
	return ret;
}

static void rec_cqex_end_poll(struct ibv_cq_ex *ex)
{
	struct rec_obj *o = rec_cqex_object(ex);

	rec_cqex_set_open(NULL);
	/* Write the record before other threads can poll the CQ. */
	if (rec_enter()) {
		rec_cqex_flush(o);
		o->ex->low.end_poll(ex);
		rec_leave();
	} else {
		o->ex->low.end_poll(ex);
	}
}

void rec_cqex_attach(struct rec_obj *o, struct ibv_cq_ex *ex)
{
	struct rec_cqex *b = calloc(1, sizeof(*b));

	if (!b) {
		rec_note("cq%u: ibv_start_poll() is not recorded: %s", o->ord, strerror(ENOMEM));
		return;
	}
	b->low = *ex;
	o->ex = b;
	ex->start_poll = rec_cqex_start_poll;
	ex->next_poll = rec_cqex_next_poll;
	ex->end_poll = rec_cqex_end_poll;
}
