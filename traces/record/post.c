/* SPDX-License-Identifier: MIT */
/*
 * Records posts of work requests, a record for each call with its whole chain.
 *
 * The chain is read twice, the first time for its size. If the program changes it meanwhile in
 * another thread, the record may be wrong, but nothing is written beyond it: each part is checked
 * against the end.
 */
#include "traces/record/post.h"
#include "traces/record/memory.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

#include <stdlib.h>

#define CHAIN_MAX 4096u /* work requests of a call; a longer chain is posted, but not recorded */

struct rec_obj *rec_sge_fill(struct vt_sge *to, const struct ibv_sge *sge,
			     const struct rec_obj *ctx, bool without_key)
{
	struct rec_obj *mr = without_key ? NULL : rec_obj_find_mr(ctx, sge->lkey);

	to->addr = sge->addr;
	to->len = sge->length;
	to->lkey = without_key ? 0 : sge->lkey;
	to->mr = mr ? mr->ord : 0;
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

static struct plan rec_send_plan_payload(const struct rec_obj *ctx, const struct ibv_send_wr *wr)
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
		to->mw = rec_obj_ord(VOBJ_MW, wr->bind_mw.mw);
		to->mw_rkey = wr->bind_mw.rkey;
		to->mw_mr = rec_obj_ord(VOBJ_MR, wr->bind_mw.bind_info.mr);
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
	if (type == IBV_QPT_UD) {
		to->ah = rec_obj_ord(VOBJ_AH, wr->wr.ud.ah);
		to->remote_qpn = wr->wr.ud.remote_qpn;
		to->remote_qkey = wr->wr.ud.remote_qkey;
	} else if (type == IBV_QPT_XRC_SEND) {
		to->srqn = wr->qp_type.xrc.remote_srqn;
	}
}

