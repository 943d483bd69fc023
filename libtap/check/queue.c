/* SPDX-License-Identifier: MIT */
/*
 * Queues of outstanding work requests: rings with the regions and CQs that the requests use. The
 * caller holds the lock of the queue pair.
 */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"

#include <stdlib.h>

/* --- regions in use --- */

static struct check_obj *queue_find_ah(const struct check_wr *wr)
{
	return wr->ah ? check_obj_find(VOBJ_AH, wr->ah) : NULL;
}

void check_queue_use_ah(struct check_wr *wr)
{
	struct check_obj *ah = queue_find_ah(wr);

	if (!ah)
		return;
	wr->ah_ord = ah->ord;
	__atomic_fetch_add(&ah->ah.uses, 1, __ATOMIC_RELAXED);
}

static void queue_leave_ah(const struct check_wr *wr)
{
	struct check_obj *ah = queue_find_ah(wr);

	if (ah && ah->ord == wr->ah_ord)
		__atomic_fetch_sub(&ah->ah.uses, 1, __ATOMIC_RELAXED);
}

static enum check_guardable queue_guardable(const struct check_obj *mr, const struct ibv_sge *sge)
{
	return mr && sge->addr >= mr->mr.addr && sge->length <= mr->mr.len &&
			       sge->addr - mr->mr.addr <= mr->mr.len - sge->length
		       ? mr->mr.guardable
		       : CHECK_UNGUARDED;
}

void check_queue_find_guardable(const struct check_obj *queue, struct check_wr *wr)
{
	const struct check_obj *mr;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		mr = check_obj_of(tap_obj_find_mr(queue->tap->ctx_obj, wr->sge[i].lkey));
		wr->guardable[i] = queue_guardable(mr, &wr->sge[i]);
	}
}

void check_queue_use_regions(const struct check_obj *qp, struct check_wr *wr)
{
	struct check_obj *mr;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		mr = check_obj_of(tap_obj_find_mr(qp->tap->ctx_obj, wr->sge[i].lkey));
		wr->mr[i] = mr ? mr->ord : 0;
		wr->guardable[i] = queue_guardable(mr, &wr->sge[i]);
		if (mr)
			__atomic_fetch_add(&mr->mr.uses, 1, __ATOMIC_RELAXED);
	}
}

static void queue_leave_regions(const struct check_obj *qp, const struct check_wr *wr)
{
	struct check_obj *mr;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		mr = check_obj_of(tap_obj_find_mr(qp->tap->ctx_obj, wr->sge[i].lkey));
		if (mr && mr->ord == wr->mr[i])
			__atomic_fetch_sub(&mr->mr.uses, 1, __ATOMIC_RELAXED);
	}
}

/* @wr: an entry that enters (@by 1) or leaves (-1) the queue */
static void queue_count_in_cq(const struct check_obj *qp, const struct check_queue *q,
			      const struct check_wr *wr, int by)
{
	bool is_send = q == &qp->qp.sq;
	struct check_obj *c = check_obj_find(VOBJ_CQ, is_send ? qp->qp.scq : qp->qp.rcq);

	if (!c)
		return;
	__atomic_fetch_add(&c->cq.outstanding, (u32)by, __ATOMIC_RELAXED);
	if (is_send && wr->signaled)
		__atomic_fetch_add(&c->cq.sends, (u32)by, __ATOMIC_RELAXED);
}

/* --- rings --- */

struct check_wr *check_queue_add(const struct check_obj *qp, struct check_queue *q,
				 const struct check_wr *wr)
{
	struct check_wr *to;

	if (!q->lost && q->n == q->depth)
		check_queue_lose(qp, q);
	if (q->lost)
		return NULL;
	q->pushed++;
	to = check_queue_entry(q, q->n++);
	*to = *wr;
	q->n_signaled += to->signaled;
	q->n_reads += to->is_read;
	check_queue_use_ah(to);
	queue_count_in_cq(qp, q, to, 1);
	return to;
}

/* @wr: an entry that leaves the queue */
static void queue_forget_wr(const struct check_obj *qp, struct check_queue *q, struct check_wr *wr)
{
	check_guard_remove(wr);
	q->n_signaled -= wr->signaled;
	q->n_reads -= wr->is_read;
	queue_leave_ah(wr);
	queue_leave_regions(qp, wr);
	queue_count_in_cq(qp, q, wr, -1);
}

void check_queue_retire(const struct check_obj *qp, struct check_queue *q, u32 n)
{
	for (; n && q->n; n--) {
		queue_forget_wr(qp, q, check_queue_entry(q, 0));
		check_race_done(qp, check_queue_entry(q, 0));
		q->head = (q->head + 1) % q->depth;
		q->n--;
	}
}

void check_queue_withdraw(const struct check_obj *qp, struct check_queue *q, u32 n)
{
	for (; n && q->n; n--) {
		queue_forget_wr(qp, q, check_queue_entry(q, --q->n));
		check_race_withdrawn(qp, check_queue_entry(q, q->n));
	}
}

void check_queue_lose(const struct check_obj *qp, struct check_queue *q)
{
	check_queue_retire(qp, q, q->n);
	q->lost = true;
}

/* A queue without a ring stays lost. */
static void queue_init(struct check_queue *q, u32 cap)
{
	if (!cap || cap > CHECK_DEPTH)
		return;
	q->cap = cap;
	q->depth = 2 * cap + 16;
	q->ring = calloc(q->depth, sizeof(*q->ring));
}

