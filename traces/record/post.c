/* SPDX-License-Identifier: MIT */
/*
 * Records posts of work requests, a record for each call with its whole chain.
 *
 * The chain is read twice, the first time for its size. If the program changes it meanwhile in
 * another thread, the record may be wrong, but nothing is written beyond it: each part is checked
 * against the end.
 */
#include "traces/record/post.h"
#include "traces/record/hooks.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/tag_ops.h"

#include <stdlib.h>

#define CHAIN_MAX 4096u /* work requests of a call; a longer chain is posted, but not recorded */

struct rec_obj *rec_sge_fill(struct vt_sge *to, const struct ibv_sge *sge,
			     const struct tap_obj *ctx, bool without_key)
{
	struct rec_obj *mr = without_key ? NULL : rec_obj_find_mr(ctx, sge->lkey);

	to->addr = sge->addr;
	to->len = sge->length;
	to->lkey = without_key ? 0 : sge->lkey;
	to->mr = mr ? mr->tap->ord : 0;
	return mr;
}

/* struct fill - position in a record, and its end. */
struct fill {
	u8 *at;
	u8 *end;
};

static void *rec_post_fill_reserve(struct fill *f, size_t size)
{
	void *at = f->at;

	size = ALIGN_UP(size, 8);
	if (size > (size_t)(f->end - f->at))
		return NULL;
	f->at += size;
	return at;
}

static u32 rec_post_sge_count(int num)
{
	return num < 0 ? 0 : num > (int)VT_MAX_SGE ? VT_MAX_SGE : (u32)num;
}

/* --- sends --- */

static bool rec_send_carries_payload(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_TSO:
	case IBV_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

static u64 rec_send_payload_len(const struct ibv_send_wr *wr)
{
	u32 i, n = rec_post_sge_count(wr->num_sge);
	u64 sum = 0;

	for (i = 0; i < n; i++)
		sum += wr->sg_list[i].length;
	return sum;
}

/**
 * struct plan - what to record of a send's payload, decided before the call.
 * @bytes: all bytes
 * @crc: the CRC
 */
struct plan {
	bool bytes;
	bool crc;
};

static struct plan rec_send_plan_payload(const struct tap_obj *ctx, const struct ibv_send_wr *wr)
{
	bool inline_data = wr->send_flags & IBV_SEND_INLINE;
	u32 i, n = rec_post_sge_count(wr->num_sge);
	struct plan p = { false, false };
	bool known = true;

	if (wr->opcode == IBV_WR_RDMA_READ)
		rec_mem_scan_rkey(wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				  rec_send_payload_len(wr));
	else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		 wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		rec_mem_scan_rkey(wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, sizeof(u64));
	if (!rec_send_carries_payload(wr) || rec.payload == REC_NONE || !n)
		return p;
	if (rec.payload == REC_HASH) {
		p.crc = true;
		return p;
	}
	for (i = 0; i < n && !inline_data; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		struct rec_obj *mr = rec_obj_find_mr(ctx, sge->lkey);

		known = mr && rec_mem_scan_sge(mr, sge->addr, sge->length) && known;
	}
	if (!known || inline_data) {
		p.bytes = rec_send_payload_len(wr) <= rec.per_wr;
		p.crc = !p.bytes;
	}
	return p;
}

static size_t rec_send_record_size(const struct ibv_send_wr *wr, struct plan p)
{
	size_t size =
		sizeof(struct vt_wr) + rec_post_sge_count(wr->num_sge) * sizeof(struct vt_sge);

	if (wr->opcode == IBV_WR_TSO)
		size += wr->tso.hdr_sz;
	if (p.bytes)
		size += rec_send_payload_len(wr);
	return ALIGN_UP(size, 8);
}

static void rec_send_fill_opcode(struct vt_wr *to, const struct ibv_send_wr *wr,
				 enum ibv_qp_type type)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		to->remote_addr = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->remote_addr = wr->wr.atomic.remote_addr;
		to->rkey = wr->wr.atomic.rkey;
		to->compare_add = wr->wr.atomic.compare_add;
		to->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_BIND_MW:
		to->mw = tap_obj_ord(VOBJ_MW, wr->bind_mw.mw);
		to->mw_rkey = wr->bind_mw.rkey;
		to->mw_mr = tap_obj_ord(VOBJ_MR, wr->bind_mw.bind_info.mr);
		to->mw_access = wr->bind_mw.bind_info.mw_access_flags;
		to->mw_addr = wr->bind_mw.bind_info.addr;
		to->mw_len = wr->bind_mw.bind_info.length;
		break;
	case IBV_WR_TSO:
		to->tso_mss = wr->tso.mss;
		to->tso_hdr = wr->tso.hdr_sz;
		break;
	default:
		break;
	}
	/* A driver's queue pair: SRD's are addressed by its ibv_post_send() as those of UD. */
	if (type == IBV_QPT_UD || type == IBV_QPT_DRIVER) {
		to->ah = tap_obj_ord(VOBJ_AH, wr->wr.ud.ah);
		to->remote_qpn = wr->wr.ud.remote_qpn;
		to->remote_qkey = wr->wr.ud.remote_qkey;
	} else if (type == IBV_QPT_XRC_SEND) {
		to->srqn = wr->qp_type.xrc.remote_srqn;
	}
}

