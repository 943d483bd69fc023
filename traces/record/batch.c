/* SPDX-License-Identifier: MIT */
/* Collects a batch of ibv_wr_*() in the format of its record, while the program builds it. */
#include "traces/record/batch.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/post.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

void rec_batch_begin(struct rec_batch *b, struct rec_span span)
{
	b->cur = NULL;
	b->n = b->len = 0;
	b->lost = false;
	b->span = span;
}

static void *rec_batch_reserve(struct rec_batch *b, size_t size)
{
	void *at = b->buf + b->len;

	size = ALIGN_UP(size, 8);
	if (b->lost || size > REC_BATCH_BYTES - b->len) {
		b->lost = true;
		return NULL;
	}
	memset(at, 0, size);
	b->len += (u32)size;
	if (b->cur)
		b->cur->size += (u32)size;
	return at;
}

struct vt_wr *rec_batch_add_wr(struct rec_batch *b, const struct ibv_qp_ex *ex, u32 opcode)
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

void rec_batch_set_tso(struct rec_batch *b, const void *hdr, u16 hdr_sz, u16 mss)
{
	struct vt_wr *wr = b->cur;
	/*
	 * The header follows the scatter/gather entry, which is set later: rec_batch_reserve_sges()
	 * makes room before it.
	 */
	void *to = rec_batch_reserve(b, hdr_sz);

	if (!to)
		return;
	rec_mem_read(to, (uintptr_t)hdr, hdr_sz);
	wr->tso_hdr = hdr_sz;
	wr->tso_mss = mss;
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
static void rec_batch_add_payload(struct rec_batch *b, const struct tap_obj *o,
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
static struct vt_sge *rec_batch_reserve_sges(struct rec_batch *b, u32 n)
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

void rec_batch_set_sges(struct rec_batch *b, const struct tap_obj *o, const struct ibv_sge *list,
			size_t n)
{
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

void rec_batch_set_inline(struct rec_batch *b, const struct tap_obj *o,
			  const struct ibv_data_buf *list, size_t n)
{
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

struct vt_rec *rec_batch_record(const struct rec_batch *b, const struct tap_obj *o)
{
	struct vt_post *body;
	struct vt_rec *r;

	if (b->lost) {
		rec_note("qp%u: a batch of ibv_wr_...() is longer than %u bytes", o->ord,
			 REC_BATCH_BYTES);
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
