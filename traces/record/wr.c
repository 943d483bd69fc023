/* SPDX-License-Identifier: MIT */
/*
 * ibv_wr_*(): the calls from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() are one record.
 *
 * Each QP has a buffer, in which the work requests are collected in the format of the record while
 * the program builds them. The library below holds the QP's lock from start to completion
 * (ibv_wr_post(3)), so the buffer needs none.
 */
#include "traces/record/wr.h"
#include "traces/record/memory.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/post.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

#include <stdlib.h>

#define BUFFER (256u << 10) /* of a QP; a longer batch is not recorded */

/* IBV_QP_EX_WITH_FLUSH of rdma-core 45 and later: the QP has the member after wr_atomic_write. */
#define OPS_FLUSH (1ull << 11)

typedef void (*wr_flush_fn)(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len,
			    uint8_t type, uint8_t level);

/**
 * struct rec_wr - the batch of a QP.
 * @low, @low_flush: its functions before they were patched
 * @cur: the work request under construction
 * @n: work requests of the batch; @len: their bytes
 * @lost: one did not fit
 */
struct rec_wr {
	struct ibv_qp_ex low;
	wr_flush_fn low_flush;
	struct vt_wr *cur;
	u32 n;
	u32 len;
	bool lost;
	struct rec_span span;
	_Alignas(8) u8 buf[BUFFER];
};

static struct rec_wr *rec_batch_of_qp(struct ibv_qp_ex *ex)
{
	return rec_obj_find(VOBJ_QP, &ex->qp_base)->wr;
}

static void *rec_batch_reserve(struct rec_wr *b, size_t size)
{
	void *at = b->buf + b->len;

	size = ALIGN_UP(size, 8);
	if (b->lost || size > BUFFER - b->len) {
		b->lost = true;
		return NULL;
	}
	memset(at, 0, size);
	b->len += (u32)size;
	if (b->cur)
		b->cur->size += (u32)size;
	return at;
}

static struct vt_wr *rec_batch_add_wr(struct ibv_qp_ex *ex, struct rec_wr *b, u32 opcode)
{
	struct vt_wr *wr;

	b->cur = NULL;
	wr = rec_batch_reserve(b, sizeof(*wr));
	if (!wr)
		return NULL;
	wr->size = sizeof(*wr);
	wr->opcode = opcode;
	wr->wr_id = ex->wr_id;
	wr->send_flags = ex->wr_flags;
	b->cur = wr;
	b->n++;
	return wr;
}

/* Only calls of the program are recorded, and only in processes with a trace. */
static bool rec_batch_is_recorded(void)
{
	return !rec_thread.depth && load_relaxed(&rec.state) == REC_ON;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct rec_wr *b = rec_batch_of_qp(ex);
	struct rec_span span = { 0, 0 };

	if (rec_enter()) {
		rec_mem_scan_exposed(true);
		span = rec_span_begin();
		rec_leave();
	}
	b->low.wr_start(ex);
	b->cur = NULL;
	b->n = b->len = 0;
	b->lost = false;
	b->span = span;
}

/* --- opcodes --- */

#define BUILD(op, ...)                                                                             \
	struct rec_wr *b = rec_batch_of_qp(ex);                                                    \
	struct vt_wr *wr = rec_batch_is_recorded() ? rec_batch_add_wr(ex, b, op) : NULL;           \
                                                                                                   \
	b->low.__VA_ARGS__;                                                                        \
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
	struct rec_wr *b = rec_batch_of_qp(ex);
	struct vt_wr *wr =
		rec_batch_is_recorded() ? rec_batch_add_wr(ex, b, VT_IBV_WR_FLUSH) : NULL;

	b->low_flush(ex, rkey, addr, len, type, level);
	if (!wr)
		return;
	wr->flags |= VT_WR_FLUSH;
	wr->rkey = rkey;
	wr->remote_addr = addr;
	wr->mw_access = type | (u32)level << 4;
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
	void *to;

	BUILD(IBV_WR_TSO, wr_send_tso(ex, hdr, hdr_sz, mss));
	/*
	 * The header follows the scatter/gather entry, which is set later: rec_batch_reserve_sges()
	 * makes room before it.
	 */
	to = rec_batch_reserve(b, hdr_sz);
	if (!to)
		return;
	rec_mem_read(to, (uintptr_t)hdr, hdr_sz);
	wr->tso_hdr = hdr_sz;
	wr->tso_mss = mss;
}

