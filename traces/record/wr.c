/* SPDX-License-Identifier: MIT */
/*
 * ibv_wr_*(): the calls from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() are one record.
 * The work requests are collected in the QP's batch while the program builds them.
 */
#include "traces/calls/wr_flush.h"
#include "traces/record/batch.h"
#include "traces/record/hooks.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

/* When this thread has called ibv_wr_start(), which waits for the QP's lock. */
static __thread struct rec_span starting __attribute__((tls_model("initial-exec")));

static void rec_wr_fill_remote(struct vt_wr *wr, const struct tap_wr_op *op)
{
	wr->rkey = op->key;
	wr->remote_addr = op->addr;
}

static void rec_wr_fill_mw(struct vt_wr *wr, const struct tap_wr_op *op)
{
	wr->mw = tap_obj_ord(VOBJ_MW, op->mw);
	wr->mw_rkey = op->key;
	wr->mw_mr = tap_obj_ord(VOBJ_MR, op->bind->mr);
	wr->mw_access = op->bind->mw_access_flags;
	wr->mw_addr = op->bind->addr;
	wr->mw_len = op->bind->length;
}

static void rec_wr_fill_opcode(struct vt_wr *wr, const struct tap_wr_op *op)
{
	switch (op->opcode) {
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->imm = op->key;
		break;
	case IBV_WR_BIND_MW:
		rec_wr_fill_mw(wr, op);
		break;
	case VCALL_WR_FLUSH:
		rec_wr_fill_remote(wr, op);
		wr->flags |= VT_WR_FLUSH;
		wr->mw_access = VT_FLUSH_ACCESS(op->type, op->level);
		wr->mw_len = op->len;
		break;
	case IBV_WR_ATOMIC_WRITE:
		wr->flags |= VT_WR_ATOMIC_WRITE;
		/* fall through */
	default:
		rec_wr_fill_remote(wr, op);
		wr->imm = op->imm;
		wr->compare_add = op->compare_add;
		wr->swap = op->swap;
	}
}

static void rec_wr_add(struct rec_batch *b, const struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct vt_wr *wr = rec_batch_add_wr(b, ex, op->opcode);

	if (!wr)
		return;
	if (op->opcode == IBV_WR_TSO)
		rec_batch_set_tso(b, op->hdr, op->hdr_sz, op->mss);
	else
		rec_wr_fill_opcode(wr, op);
}

/* The rest of a work request under construction. */
static void rec_wr_set(const struct tap_obj *o, struct rec_batch *b, const struct tap_wr_op *op)
{
	switch (op->what) {
	case TAP_WR_UD_ADDR:
		b->cur->ah = tap_obj_ord(VOBJ_AH, op->ah);
		b->cur->remote_qpn = op->qpn;
		b->cur->remote_qkey = op->qkey;
		break;
	case TAP_WR_XRC_SRQN:
		b->cur->srqn = op->qpn;
		break;
	case TAP_WR_SGE:
	case TAP_WR_SGE_LIST:
		b->cur->flags |= op->what == TAP_WR_SGE ? VT_WR_SGE_ONE : VT_WR_SGE_LIST;
		rec_batch_set_sges(b, o, op->sge, op->n);
		break;
	case TAP_WR_INLINE:
	case TAP_WR_INLINE_LIST:
		b->cur->flags |= op->what == TAP_WR_INLINE ? VT_WR_INLINE_ONE : VT_WR_INLINE_LIST;
		rec_batch_set_inline(b, o, op->buf, op->n);
		break;
	default:
		break;
	}
}

void rec_wr(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct rec_batch *b = rec_obj_of(o) ? rec_obj_of(o)->batch : NULL;

	if (!b)
		return;
	switch (op->what) {
	case TAP_WR_STARTING:
		rec_mem_scan_exposed(true);
		starting = rec_span_begin();
		break;
	case TAP_WR_START:
		rec_batch_begin(b, starting);
		break;
	case TAP_WR_OP:
		rec_wr_add(b, ex, op);
		break;
	default:
		if (b->cur)
			rec_wr_set(o, b, op);
	}
}

enum tap_verdict rec_wr_batch_begin(struct tap_batch *b)
{
	struct tap_scratch *mine = &b->op.scratch[TAP_RECORD];
	const struct rec_batch *batch = rec_obj_of(b->obj) ? rec_obj_of(b->obj)->batch : NULL;

	/* Take the batch before other threads can start one. */
	mine->ptr = batch ? rec_batch_record(batch, b->obj) : NULL;
	if (mine->ptr)
		rec_span_keep(mine, batch->span);
	return TAP_PASS;
}

void rec_wr_batch_end(struct tap_batch *b)
{
	const struct tap_scratch *mine = &b->op.scratch[TAP_RECORD];
	struct vt_rec *r = mine->ptr;
	struct vt_post *body;

	if (!r)
		return;
	body = vt_rec_body(r);
	body->ret = b->ret;
	if (b->abort)
		body->how = VT_ABORTED;
	rec_record_stamp(r, rec_span_kept(mine));
	vt_rec_commit(r);
}