static bool rec_send_fill_wr(struct fill *f, const struct tap_obj *ctx,
			     const struct ibv_send_wr *wr, enum ibv_qp_type type, struct plan p)
{
	bool inline_data = wr->send_flags & IBV_SEND_INLINE;
	u32 i, n = rec_post_sge_count(wr->num_sge);
	u8 *start = f->at, *bytes = NULL;
	struct vt_wr *to = rec_post_fill_reserve(f, sizeof(*to));
	struct vt_sge *sge;
	u32 crc = 0;

	sge = to ? rec_post_fill_reserve(f, n * sizeof(*sge)) : NULL;
	if (!sge)
		return false;
	to->wr_id = wr->wr_id;
	to->opcode = wr->opcode;
	to->send_flags = wr->send_flags;
	to->n_sge = n;
	to->imm = wr->imm_data;
	rec_send_fill_opcode(to, wr, type);
	/* After the entries: the TSO header, followed directly by the payload. */
	if (to->tso_hdr || p.bytes)
		bytes = rec_post_fill_reserve(f, to->tso_hdr +
							 (p.bytes ? rec_send_payload_len(wr) : 0));
	if (to->tso_hdr && bytes)
		rec_mem_read(bytes, (uintptr_t)wr->tso.hdr, to->tso_hdr);
	bytes = bytes ? bytes + to->tso_hdr : NULL;
	for (i = 0; i < n; i++) {
		const struct ibv_sge *from = &wr->sg_list[i];
		u64 addr =
			rec_mr_address(rec_sge_fill(&sge[i], from, ctx, inline_data), from->addr);

		if (rec_send_carries_payload(wr))
			to->payload += from->length;
		if (p.crc)
			crc = rec_mem_crc(crc, addr, from->length);
		if (p.bytes && bytes && bytes + from->length <= f->end) {
			rec_mem_read(bytes, addr, from->length);
			bytes += from->length;
		}
	}
	to->crc = crc;
	to->flags = (p.crc ? VT_WR_CRC : 0) | (p.bytes ? VT_WR_BYTES : 0);
	to->size = (u32)(f->at - start);
	return true;
}

/* Return: NULL: the trace takes no more. */
static struct vt_rec *rec_post_record_begin(enum vt_kind kind, size_t size, const struct tap_obj *o,
					    u32 n)
{
	struct vt_rec *r = rec_record_begin(kind, sizeof(struct vt_post) + size);
	struct vt_post *body;

	if (!r)
		return NULL;
	body = vt_rec_body(r);
	body->obj = o ? o->ord : 0;
	body->n = n;
	body->bad = n;
	return r;
}

static void rec_post_record_end(struct vt_rec *r, struct rec_span span, int ret, u32 bad)
{
	struct vt_post *body = vt_rec_body(r);

	body->ret = ret;
	body->bad = bad;
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}

/* Return: the length of the chain, or CHAIN_MAX + 1 if it is longer. */
static u32 rec_send_chain_len(const struct ibv_send_wr *wr)
{
	u32 n = 0;

	for (; wr && n <= CHAIN_MAX; wr = wr->next)
		n++;
	return n;
}

static struct vt_rec *rec_send_record_chain(const struct tap_post *p, u32 n)
{
	struct plan small[16], *plan = n <= ARRAY_SIZE(small) ? small : calloc(n, sizeof(*plan));
	const struct tap_obj *ctx = p->obj ? p->obj->ctx_obj : NULL;
	enum ibv_qp_type type = ((const struct ibv_qp *)p->handle)->qp_type;
	const struct ibv_send_wr *wr = p->send;
	struct vt_post *body;
	struct vt_rec *r;
	size_t size = 0;
	struct fill f;
	u32 i;

	if (!plan)
		return NULL;
	for (i = 0; i < n; i++, wr = wr->next) {
		plan[i] = rec_send_plan_payload(ctx, wr);
		size += rec_send_record_size(wr, plan[i]);
	}
	r = rec_post_record_begin(VT_POST_SEND, size, p->obj, n);
	body = r ? vt_rec_body(r) : NULL;
	f.at = r ? (u8 *)(body + 1) : NULL;
	f.end = r ? f.at + size : NULL;
	for (i = 0, wr = p->send; r && i < body->n; i++, wr = wr->next)
		if (!rec_send_fill_wr(&f, ctx, wr, type, plan[i]))
			body->n = i;
	if (plan != small)
		free(plan);
	return r;
}