static bool rec_send_fill_wr(struct fill *f, const struct rec_obj *ctx,
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

struct post {
	struct vt_rec *rec;
	struct vt_post *body;
	struct rec_span span;
};

static bool rec_post_record_begin(struct post *p, enum vt_kind kind, size_t size, u32 obj, u32 n)
{
	p->rec = rec_record_begin(kind, sizeof(*p->body) + size);
	if (!p->rec)
		return false;
	p->body = vt_rec_body(p->rec);
	p->body->obj = obj;
	p->body->n = n;
	p->body->bad = n;
	return true;
}

static void rec_post_record_end(struct post *p, int ret, u32 bad)
{
	int saved = errno;

	p->body->ret = ret;
	p->body->bad = bad;
	rec_record_stamp(p->rec, p->span);
	vt_rec_commit(p->rec);
	errno = saved;
}

/* Return: the length of the chain, or CHAIN_MAX + 1 if it is longer. */
static u32 rec_send_chain_len(const struct ibv_send_wr *wr)
{
	u32 n = 0;

	for (; wr && n <= CHAIN_MAX; wr = wr->next)
		n++;
	return n;
}

static bool rec_send_record_chain(struct post *p, struct ibv_qp *qp, const struct rec_obj *o,
				  const struct ibv_send_wr *first, u32 n)
{
	struct plan small[16], *plan = n <= ARRAY_SIZE(small) ? small : calloc(n, sizeof(*plan));
	const struct rec_obj *ctx = o ? o->ctx_obj : NULL;
	const struct ibv_send_wr *wr = first;
	size_t size = 0;
	struct fill f;
	bool ok;
	u32 i;

	if (!plan)
		return false;
	for (i = 0; i < n; i++, wr = wr->next) {
		plan[i] = rec_send_plan_payload(ctx, wr);
		size += rec_send_record_size(wr, plan[i]);
	}
	ok = rec_post_record_begin(p, VT_POST_SEND, size, o ? o->ord : 0, n);
	f.at = ok ? (u8 *)(p->body + 1) : NULL;
	f.end = ok ? f.at + size : NULL;
	for (i = 0, wr = first; i < n && ok; i++, wr = wr->next)
		if (!rec_send_fill_wr(&f, ctx, wr, qp->qp_type, plan[i]))
			p->body->n = i, ok = false;
	if (plan != small)
		free(plan);
	return p->rec;
}

int rec_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct rec_ctx *ctx = rec_ctx_find(qp->context);
	struct ibv_send_wr *failed = NULL, *at = wr;
	struct rec_obj *o;
	struct post p = { .rec = NULL };
	u32 n, i = 0;
	int ret;

	if (!rec_enter())
		return ctx->ops.post_send(qp, wr, bad);
	o = rec_obj_find(VOBJ_QP, qp);
	n = rec_send_chain_len(wr);
	if (n > CHAIN_MAX)
		rec_note("ibv_post_send: more than %u work requests at once", CHAIN_MAX);
	else {
		rec_mem_scan_exposed(true);
		rec_send_record_chain(&p, qp, o, wr, n);
	}
	p.span = rec_span_begin();
	ret = ctx->ops.post_send(qp, wr, &failed);
	if (ret && bad)
		*bad = failed;
	for (; at && at != failed && i < n; at = at->next)
		i++;
	if (p.rec)
		rec_post_record_end(&p, ret, ret ? i : n);
	rec_leave();
	return ret;
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

static void rec_recv_record_chain(struct post *p, enum vt_kind kind, const struct rec_obj *o,
				  const struct ibv_recv_wr *wr, u32 n, size_t size)
{
	struct vt_sge *sge;
	struct vt_wr *to;
	struct fill f;
	u32 i, k, num;
	u8 *start;

	if (!rec_post_record_begin(p, kind, size, o ? o->ord : 0, n))
		return;
	f.at = (u8 *)(p->body + 1);
	f.end = f.at + size;
	for (i = 0; i < n; i++, wr = wr->next) {
		num = rec_post_sge_count(wr->num_sge);
		start = f.at;
		to = rec_post_fill_reserve(&f, sizeof(*to));
		sge = to ? rec_post_fill_reserve(&f, num * sizeof(*sge)) : NULL;
		if (!sge) {
			p->body->n = i;
			return;
		}
		to->wr_id = wr->wr_id;
		to->n_sge = num;
		for (k = 0; k < num; k++)
			rec_sge_fill(&sge[k], &wr->sg_list[k], o ? o->ctx_obj : NULL, false);
		to->size = (u32)(f.at - start);
	}
}

/* Posts receives to a queue. */
typedef int (*post_fn)(void *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

static int rec_recv_post_chain(enum vt_kind kind, enum vobj obj, void *queue, post_fn lower,
			       struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr *failed = NULL, *at = wr;
	struct post p = { .rec = NULL };
	struct rec_obj *o = rec_obj_find(obj, queue);
	size_t size;
	u32 n, i = 0;
	int ret;

	n = rec_recv_chain_len(wr, &size);
	if (n > CHAIN_MAX)
		rec_note("%s: more than %u work requests at once", "ibv_post_recv", CHAIN_MAX);
	else
		rec_recv_record_chain(&p, kind, o, wr, n, size);
	if (kind != VT_POST_WQ && n <= CHAIN_MAX)
		rec_recv_posted(o, wr, n);
	p.span = rec_span_begin();
	ret = lower(queue, wr, &failed);
	if (ret && bad)
		*bad = failed;
	for (; at && at != failed && i < n; at = at->next)
		i++;
	if (ret && kind != VT_POST_WQ && n <= CHAIN_MAX)
		rec_recv_refused(o, failed, n - i);
	if (p.rec)
		rec_post_record_end(&p, ret, ret ? i : n);
	return ret;
}

int rec_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rec_ctx *ctx = rec_ctx_find(qp->context);
	int ret;

	if (!rec_enter())
		return ctx->ops.post_recv(qp, wr, bad);
	ret = rec_recv_post_chain(VT_POST_RECV, VOBJ_QP, qp, (post_fn)(void *)ctx->ops.post_recv,
				  wr, bad);
	rec_leave();
	return ret;
}

int rec_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rec_ctx *ctx = rec_ctx_find(srq->context);
	int ret;

	if (!rec_enter())
		return ctx->ops.post_srq_recv(srq, wr, bad);
	ret = rec_recv_post_chain(VT_POST_SRQ, VOBJ_SRQ, srq,
				  (post_fn)(void *)ctx->ops.post_srq_recv, wr, bad);
	rec_leave();
	return ret;
}

int rec_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct rec_obj *o = rec_obj_find(VOBJ_WQ, wq);
	__typeof__(wq->post_recv) lower = (__typeof__(lower))o->low[0];
	int ret;

	if (!rec_enter())
		return lower(wq, wr, bad);
	ret = rec_recv_post_chain(VT_POST_WQ, VOBJ_WQ, wq, (post_fn)(void *)lower, wr, bad);
	rec_leave();
	return ret;
}
