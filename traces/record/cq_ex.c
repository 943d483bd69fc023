/* SPDX-License-Identifier: MIT */
/*
 * Extended completion queues: what is polled between ibv_start_poll() and ibv_end_poll() is one record, or
 * one before each call in between and one behind.
 *
 * The library below holds the CQ's lock in between, so that the batch needs none. Fields are read by the library's own
 * functions when an entry becomes current; a program's reading is none of ours.
 */
#include "traces/record/record.h"

#include <stdlib.h>

#define BATCH 256u /* completions of one record; what follows has one of its own */

struct rec_cqex {
	struct ibv_cq_ex low; /* its functions, as the library below had made them */
	struct rec_span span;
	u32 n;
	struct vt_wc wc[BATCH];
};

/* The CQ that this thread is between ibv_start_poll() and ibv_end_poll() of. */
static __thread struct rec_obj *open_cq __attribute__((tls_model("initial-exec")));

static struct rec_obj *rec_cqex_object(struct ibv_cq_ex *ex)
{
	return rec_obj_find(VOBJ_CQ, ex);
}

static void rec_cqex_record_poll(struct rec_obj *o, struct rec_span span, const struct vt_wc *wc,
				 u32 n, int ret)
{
	struct vt_wc *to;
	struct vt_rec *r = rec_poll_begin(o, ret, n, &to);

	if (!r)
		return;
	((struct vt_poll *)vt_rec_body(r))->ex = 1;
	if (n)
		memcpy(to, wc, n * sizeof(*wc));
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

/* The fields that the CQ was made with, of the entry that is current. */
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

static void rec_cqex_flush(struct rec_obj *o)
{
	struct rec_cqex *b = o->ex;
	u32 n = b->n;

	b->n = 0;
	if (n)
		rec_cqex_record_poll(o, b->span, b->wc, n, (int)n);
}

static void rec_cqex_add_current(struct rec_obj *o, struct ibv_cq_ex *ex)
{
	struct rec_cqex *b = o->ex;

	if (b->n == BATCH)
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
			open_cq = o;
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

	open_cq = NULL;
	/* What it had is written before the CQ is free for others. */
	if (rec_enter()) {
		rec_cqex_flush(o);
		o->ex->low.end_poll(ex);
		rec_leave();
	} else {
		o->ex->low.end_poll(ex);
	}
}

void rec_cqex_flush_open(void)
{
	if (open_cq)
		rec_cqex_flush(open_cq);
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

void rec_cqex_free(struct rec_obj *o)
{
	if (open_cq == o)
		open_cq = NULL;
	free(o->ex);
	o->ex = NULL;
}
