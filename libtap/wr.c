/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of ibv_wr_*(), from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). The library
 * below holds the QP's lock in between (ibv_wr_post(3)).
 */
#include "libtap/wr.h"
#include "libtap/process.h"
#include "traces/calls/wr_flush.h"

#include <stdlib.h>

/**
 * struct tap_wr - an extended QP.
 * @low, @low_flush: its functions before they were patched
 * @shown: the users see its current batch
 */
struct tap_wr {
	struct ibv_qp_ex low;
	vcall_wr_flush low_flush;
	bool shown;
};

static struct tap_obj *tap_wr_object(struct ibv_qp_ex *ex)
{
	return tap_obj_find(VOBJ_QP, &ex->qp_base);
}

static void tap_wr_show(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	if (!o->wr->shown || !tap_enter())
		return;
	TAP_EACH(wr, o, ex, op);
	tap_leave();
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct tap_obj *o = tap_wr_object(ex);
	struct tap_wr_op op = { .what = TAP_WR_STARTING };
	bool shown = tap_enter();

	if (shown)
		TAP_EACH(wr, o, ex, &op);
	o->wr->low.wr_start(ex);
	/* The batch begins for the thread that has got the lock. */
	o->wr->shown = shown;
	if (!shown)
		return;
	op.what = TAP_WR_START;
	TAP_EACH(wr, o, ex, &op);
	tap_leave();
}

/* --- opcodes --- */

/* Show an operation with these members; what follows calls the original function. */
#define SHOW(what_, ...)                                                                           \
	struct tap_obj *o = tap_wr_object(ex);                                                     \
                                                                                                   \
	tap_wr_show(o, ex, &(const struct tap_wr_op){ .what = what_, __VA_ARGS__ });               \
	o->wr->low
#define OP(code, ...) SHOW(TAP_WR_OP, .opcode = code, ##__VA_ARGS__)

static void wr_send(struct ibv_qp_ex *ex)
{
	OP(IBV_WR_SEND).wr_send(ex);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	OP(IBV_WR_SEND_WITH_IMM, .imm = imm).wr_send_imm(ex, imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	OP(IBV_WR_SEND_WITH_INV, .key = rkey).wr_send_inv(ex, rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	OP(IBV_WR_RDMA_READ, .key = rkey, .addr = addr).wr_rdma_read(ex, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	OP(IBV_WR_RDMA_WRITE, .key = rkey, .addr = addr).wr_rdma_write(ex, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	OP(IBV_WR_RDMA_WRITE_WITH_IMM, .key = rkey, .addr = addr, .imm = imm)
		.wr_rdma_write_imm(ex, rkey, addr, imm);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	OP(IBV_WR_ATOMIC_CMP_AND_SWP, .key = rkey, .addr = addr, .compare_add = compare,
	   .swap = swap)
		.wr_atomic_cmp_swp(ex, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	OP(IBV_WR_ATOMIC_FETCH_AND_ADD, .key = rkey, .addr = addr, .compare_add = add)
		.wr_atomic_fetch_add(ex, rkey, addr, add);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	u64 bytes;

	memcpy(&bytes, value, sizeof(bytes));
	OP(IBV_WR_ATOMIC_WRITE, .key = rkey, .addr = addr, .swap = bytes)
		.wr_atomic_write(ex, rkey, addr, value);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct tap_obj *o = tap_wr_object(ex);
	const struct tap_wr_op op = {
		.what = TAP_WR_OP,
		.opcode = VCALL_WR_FLUSH,
		.key = rkey,
		.addr = addr,
		.len = len,
		.type = type,
		.level = level,
	};

	tap_wr_show(o, ex, &op);
	o->wr->low_flush(ex, rkey, addr, len, type, level);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	OP(IBV_WR_BIND_MW, .key = rkey, .mw = mw, .bind = info).wr_bind_mw(ex, mw, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	OP(IBV_WR_LOCAL_INV, .key = rkey).wr_local_inv(ex, rkey);
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	OP(IBV_WR_TSO, .hdr = hdr, .hdr_sz = hdr_sz, .mss = mss).wr_send_tso(ex, hdr, hdr_sz, mss);
}

/* --- addresses and data --- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	SHOW(TAP_WR_UD_ADDR, .ah = ah, .qpn = qpn, .qkey = qkey).wr_set_ud_addr(ex, ah, qpn, qkey);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	SHOW(TAP_WR_XRC_SRQN, .qpn = srqn).wr_set_xrc_srqn(ex, srqn);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge one = { .addr = addr, .length = length, .lkey = lkey };

	SHOW(TAP_WR_SGE, .n = 1, .sge = &one).wr_set_sge(ex, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	SHOW(TAP_WR_SGE_LIST, .n = n, .sge = list).wr_set_sge_list(ex, n, list);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf one = { .addr = addr, .length = length };

	SHOW(TAP_WR_INLINE, .n = 1, .buf = &one).wr_set_inline_data(ex, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	SHOW(TAP_WR_INLINE_LIST, .n = n, .buf = list).wr_set_inline_data_list(ex, n, list);
}

/* --- the end of a batch --- */

/* The batch ends by ibv_wr_complete() or ibv_wr_abort(). Users see it before another can start. */
static int tap_wr_batch_end(struct ibv_qp_ex *ex, bool abort)
{
	struct tap_obj *o = tap_wr_object(ex);
	struct tap_batch b = { .obj = o, .ex = ex, .abort = abort };
	bool shown = o->wr->shown && tap_enter(), carry_out;
	int saved = errno;

	carry_out = !shown || TAP_BEGIN(wr_batch_begin, &b);
	if (!carry_out)
		saved = errno;
	errno = saved;
	if (abort || !carry_out)
		o->wr->low.wr_abort(ex);
	else
		b.ret = o->wr->low.wr_complete(ex);
	if (!shown)
		return b.ret;
	if (carry_out)
		saved = errno;
	TAP_END(wr_batch_end, &b);
	tap_leave();
	errno = saved;
	return b.ret;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	return tap_wr_batch_end(ex, false);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	tap_wr_batch_end(ex, true);
}

#define PUT(fn)                                                                                    \
	do {                                                                                       \
		if (ex->fn)                                                                        \
			ex->fn = fn;                                                               \
	} while (0)

void tap_wr_attach(struct tap_obj *o, struct ibv_qp_ex *ex, u64 ops)
{
	struct tap_wr *x = calloc(1, sizeof(*x));

	if (!x) {
		tap_note("qp%u: ibv_wr_...() is not recorded: %s", o->ord, strerror(ENOMEM));
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
