/* SPDX-License-Identifier: MIT */
/*
 * ibv_wr_*(): the calls from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() are one record.
 *
 * The wrappers collect the work requests in the QP's batch while the program builds them.
 */
#include "traces/record/wr.h"
#include "traces/calls/wr_flush.h"
#include "traces/record/batch.h"
#include "traces/record/memory.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

#include <stdlib.h>

/** struct rec_wr - @low, @low_flush: a QP's functions before they were patched; its @batch. */
struct rec_wr {
	struct ibv_qp_ex low;
	vcall_wr_flush low_flush;
	struct rec_batch batch;
};

static struct rec_wr *rec_wr_of_qp(struct ibv_qp_ex *ex)
{
	return rec_obj_find(VOBJ_QP, &ex->qp_base)->wr;
}

/* Only calls of the program are recorded, and only in processes with a trace. */
static bool rec_wr_is_recorded(void)
{
	return !rec_thread.depth && load_relaxed(&rec.state) == REC_ON;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct rec_wr *x = rec_wr_of_qp(ex);
	struct rec_span span = { 0, 0 };

	if (rec_enter()) {
		rec_mem_scan_exposed(true);
		span = rec_span_begin();
		rec_leave();
	}
	x->low.wr_start(ex);
	rec_batch_begin(&x->batch, span);
}

/* --- opcodes --- */

#define BUILD(op, ...)                                                                             \
	struct rec_wr *x = rec_wr_of_qp(ex);                                                       \
	struct vt_wr *wr = rec_wr_is_recorded() ? rec_batch_add_wr(&x->batch, ex, op) : NULL;      \
                                                                                                   \
	x->low.__VA_ARGS__;                                                                        \
	if (!wr)                                                                                   \
	return

static void wr_send(struct ibv_qp_ex *ex)
{
	BUILD(IBV_WR_SEND, wr_send(ex));
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	BUILD(IBV_WR_SEND_WITH_IMM, wr_send_imm(ex, imm));
	wr->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	BUILD(IBV_WR_SEND_WITH_INV, wr_send_inv(ex, rkey));
	wr->imm = rkey;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	BUILD(IBV_WR_RDMA_READ, wr_rdma_read(ex, rkey, addr));
	wr->rkey = rkey;
	wr->remote_addr = addr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	BUILD(IBV_WR_RDMA_WRITE, wr_rdma_write(ex, rkey, addr));
	wr->rkey = rkey;
	wr->remote_addr = addr;
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	BUILD(IBV_WR_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm(ex, rkey, addr, imm));
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->imm = imm;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	BUILD(IBV_WR_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp(ex, rkey, addr, compare, swap));
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->compare_add = compare;
	wr->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	BUILD(IBV_WR_ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add(ex, rkey, addr, add));
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->compare_add = add;
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	BUILD(IBV_WR_ATOMIC_WRITE, wr_atomic_write(ex, rkey, addr, value));
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->flags |= VT_WR_ATOMIC_WRITE;
	memcpy(&wr->swap, value, sizeof(wr->swap));
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct rec_wr *x = rec_wr_of_qp(ex);
	struct vt_wr *wr =
		rec_wr_is_recorded() ? rec_batch_add_wr(&x->batch, ex, VT_IBV_WR_FLUSH) : NULL;

	x->low_flush(ex, rkey, addr, len, type, level);
	if (!wr)
		return;
	wr->flags |= VT_WR_FLUSH;
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->mw_access = VT_FLUSH_ACCESS(type, level);
	wr->mw_len = len;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	BUILD(IBV_WR_BIND_MW, wr_bind_mw(ex, mw, rkey, info));
	wr->mw = rec_obj_ord(VOBJ_MW, mw);
	wr->mw_rkey = rkey;
	wr->mw_mr = rec_obj_ord(VOBJ_MR, info->mr);
	wr->mw_access = info->mw_access_flags;
	wr->mw_addr = info->addr;
	wr->mw_len = info->length;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	BUILD(IBV_WR_LOCAL_INV, wr_local_inv(ex, rkey));
	wr->imm = rkey;
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	BUILD(IBV_WR_TSO, wr_send_tso(ex, hdr, hdr_sz, mss));
	rec_batch_set_tso(&x->batch, hdr, hdr_sz, mss);
}

