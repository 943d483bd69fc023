/* SPDX-License-Identifier: MIT */
/**
 * DOC: the CRC of what was received (VT_WC_CRC).
 *
 * A completion names its receive by wr_id alone. So each queue of receives, of a queue pair or an SRQ, has a list of those that are
 * posted, in their order: the first one of that wr_id is what a completion of a queue pair's own queue means. An SRQ's
 * may come in another order, so that there its wr_id must be the only one among the oldest. Wherever it is not certain which one it is,
 * the queue is given up (blind): there is no CRC then.
 *
 * Whether a buffer could have changed again before it was polled is not asked here: who compares has all of the trace.
 *
 * Bounds: so many receives, so many entries of one, and no more bytes than a work request may leave in the trace.
 */
#include "traces/record/record.h"

#include <stdlib.h>

#define HELD_MAX 65536u /* receives of one queue */
#define HELD_SGE 4u
#define SRQ_SCAN 512u /* among so many a wr_id must be the only one */

/** struct held - a receive that is posted. @n: entries; HELD_SGE + 1: too many */
struct held {
	u64 wr_id;
	u32 n;
	bool taken;
	struct rec_piece {
		u64 addr; /* in the program's memory */
		u32 len;
		u32 lkey;
		u32 mr; /* ordinal of its region */
	} sge[HELD_SGE];
};

/** struct rec_recvs - those of a queue: @n from @first on, of a ring of @cap, a power of two. */
struct rec_recvs {
	struct held *h;
	u32 cap;
	u32 first;
	u32 n;
	bool blind;
};

/* Of all lists: objects end while others poll. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct held *rec_recv_queue_at(const struct rec_recvs *q, u32 i)
{
	return &q->h[(q->first + i) & (q->cap - 1)];
}

static bool rec_recv_queue_grow(struct rec_recvs *q)
{
	u32 cap = q->cap ? 2 * q->cap : 64, i;
	struct held *h = cap <= HELD_MAX ? malloc(cap * sizeof(*h)) : NULL;

	if (!h)
		return false;
	for (i = 0; i < q->n; i++)
		h[i] = *rec_recv_queue_at(q, i);
	free(q->h);
	q->h = h;
	q->cap = cap;
	q->first = 0;
	return true;
}

static void rec_recv_queue_push(struct rec_recvs *q, const struct ibv_recv_wr *wr,
				const struct rec_obj *ctx)
{
	struct held *to;
	u32 i;

	if (q->n == q->cap && !rec_recv_queue_grow(q)) {
		q->blind = true;
		return;
	}
	to = rec_recv_queue_at(q, q->n++);
	to->wr_id = wr->wr_id;
	to->taken = false;
	to->n = wr->num_sge < 0 || wr->num_sge > (int)HELD_SGE ? HELD_SGE + 1 : (u32)wr->num_sge;
	for (i = 0; i < to->n && i < HELD_SGE; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		const struct rec_obj *mr = rec_obj_find_mr(ctx, sge->lkey);

		to->sge[i].addr = rec_mr_address(mr, sge->addr);
		to->sge[i].len = sge->length;
		to->sge[i].lkey = sge->lkey;
		to->sge[i].mr = mr ? mr->ord : 0;
	}
}

void rec_recv_posted(struct rec_obj *o, const struct ibv_recv_wr *wr, u32 n)
{
	if (!o || rec.payload == REC_NONE)
		return;
	pthread_mutex_lock(&lock);
	if (!o->recvs)
		o->recvs = calloc(1, sizeof(*o->recvs));
	for (; o->recvs && !o->recvs->blind && n; n--, wr = wr->next)
		rec_recv_queue_push(o->recvs, wr, o->ctx_obj);
	pthread_mutex_unlock(&lock);
}

void rec_recv_refused(struct rec_obj *o, const struct ibv_recv_wr *bad, u32 n)
{
	struct rec_recvs *q;

	if (!o || !o->recvs || !n)
		return;
	pthread_mutex_lock(&lock);
	q = o->recvs;
	/* Another thread's may stand behind them. */
	if (q->n < n || !bad || rec_recv_queue_at(q, q->n - n)->wr_id != bad->wr_id)
		q->blind = true;
	else
		q->n -= n;
	pthread_mutex_unlock(&lock);
}

/* What a queue pair had posted is gone with its reset. */
void rec_recv_reset(struct rec_obj *o)
{
	pthread_mutex_lock(&lock);
	if (o && o->recvs) {
		o->recvs->n = 0;
		o->recvs->blind = false;
	}
	pthread_mutex_unlock(&lock);
}