/* --- addresses and data --- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct rec_wr *b = rec_batch_of_qp(ex);

	b->low.wr_set_ud_addr(ex, ah, qpn, qkey);
	if (!rec_batch_is_recorded() || !b->cur)
		return;
	b->cur->ah = rec_obj_ord(VOBJ_AH, ah);
	b->cur->remote_qpn = qpn;
	b->cur->remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct rec_wr *b = rec_batch_of_qp(ex);

	b->low.wr_set_xrc_srqn(ex, srqn);
	if (rec_batch_is_recorded() && b->cur)
		b->cur->srqn = srqn;
}

static bool rec_batch_wr_carries_payload(const struct vt_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return false;
	default:
		return true;
	}
}

/*
 * Records the payload: if the trace does not have the contents of the memory, the bytes follow the
 * entries.
 */
static void rec_batch_add_payload(struct rec_wr *b, const struct rec_obj *o,
				  const struct vt_sge *sge, u32 n, bool inline_data)
{
	struct vt_wr *wr = b->cur;
	bool known = !inline_data;
	struct rec_obj *mr;
	u8 *bytes = NULL;
	u64 len = 0;
	u32 i;

	if (!rec_batch_wr_carries_payload(wr)) {
		for (i = 0; i < n; i++)
			len += sge[i].len;
		rec_mem_scan_rkey(wr->rkey, wr->remote_addr, len);
		return;
	}
	for (i = 0; i < n; i++)
		wr->payload += sge[i].len;
	if (rec.payload == REC_NONE)
		return;
	for (i = 0; i < n && known && rec.payload == REC_FULL; i++) {
		mr = rec_obj_find_mr(o->ctx_obj, sge[i].lkey);
		known = mr && rec_mem_scan_sge(mr, sge[i].addr, sge[i].len);
	}
	if (known && rec.payload == REC_FULL)
		return;
	if (rec.payload == REC_FULL && wr->payload <= rec.per_wr)
		bytes = rec_batch_reserve(b, wr->payload);
	wr->flags |= bytes ? VT_WR_BYTES : VT_WR_CRC;
	for (i = 0; i < n; i++) {
		mr = inline_data ? NULL : rec_obj_find_mr(o->ctx_obj, sge[i].lkey);
		if (bytes) {
			rec_mem_read(bytes, rec_mr_address(mr, sge[i].addr), sge[i].len);
			bytes += sge[i].len;
		} else {
			wr->crc = rec_mem_crc(wr->crc, rec_mr_address(mr, sge[i].addr), sge[i].len);
		}
	}
}

/* Reserves entries. Moves the header of a TSO request, which follows them. */
static struct vt_sge *rec_batch_reserve_sges(struct rec_wr *b, u32 n)
{
	u32 hdr = ALIGN_UP(b->cur->tso_hdr, 8);
	u8 *from = b->buf + b->len - hdr;
	struct vt_sge *sge = rec_batch_reserve(b, n * sizeof(*sge));

	if (!sge)
		return NULL;
	if (hdr) {
		memmove(from + n * sizeof(*sge), from, hdr);
		memset(from, 0, n * sizeof(*sge));
	}
	b->cur->n_sge = n;
	return (struct vt_sge *)from;
}