static struct vt_rec *rec_send_begin(struct tap_post *p, u32 n)
{
	if (n > CHAIN_MAX) {
		rec_note("ibv_post_send: more than %u work requests at once", CHAIN_MAX);
		return NULL;
	}
	rec_mem_scan_exposed(true);
	return rec_send_record_chain(p, n);
}

/* Return: how many were posted of @n. */
static u32 rec_send_count_posted(const struct tap_post *p, u32 n)
{
	const struct ibv_send_wr *at = p->send;
	u32 i = 0;

	for (; at && at != p->bad_send && i < n; at = at->next)
		i++;
	return i;
}

/* --- receives --- */

static u32 rec_recv_chain_len(const struct ibv_recv_wr *wr, size_t *size)
{
	u32 n = 0;

	*size = 0;
	for (; wr && n <= CHAIN_MAX; wr = wr->next) {
		*size += sizeof(struct vt_wr) +
			 rec_post_sge_count(wr->num_sge) * sizeof(struct vt_sge);
		n++;
	}
	return n;
}

static struct vt_rec *rec_recv_record_chain(enum vt_kind kind, const struct tap_post *p, u32 n,
					    size_t size)
{
	const struct tap_obj *ctx = p->obj ? p->obj->ctx_obj : NULL;
	struct vt_rec *r = rec_post_record_begin(kind, size, p->obj, n);
	const struct ibv_recv_wr *wr = p->recv;
	struct vt_post *body;
	struct vt_sge *sge;
	struct vt_wr *to;
	struct fill f;
	u32 i, k, num;
	u8 *start;

	if (!r)
		return NULL;
	body = vt_rec_body(r);
	f.at = (u8 *)(body + 1);
	f.end = f.at + size;
	for (i = 0; i < n; i++, wr = wr->next) {
		num = rec_post_sge_count(wr->num_sge);
		start = f.at;
		to = rec_post_fill_reserve(&f, sizeof(*to));
		sge = to ? rec_post_fill_reserve(&f, num * sizeof(*sge)) : NULL;
		if (!sge) {
			body->n = i;
			return r;
		}
		to->wr_id = wr->wr_id;
		to->n_sge = num;
		for (k = 0; k < num; k++)
			rec_sge_fill(&sge[k], &wr->sg_list[k], ctx, false);
		to->size = (u32)(f.at - start);
	}
	return r;
}

static enum vt_kind rec_recv_kind(enum tap_queue queue)
{
	return queue == TAP_RECV ? VT_POST_RECV : queue == TAP_SRQ ? VT_POST_SRQ : VT_POST_WQ;
}

static struct vt_rec *rec_recv_begin(struct tap_post *p, u32 *n)
{
	struct vt_rec *r = NULL;
	size_t size;

	*n = rec_recv_chain_len(p->recv, &size);
	if (*n > CHAIN_MAX) {
		rec_note("%s: more than %u work requests at once", "ibv_post_recv", CHAIN_MAX);
		return NULL;
	}
	r = rec_recv_record_chain(rec_recv_kind(p->queue), p, *n, size);
	if (p->queue != TAP_WQ)
		rec_recv_posted(rec_obj_of(p->obj), p->recv, *n);
	return r;
}

/* Return: how many were posted of @n. */
static u32 rec_recv_count_posted(const struct tap_post *p, u32 n)
{
	const struct ibv_recv_wr *at = p->recv;
	u32 i = 0;

	for (; at && at != p->bad_recv && i < n; at = at->next)
		i++;
	return i;
}

/* --- hooks --- */

enum tap_verdict rec_post_begin(struct tap_post *p)
{
	struct tap_scratch *mine = &p->op.scratch[TAP_RECORD];
	u32 n = 0;

	if (p->queue == TAP_SEND) {
		n = rec_send_chain_len(p->send);
		mine->ptr = rec_send_begin(p, n);
	} else if (p->queue == TAP_TAG_OPS) {
		mine->ptr = rec_tag_record_begin(p->obj, p->ops);
	} else {
		mine->ptr = rec_recv_begin(p, &n);
	}
	mine->word[2] = n;
	rec_span_keep(mine, rec_span_begin());
	return TAP_PASS;
}

void rec_post_end(struct tap_post *p)
{
	const struct tap_scratch *mine = &p->op.scratch[TAP_RECORD];
	struct rec_span span = rec_span_kept(mine);
	u32 n = (u32)mine->word[2], posted = n;

	if (p->queue == TAP_TAG_OPS) {
		if (mine->ptr)
			rec_tag_record_end(mine->ptr, span, p);
		return;
	}
	if (p->ret)
		posted = p->queue == TAP_SEND ? rec_send_count_posted(p, n)
					      : rec_recv_count_posted(p, n);
	if (p->ret && (p->queue == TAP_RECV || p->queue == TAP_SRQ) && n <= CHAIN_MAX)
		rec_recv_refused(rec_obj_of(p->obj), p->bad_recv, n - posted);
	if (mine->ptr)
		rec_post_record_end(mine->ptr, span, p->ret, posted);
}