/* --- addresses and data --- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct rec_wr *x = rec_wr_of_qp(ex);

	x->low.wr_set_ud_addr(ex, ah, qpn, qkey);
	if (!rec_wr_is_recorded() || !x->batch.cur)
		return;
	x->batch.cur->ah = rec_obj_ord(VOBJ_AH, ah);
	x->batch.cur->remote_qpn = qpn;
	x->batch.cur->remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct rec_wr *x = rec_wr_of_qp(ex);

	x->low.wr_set_xrc_srqn(ex, srqn);
	if (rec_wr_is_recorded() && x->batch.cur)
		x->batch.cur->srqn = srqn;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge one = { .addr = addr, .length = length, .lkey = lkey };
	struct rec_wr *x = rec_wr_of_qp(ex);

	if (rec_wr_is_recorded() && x->batch.cur && rec_enter()) {
		x->batch.cur->flags |= VT_WR_SGE_ONE;
		rec_batch_set_sges(&x->batch, rec_obj_find(VOBJ_QP, &ex->qp_base), &one, 1);
		rec_leave();
	}
	x->low.wr_set_sge(ex, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct rec_wr *x = rec_wr_of_qp(ex);

	if (rec_wr_is_recorded() && x->batch.cur && rec_enter()) {
		x->batch.cur->flags |= VT_WR_SGE_LIST;
		rec_batch_set_sges(&x->batch, rec_obj_find(VOBJ_QP, &ex->qp_base), list, n);
		rec_leave();
	}
	x->low.wr_set_sge_list(ex, n, list);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf one = { .addr = addr, .length = length };
	struct rec_wr *x = rec_wr_of_qp(ex);

	if (rec_wr_is_recorded() && x->batch.cur && rec_enter()) {
		x->batch.cur->flags |= VT_WR_INLINE_ONE;
		rec_batch_set_inline(&x->batch, rec_obj_find(VOBJ_QP, &ex->qp_base), &one, 1);
		rec_leave();
	}
	x->low.wr_set_inline_data(ex, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct rec_wr *x = rec_wr_of_qp(ex);

	if (rec_wr_is_recorded() && x->batch.cur && rec_enter()) {
		x->batch.cur->flags |= VT_WR_INLINE_LIST;
		rec_batch_set_inline(&x->batch, rec_obj_find(VOBJ_QP, &ex->qp_base), list, n);
		rec_leave();
	}
	x->low.wr_set_inline_data_list(ex, n, list);
}

/* --- the end of a batch --- */

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rec_obj *o = rec_obj_find(VOBJ_QP, &ex->qp_base);
	struct rec_wr *x = o->wr;
	struct rec_span span = x->batch.span;
	struct vt_rec *r;
	int ret;

	if (!span.begin || !rec_enter())
		return x->low.wr_complete(ex);
	/* Take the batch before other threads can start one. */
	r = rec_batch_record(&x->batch, o);
	ret = x->low.wr_complete(ex);
	if (r) {
		((struct vt_post *)vt_rec_body(r))->ret = ret;
		rec_record_stamp(r, span);
		vt_rec_commit(r);
	}
	rec_leave();
	return ret;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct rec_obj *o = rec_obj_find(VOBJ_QP, &ex->qp_base);
	struct rec_wr *x = o->wr;
	struct rec_span span = x->batch.span;
	struct vt_rec *r;

	if (!span.begin || !rec_enter()) {
		x->low.wr_abort(ex);
		return;
	}
	r = rec_batch_record(&x->batch, o);
	x->low.wr_abort(ex);
	if (r) {
		((struct vt_post *)vt_rec_body(r))->how = VT_ABORTED;
		rec_record_stamp(r, span);
		vt_rec_commit(r);
	}
	rec_leave();
}

#define PUT(fn)                                                                                    \
	do {                                                                                       \
		if (ex->fn)                                                                        \
			ex->fn = fn;                                                               \
	} while (0)

void rec_wr_attach(struct rec_obj *o, struct ibv_qp_ex *ex, u64 ops)
{
	struct rec_wr *x = calloc(1, sizeof(*x));

	if (!x) {
		rec_note("qp%u: ibv_wr_...() is not recorded: %s", o->ord, strerror(ENOMEM));
		return;
	}
	x->low = *ex;
	o->wr = x;
	PUT(wr_start);
	PUT(wr_complete);
	PUT(wr_abort);
	PUT(wr_send);
	PUT(wr_send_imm);
	PUT(wr_send_inv);
	PUT(wr_send_tso);
	PUT(wr_rdma_read);
	PUT(wr_rdma_write);
	PUT(wr_rdma_write_imm);
	PUT(wr_atomic_cmp_swp);
	PUT(wr_atomic_fetch_add);
	PUT(wr_atomic_write);
	if (ops & VCALL_QP_EX_WITH_FLUSH) {
		x->low_flush = vcall_wr_flush_get(ex);
		if (x->low_flush)
			vcall_wr_flush_set(ex, wr_flush);
	}
	PUT(wr_bind_mw);
	PUT(wr_local_inv);
	PUT(wr_set_ud_addr);
	PUT(wr_set_xrc_srqn);
	PUT(wr_set_sge);
	PUT(wr_set_sge_list);
	PUT(wr_set_inline_data);
	PUT(wr_set_inline_data_list);
}