static void rec_batch_set_sges(struct ibv_qp_ex *ex, struct rec_wr *b, const struct ibv_sge *list,
			       size_t n)
{
	const struct rec_obj *o = rec_obj_find(VOBJ_QP, &ex->qp_base);
	struct vt_sge *sge;
	u32 i;

	if (n > VT_MAX_SGE)
		b->lost = true;
	sge = b->lost ? NULL : rec_batch_reserve_sges(b, (u32)n);
	if (!sge)
		return;
	for (i = 0; i < n; i++)
		rec_sge_fill(&sge[i], &list[i], o->ctx_obj, false);
	rec_batch_add_payload(b, o, sge, (u32)n, false);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge one = { .addr = addr, .length = length, .lkey = lkey };
	struct rec_wr *b = rec_batch_of_qp(ex);

	if (rec_batch_is_recorded() && b->cur && rec_enter()) {
		b->cur->flags |= VT_WR_SGE_ONE;
		rec_batch_set_sges(ex, b, &one, 1);
		rec_leave();
	}
	b->low.wr_set_sge(ex, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct rec_wr *b = rec_batch_of_qp(ex);

	if (rec_batch_is_recorded() && b->cur && rec_enter()) {
		b->cur->flags |= VT_WR_SGE_LIST;
		rec_batch_set_sges(ex, b, list, n);
		rec_leave();
	}
	b->low.wr_set_sge_list(ex, n, list);
}

static void rec_batch_set_inline(struct ibv_qp_ex *ex, struct rec_wr *b,
				 const struct ibv_data_buf *list, size_t n)
{
	const struct rec_obj *o = rec_obj_find(VOBJ_QP, &ex->qp_base);
	struct vt_sge *sge;
	u32 i;

	if (n > VT_MAX_SGE)
		b->lost = true;
	sge = b->lost ? NULL : rec_batch_reserve_sges(b, (u32)n);
	if (!sge)
		return;
	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)list[i].addr;
		sge[i].len = (u32)list[i].length;
	}
	rec_batch_add_payload(b, o, sge, (u32)n, true);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf one = { .addr = addr, .length = length };
	struct rec_wr *b = rec_batch_of_qp(ex);

	if (rec_batch_is_recorded() && b->cur && rec_enter()) {
		b->cur->flags |= VT_WR_INLINE_ONE;
		rec_batch_set_inline(ex, b, &one, 1);
		rec_leave();
	}
	b->low.wr_set_inline_data(ex, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct rec_wr *b = rec_batch_of_qp(ex);

	if (rec_batch_is_recorded() && b->cur && rec_enter()) {
		b->cur->flags |= VT_WR_INLINE_LIST;
		rec_batch_set_inline(ex, b, list, n);
		rec_leave();
	}
	b->low.wr_set_inline_data_list(ex, n, list);
}

/* --- the end of a batch --- */

static struct vt_rec *rec_batch_record(struct rec_wr *b, const struct rec_obj *o)
{
	struct vt_post *body;
	struct vt_rec *r;

	if (b->lost) {
		rec_note("qp%u: a batch of ibv_wr_...() is longer than %u bytes", o->ord, BUFFER);
		return NULL;
	}
	r = rec_record_begin(VT_WR, sizeof(*body) + b->len);
	if (!r)
		return NULL;
	body = vt_rec_body(r);
	body->obj = o->ord;
	body->n = body->bad = b->n;
	memcpy(body + 1, b->buf, b->len);
	return r;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rec_obj *o = rec_obj_find(VOBJ_QP, &ex->qp_base);
	struct rec_wr *b = o->wr;
	struct rec_span span = b->span;
	struct vt_rec *r;
	int ret;

	if (!span.begin || !rec_enter())
		return b->low.wr_complete(ex);
	/* Take the batch before other threads can start one. */
	r = rec_batch_record(b, o);
	ret = b->low.wr_complete(ex);
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
	struct rec_wr *b = o->wr;
	struct rec_span span = b->span;
	struct vt_rec *r;

	if (!span.begin || !rec_enter()) {
		b->low.wr_abort(ex);
		return;
	}
	r = rec_batch_record(b, o);
	b->low.wr_abort(ex);
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

/* Patches ibv_qp_ex.wr_flush. */
static void rec_wr_attach_flush(struct rec_wr *b, struct ibv_qp_ex *ex)
{
	wr_flush_fn own = wr_flush;
	u8 *slot = (u8 *)&ex->wr_atomic_write + sizeof(ex->wr_atomic_write);

	memcpy(&b->low_flush, slot, sizeof(own));
	if (b->low_flush)
		memcpy(slot, &own, sizeof(own));
}

void rec_wr_attach(struct rec_obj *o, struct ibv_qp_ex *ex, u64 ops)
{
	struct rec_wr *b = calloc(1, sizeof(*b));

	if (!b) {
		rec_note("qp%u: ibv_wr_...() is not recorded: %s", o->ord, strerror(ENOMEM));
		return;
	}
	b->low = *ex;
	o->wr = b;
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
	if (ops & OPS_FLUSH)
		rec_wr_attach_flush(b, ex);
	PUT(wr_bind_mw);
	PUT(wr_local_inv);
	PUT(wr_set_ud_addr);
	PUT(wr_set_xrc_srqn);
	PUT(wr_set_sge);
	PUT(wr_set_sge_list);
	PUT(wr_set_inline_data);
	PUT(wr_set_inline_data_list);
}
