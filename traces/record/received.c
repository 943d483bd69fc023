/* SPDX-License-Identifier: MIT */
/**
 * DOC: computes the CRC of received data (VT_WC_CRC).
 *
 * A completion names its receive only by wr_id. So every receive queue, of a QP or an SRQ, has a
 * list of its posted receives in order. For a QP's own queue, the first receive with that wr_id is
 * the one. Receives of an SRQ may complete in another order, so the wr_id must be unique among the
 * oldest ones. When it is uncertain which receive a completion belongs to, the queue becomes blind:
 * its data gets no CRC any more.
 *
 * The data may have changed between its arrival and the poll. The recorder does not check that: a
 * replay has the whole trace for it.
 *
 * Bounds: HELD_MAX receives per queue, HELD_SGE entries per receive, and the payload bound of a
 * work request.
 */
#include "traces/record/received.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/session.h"

#include <stdlib.h>

#define HELD_MAX 65536u /* receives of a queue */
#define HELD_SGE 4u
#define SRQ_SCAN 512u /* receives of an SRQ among which the wr_id must be unique */

/** struct held - a posted receive. @n: its entries; HELD_SGE + 1: too many */
struct held {
	u64 wr_id;
	u32 n;
	bool taken;
	struct rec_piece {
		u64 addr; /* in the program's memory */
		u32 len;
		u32 lkey;
		u32 mr; /* ordinal of its MR */
	} sge[HELD_SGE];
};

/**
 * struct rec_recvs - the receives of a queue: @n from @first on, in a ring of @cap, a power of two.
 */
struct rec_recvs {
	struct held *h;
	u32 cap;
	u32 first;
	u32 n;
	bool blind;
};

/* Protects all lists: a thread may destroy an object while another one polls. */
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
				const struct tap_obj *ctx)
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
		to->sge[i].mr = mr ? mr->tap->ord : 0;
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
		rec_recv_queue_push(o->recvs, wr, o->tap->ctx_obj);
	pthread_mutex_unlock(&lock);
}

void rec_recv_refused(struct rec_obj *o, const struct ibv_recv_wr *bad, u32 n)
{
	struct rec_recvs *q;

	if (!o || !o->recvs || !n)
		return;
	pthread_mutex_lock(&lock);
	q = o->recvs;
	/* Another thread may have posted after them. */
	if (q->n < n || !bad || rec_recv_queue_at(q, q->n - n)->wr_id != bad->wr_id)
		q->blind = true;
	else
		q->n -= n;
	pthread_mutex_unlock(&lock);
}

/* A reset discards the receives of a QP. */
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

/*
 * Takes the receive of a completion off its queue. The caller holds the lock. Return: whether it is
 * known; @to is set.
 */
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

/*
 * Whether the MRs of the receive have not been deregistered since it was posted. The caller holds
 * the lock.
 */
static bool rec_recv_has_its_mrs(const struct held *h, const struct tap_obj *ctx)
{
	const struct rec_obj *mr;
	u32 i;

	for (i = 0; i < h->n; i++) {
		mr = rec_obj_find_mr(ctx, h->sge[i].lkey);
		if (!mr || !mr->mr.len || mr->tap->ord != h->sge[i].mr)
			return false;
	}
	return true;
}

/* Reads received data and adds it to *@crc, if there is one. Return: false: some is unreadable. */
static bool rec_recv_read(u64 addr, u32 len, u32 *crc)
{
	u8 *b = rec_thread.bounce;
	u32 n;

	for (; len; addr += n, len -= n) {
		n = len < REC_BOUNCE ? len : REC_BOUNCE;
		if (!rec_mem_read(b, addr, n))
			return false;
		rec_mem_landed(addr, b, n);
		if (crc)
			*crc = vt_crc(*crc, b, n);
	}
	return true;
}

/*
 * @skip: bytes of the GRH, which is in no CRC because it has addresses. It has changed memory, too,
 * perhaps later than the payload.
 */
static bool rec_recv_crc(const struct held *h, u32 skip, u32 len, u32 *crc)
{
	u32 i, n, grh;

	for (i = 0; i < h->n && len; i++) {
		n = h->sge[i].len < len ? h->sge[i].len : len;
		grh = skip < n ? skip : n;
		if (!rec_recv_read(h->sge[i].addr, grh, NULL) ||
		    !rec_recv_read(h->sge[i].addr + grh, n - grh, crc))
			return false;
		len -= n;
		skip -= grh;
	}
	return true;
}

void rec_recv_completed(struct vt_wc *wc, const struct tap_obj *ctx)
{
	bool failed = wc->status != IBV_WC_SUCCESS, known = false;
	const struct tap_obj *o;
	struct rec_recvs *q;
	struct held h;
	u32 skip = 0;

	if (rec.payload == REC_NONE || (!failed && !(wc->opcode & IBV_WC_RECV)))
		return;
	pthread_mutex_lock(&lock);
	o = tap_obj_find_qpn(ctx, wc->qp_num);
	skip = o && o->datagrams ? VT_GRH : 0;
	if (o && o->srq)
		o = tap_obj_find(VOBJ_SRQ, o->srq);
	q = rec_obj_of(o) ? rec_obj_of(o)->recvs : NULL;
	/* A failed completion may be of either side. */
	if (q && failed)
		q->blind = true;
	else if (q && !q->blind)
		known = rec_recv_queue_take(q, o->kind == VOBJ_SRQ, wc->wr_id, &h) &&
			rec_recv_has_its_mrs(&h, ctx);
	pthread_mutex_unlock(&lock);
	/* The data of an RDMA WRITE with immediate is not in the receive's memory. */
	if (!known || wc->opcode != IBV_WC_RECV)
		return;
	if (rec_recv_crc(&h, skip, wc->byte_len, &wc->crc) && wc->byte_len <= rec.per_wr)
		wc->flags |= VT_WC_CRC;
	else
		wc->crc = 0;
}