/* --- queue pairs --- */

static void queue_share(const struct ibv_cq *cq, int by)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);

	if (c)
		__atomic_fetch_add(&c->cq.shared, (u32)by, __ATOMIC_RELAXED);
}

/* A queue of @entries completes in a CQ from now on (@by 1), or does not any more (-1). */
static void queue_attach(const struct ibv_cq *cq, u32 entries, int by)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);
	u32 depth;

	if (!c || !entries)
		return;
	if (by < 0) {
		__atomic_fetch_sub(&c->cq.depth, entries, __ATOMIC_RELAXED);
		return;
	}
	depth = __atomic_add_fetch(&c->cq.depth, entries, __ATOMIC_RELAXED);
	if (depth > (u32)cq->cqe)
		check_report(FINDING_CQ_SIZE_DEPTH, (struct check_other){ "CQ created", c->stack },
			     "cq%u has %d entries, and the queues that complete there have %u",
			     c->ord, cq->cqe, depth);
}

void check_qp_new(struct check_obj *c)
{
	struct ibv_qp *qp = (void *)(uintptr_t)c->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&init, 0, sizeof(init));
	pthread_mutex_init(&c->qp.lock, NULL);
	c->qp.counts = &c->qp.own_counts;
	c->qp.scq = qp->send_cq;
	c->qp.rcq = qp->recv_cq;
	if (ibv_query_qp(qp, &attr, IBV_QP_CAP, &init)) {
		c->qp.sq.lost = c->qp.rq.lost = true;
		return;
	}
	c->qp.sig_all = init.sq_sig_all;
	c->qp.cap = init.cap;
	c->qp.asked_inline = init.cap.max_inline_data;
	queue_init(&c->qp.sq, init.cap.max_send_wr);
	c->qp.sq.lost = !c->qp.sq.ring;
	/* Receives of an SRQ complete in any order, and belong to no queue pair before. */
	if (!qp->srq)
		queue_init(&c->qp.rq, init.cap.max_recv_wr);
	c->qp.rq.lost = !c->qp.rq.ring;
	queue_attach(qp->send_cq, init.cap.max_send_wr, 1);
	if (qp->srq)
		queue_share(qp->recv_cq, 1);
	else
		queue_attach(qp->recv_cq, init.cap.max_recv_wr, 1);
	c->qp.shared = qp->srq;
}

void check_qp_lose(struct check_obj *c)
{
	pthread_mutex_lock(&c->qp.lock);
	check_queue_lose(c, &c->qp.sq);
	check_queue_lose(c, &c->qp.rq);
	pthread_mutex_unlock(&c->qp.lock);
}

/* An empty queue is known, whatever it was before. */
static void queue_clear(const struct check_obj *qp, struct check_queue *q)
{
	check_queue_retire(qp, q, q->n);
	q->lost = !q->ring;
	q->failed = IBV_WC_SUCCESS;
	q->posts_after = 0;
}

void check_qp_clear(struct check_obj *c)
{
	pthread_mutex_lock(&c->qp.lock);
	queue_clear(c, &c->qp.sq);
	queue_clear(c, &c->qp.rq);
	c->qp.sends_ready = c->qp.receives_ready = false;
	c->qp.sought = false;
	memset(&c->qp.lengths, 0, sizeof(c->qp.lengths));
	check_board_remove(c);
	memset(&c->qp.own_counts, 0, sizeof(c->qp.own_counts));
	pthread_mutex_unlock(&c->qp.lock);
}

void check_qp_gone(struct check_obj *c)
{
	check_qp_clear(c);
	queue_attach(c->qp.scq, c->qp.cap.max_send_wr, -1);
	if (c->qp.rq.ring)
		queue_attach(c->qp.rcq, c->qp.cap.max_recv_wr, -1);
	if (c->qp.shared)
		queue_share(c->qp.rcq, -1);
	free(c->qp.sq.ring);
	free(c->qp.rq.ring);
}

struct check_obj *check_qp_peer(const struct check_obj *c)
{
	struct ibv_qp *own = (void *)(uintptr_t)c->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct check_obj *peer;

	if (ibv_query_qp(own, &attr, IBV_QP_DEST_QPN, &init))
		return NULL;
	peer = check_obj_of(tap_obj_find_qpn(c->tap->ctx_obj, attr.dest_qp_num));
	if (!peer ||
	    ibv_query_qp((void *)(uintptr_t)peer->tap->key, &attr, IBV_QP_DEST_QPN, &init) ||
	    attr.dest_qp_num != own->qp_num)
		return NULL;
	return peer;
}

static void queue_lose_srq(const struct check_obj *qp)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	struct check_obj *srq = qp->qp.shared ? check_obj_find(VOBJ_SRQ, ibqp->srq) : NULL;

	if (srq)
		check_srq_lose(srq);
}

static bool queue_lose_of_cq(struct check_obj *qp, void *cq)
{
	if (qp->qp.scq == cq || qp->qp.rcq == cq)
		check_qp_lose(qp);
	if (qp->qp.rcq == cq) {
		check_race_arrive_unseen(qp);
		queue_lose_srq(qp);
	}
	return false;
}

void check_cq_lose(struct check_obj *cq)
{
	check_obj_for_each(VOBJ_QP, queue_lose_of_cq, (void *)(uintptr_t)cq->tap->key);
}