void rec_recv_free(struct rec_obj *o)
{
	pthread_mutex_lock(&lock);
	if (o->recvs)
		free(o->recvs->h);
	free(o->recvs);
	o->recvs = NULL;
	pthread_mutex_unlock(&lock);
}

void rec_recv_forget(void)
{
	pthread_mutex_init(&lock, NULL);
}

static struct held *rec_recv_queue_find_srq(struct rec_recvs *q, u64 wr_id)
{
	struct held *found = NULL, *h;
	u32 i;

	for (i = 0; i < q->n && i < SRQ_SCAN; i++) {
		h = rec_recv_queue_at(q, i);
		if (h->taken || h->wr_id != wr_id)
			continue;
		if (found) {
			q->blind = true;
			return NULL;
		}
		found = h;
	}
	return found;
}

/* Take the receive of a completion off its queue. With the lock. Return: whether it is known, with *to. */
static bool rec_recv_queue_take(struct rec_recvs *q, bool srq, u64 wr_id, struct held *to)
{
	struct held *h;

	if (srq)
		h = rec_recv_queue_find_srq(q, wr_id);
	else
		h = q->n && rec_recv_queue_at(q, 0)->wr_id == wr_id ? rec_recv_queue_at(q, 0)
								    : NULL;
	if (!h) {
		q->blind = true;
		return false;
	}
	*to = *h;
	h->taken = true;
	for (; q->n && rec_recv_queue_at(q, 0)->taken; q->n--)
		q->first++;
	return to->n <= HELD_SGE;
}

/* Whether the memory is what it was when the receive was posted: its regions are still registered. With the lock. */
static bool rec_recv_has_its_mrs(const struct held *h, const struct rec_obj *ctx)
{
	const struct rec_obj *mr;
	u32 i;

	for (i = 0; i < h->n; i++) {
		mr = rec_obj_find_mr(ctx, h->sge[i].lkey);
		if (!mr || !mr->mr.len || mr->ord != h->sge[i].mr)
			return false;
	}
	return true;
}

/* Looked at, and summed up. Return: false: some of it cannot be read. */
static bool rec_recv_crc_add(u64 addr, u32 len, u32 *crc)
{
	u8 *b = rec_thread.bounce;
	u32 n;

	for (; len; addr += n, len -= n) {
		n = len < REC_BOUNCE ? len : REC_BOUNCE;
		if (!rec_mem_read(b, addr, n))
			return false;
		rec_mem_landed(addr, b, n);
		*crc = vt_crc(*crc, b, n);
	}
	return true;
}

static bool rec_recv_crc(const struct held *h, u32 skip, u32 len, u32 *crc)
{
	u32 i, n;

	for (i = 0; i < h->n && len; i++) {
		n = h->sge[i].len < len ? h->sge[i].len : len;
		len -= n;
		if (skip >= n) {
			skip -= n;
			continue;
		}
		if (!rec_recv_crc_add(h->sge[i].addr + skip, n - skip, crc))
			return false;
		skip = 0;
	}
	return true;
}

void rec_recv_completed(struct vt_wc *wc, const struct rec_obj *ctx)
{
	bool failed = wc->status != IBV_WC_SUCCESS, known = false;
	const struct rec_obj *o;
	struct rec_recvs *q;
	struct held h;
	u32 skip = 0;

	if (rec.payload == REC_NONE || (!failed && !(wc->opcode & IBV_WC_RECV)))
		return;
	pthread_mutex_lock(&lock);
	o = rec_obj_find_qpn(ctx, wc->qp_num);
	skip = o && o->datagrams ? VT_GRH : 0;
	if (o && o->srq)
		o = rec_obj_find(VOBJ_SRQ, o->srq);
	q = o ? o->recvs : NULL;
	/* Nobody knows of which side one in error is. */
	if (q && failed)
		q->blind = true;
	else if (q && !q->blind)
		known = rec_recv_queue_take(q, o->kind == VOBJ_SRQ, wc->wr_id, &h) &&
			rec_recv_has_its_mrs(&h, ctx);
	pthread_mutex_unlock(&lock);
	/* With RDMA WRITE it is no receive's memory. */
	if (!known || wc->opcode != IBV_WC_RECV)
		return;
	if (rec_recv_crc(&h, skip, wc->byte_len, &wc->crc) && wc->byte_len <= rec.per_wr)
		wc->flags |= VT_WC_CRC;
	else
		wc->crc = 0;
}
