/* SPDX-License-Identifier: MIT */
/*
 * Records of polls and of other operations on CQs.
 *
 * Completions that a thread has polled from an extended CQ, and has not recorded yet, are recorded
 * before anything else of that thread: a replay plays the records of a thread in their order.
 */
#include "traces/record/poll_record.h"
#include "traces/record/object.h"
#include "traces/record/record.h"

#include <stdlib.h>

/* The CQ that this thread is polling, between ibv_start_poll() and ibv_end_poll(). */
static __thread struct rec_obj *open_cq __attribute__((tls_model("initial-exec")));

struct vt_rec *rec_poll_begin(struct rec_obj *cq, int ret, u32 n, struct vt_wc **wc)
{
	struct vt_rec *r = rec_record_begin(VT_POLL, sizeof(struct vt_poll) + n * sizeof(**wc));
	struct vt_poll *body;

	if (!r)
		return NULL;
	body = vt_rec_body(r);
	body->cq = cq ? cq->tap->ord : 0;
	body->n = n;
	body->ret = ret;
	body->empty = cq ? exchange(&cq->empty, 0) : 0;
	*wc = (struct vt_wc *)(body + 1);
	return r;
}

void rec_poll_fill_wc(struct vt_wc *to, const struct ibv_wc *wc, const struct tap_obj *ctx)
{
	const struct tap_obj *qp = tap_obj_find_qpn(ctx, wc->qp_num);

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

void rec_cqop_record(enum vt_kind kind, struct rec_span span, const struct vt_cqop *op)
{
	struct vt_rec *r = rec_record_begin(kind, sizeof(*op));

	if (!r)
		return;
	memcpy(vt_rec_body(r), op, sizeof(*op));
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

void rec_poll_record_empty(struct rec_obj *cq)
{
	struct vt_cqop op = { .cq = cq ? cq->tap->ord : 0 };

	if (!op.cq)
		return;
	op.n = exchange(&cq->empty, 0);
	if (op.n)
		rec_cqop_record(VT_EMPTY, rec_span_begin(), &op);
}

void rec_cqex_record_poll(struct rec_obj *o, struct rec_span span, const struct vt_wc *wc, u32 n,
			  int ret)
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

void rec_cqex_flush(struct rec_obj *o)
{
	struct rec_cqex *b = o->ex;
	u32 n = b->n;

	b->n = 0;
	if (n)
		rec_cqex_record_poll(o, b->span, b->wc, n, (int)n);
}

void rec_cqex_set_open(struct rec_obj *o)
{
	open_cq = o;
}

void rec_cqex_flush_open(void)
{
	if (open_cq)
		rec_cqex_flush(open_cq);
}

void rec_cqex_free(struct rec_obj *o)
{
	if (open_cq == o)
		open_cq = NULL;
	free(o->ex);
	o->ex = NULL;
}
