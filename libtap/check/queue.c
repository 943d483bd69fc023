/* SPDX-License-Identifier: MIT */
/*
 * Outstanding work requests of queue pairs: from before they are posted until the program polls
 * their completion, or that of a later request of the send queue.
 *
 * A failed completion does not say whether it is of a send or of a receive, so it is the one that
 * its CQ or its wr_id allows. If both are possible, or none is, the queues of that QP are lost.
 */
#include "libtap/check/object.h"

#include <stdlib.h>

/* --- regions in use --- */

static void queue_use_regions(const struct check_obj *qp, struct check_wr *wr)
{
	struct check_obj *mr;
	u32 i;

	for (i = 0; i < wr->n_sge; i++) {
		mr = check_obj_of(tap_obj_find_mr(qp->tap->ctx_obj, wr->sge[i].lkey));
		wr->mr[i] = mr ? mr->ord : 0;
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

static void queue_count_in_cq(const struct ibv_cq *cq, int by)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);
	u32 n;

	if (!c)
		return;
	n = __atomic_add_fetch(&c->cq.outstanding, (u32)by, __ATOMIC_RELAXED);
	if (by > 0 && n == (u32)cq->cqe + 1)
		check_report(FINDING_CQ_SIZE_OUTSTANDING,
			     (struct check_other){ "CQ created", c->stack },
			     "cq%u has %d entries, and %u work requests may complete there", c->ord,
			     cq->cqe, n);
}

/* --- rings --- */

static struct check_wr *queue_entry(struct check_queue *q, u32 i)
{
	return &q->ring[(q->head + i) % q->depth];
}

static struct check_wr *queue_push(struct check_queue *q)
{
	if (q->lost)
		return NULL;
	if (q->n == q->depth) {
		q->lost = true;
		return NULL;
	}
	q->pushed++;
	return queue_entry(q, q->n++);
}

/* @wr: an entry that leaves the queue */
static void queue_forget_wr(const struct check_obj *qp, struct check_queue *q,
			    const struct check_wr *wr)
{
	q->n_signaled -= wr->signaled;
	queue_leave_regions(qp, wr);
	queue_count_in_cq(q == &qp->qp.sq ? qp->qp.scq : qp->qp.rcq, -1);
}

/* Removes the oldest entries. */
static void queue_retire(const struct check_obj *qp, struct check_queue *q, u32 n)
{
	for (; n && q->n; n--) {
		queue_forget_wr(qp, q, queue_entry(q, 0));
		q->head = (q->head + 1) % q->depth;
		q->n--;
	}
}

/* Removes the newest entries, which were refused. */
static void queue_withdraw(const struct check_obj *qp, struct check_queue *q, u32 n)
{
	for (; n && q->n; n--)
		queue_forget_wr(qp, q, queue_entry(q, --q->n));
}

static void queue_lose(const struct check_obj *qp, struct check_queue *q)
{
	queue_retire(qp, q, q->n);
	q->lost = true;
}

static bool queue_init(struct check_queue *q, u32 cap)
{
	if (!cap || cap > CHECK_DEPTH)
		return false;
	q->cap = cap;
	q->depth = 2 * cap + 16;
	q->ring = calloc(q->depth, sizeof(*q->ring));
	return q->ring;
}

/* --- queue pairs --- */

void check_qp_new(struct check_obj *c)
{
	struct ibv_qp *qp = (void *)(uintptr_t)c->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&init, 0, sizeof(init));
	pthread_mutex_init(&c->qp.lock, NULL);
	c->qp.scq = qp->send_cq;
	c->qp.rcq = qp->recv_cq;
	if (ibv_query_qp(qp, &attr, IBV_QP_CAP, &init)) {
		c->qp.sq.lost = c->qp.rq.lost = true;
		return;
	}
	c->qp.sig_all = init.sq_sig_all;
	c->qp.sq.lost = !queue_init(&c->qp.sq, init.cap.max_send_wr);
	/* Receives of an SRQ complete in any order, and belong to no queue pair before. */
	c->qp.rq.lost = qp->srq || !queue_init(&c->qp.rq, init.cap.max_recv_wr);
}

void check_qp_lose(struct check_obj *c)
{
	pthread_mutex_lock(&c->qp.lock);
	queue_lose(c, &c->qp.sq);
	queue_lose(c, &c->qp.rq);
	pthread_mutex_unlock(&c->qp.lock);
}

void check_qp_clear(struct check_obj *c)
{
	pthread_mutex_lock(&c->qp.lock);
	queue_retire(c, &c->qp.sq, c->qp.sq.n);
	queue_retire(c, &c->qp.rq, c->qp.rq.n);
	pthread_mutex_unlock(&c->qp.lock);
}

void check_qp_gone(struct check_obj *c)
{
	check_qp_clear(c);
	free(c->qp.sq.ring);
	free(c->qp.rq.ring);
}

static bool queue_lose_of_cq(struct check_obj *qp, void *cq)
{
	if (qp->qp.scq == cq || qp->qp.rcq == cq)
		check_qp_lose(qp);
	return false;
}

void check_cq_lose(struct check_obj *cq)
{
	check_obj_for_each(VOBJ_QP, queue_lose_of_cq, (void *)(uintptr_t)cq->tap->key);
}

/* --- posts --- */

static void queue_add_sges(const struct check_obj *qp, struct check_wr *to,
			   const struct ibv_sge *sge, size_t n)
{
	to->n_sge = (u8)min_u64(n, CHECK_SGES);
	memcpy(to->sge, sge, to->n_sge * sizeof(*sge));
	queue_use_regions(qp, to);
}

static struct check_wr *queue_add_send(struct check_obj *qp, u64 wr_id, u32 opcode, bool signaled,
				       check_stack stack)
{
	struct check_wr *to = queue_push(&qp->qp.sq);

	if (!to)
		return NULL;
	*to = (struct check_wr){ .wr_id = wr_id, .opcode = opcode, .stack = stack };
	to->signaled = signaled || qp->qp.sig_all;
	qp->qp.sq.n_signaled += to->signaled;
	queue_count_in_cq(qp->qp.scq, 1);
	return to;
}

static void queue_post_sends(struct check_obj *qp, const struct ibv_send_wr *wr)
{
	check_stack stack = check_stack_here();
	struct check_wr *to;

	for (; wr; wr = wr->next) {
		to = queue_add_send(qp, wr->wr_id, wr->opcode, wr->send_flags & IBV_SEND_SIGNALED,
				    stack);
		if (!to)
			break;
		to->raddr = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
		if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			to->raddr = wr->wr.atomic.remote_addr;
			to->rkey = wr->wr.atomic.rkey;
		}
		if (!(wr->send_flags & IBV_SEND_INLINE))
			queue_add_sges(qp, to, wr->sg_list, (size_t)wr->num_sge);
	}
}

static void queue_post_receives(struct check_obj *qp, const struct ibv_recv_wr *wr)
{
	check_stack stack = check_stack_here();
	struct check_wr *to;

	for (; wr; wr = wr->next) {
		to = queue_push(&qp->qp.rq);
		if (!to)
			break;
		*to = (struct check_wr){ .wr_id = wr->wr_id, .stack = stack };
		queue_count_in_cq(qp->qp.rcq, 1);
		queue_add_sges(qp, to, wr->sg_list, (size_t)wr->num_sge);
	}
}

static struct check_queue *queue_of_post(struct check_obj *qp, const struct tap_post *p)
{
	return p->queue == TAP_SEND ? &qp->qp.sq : &qp->qp.rq;
}

enum tap_verdict check_post_begin(struct tap_post *p)
{
	struct check_obj *qp = check_obj_of(p->obj);

	if (!qp || p->queue > TAP_RECV)
		return TAP_PASS;
	pthread_mutex_lock(&qp->qp.lock);
	if (p->queue == TAP_SEND)
		queue_post_sends(qp, p->send);
	else
		queue_post_receives(qp, p->recv);
	p->op.scratch[TAP_CHECK].word[0] = queue_of_post(qp, p)->pushed;
	pthread_mutex_unlock(&qp->qp.lock);
	return TAP_PASS;
}

static u32 queue_chain_length(const struct tap_post *p)
{
	const struct ibv_send_wr *s;
	const struct ibv_recv_wr *r;
	u32 n = 0;

	if (p->queue == TAP_SEND)
		for (s = p->bad_send; s; s = s->next)
			n++;
	else
		for (r = p->bad_recv; r; r = r->next)
			n++;
	return n;
}

/* A queue with no signaled request in it stays full. */
static void queue_check_stuck(struct check_obj *qp, int err)
{
	const struct check_queue *q = &qp->qp.sq;

	if (err != ENOMEM || q->lost || q->n_signaled || q->n < q->cap)
		return;
	check_report(FINDING_QP_SQ_STUCK,
		     (struct check_other){ "oldest request posted", q->ring[q->head].stack },
		     "qp%u: ibv_post_send() fails with ENOMEM: its %u outstanding requests are all "
		     "unsignaled, so no completion can make room",
		     qp->ord, q->n);
}

void check_post_end(struct tap_post *p)
{
	struct check_obj *qp = check_obj_of(p->obj);
	struct check_queue *q;
	u32 refused;

	if (!p->ret || !qp || p->queue > TAP_RECV)
		return;
	refused = queue_chain_length(p);
	q = queue_of_post(qp, p);
	pthread_mutex_lock(&qp->qp.lock);
	/* Another thread has posted meanwhile: which entries were refused is not known. */
	if (!q->lost && q->pushed == p->op.scratch[TAP_CHECK].word[0])
		queue_withdraw(qp, q, refused);
	else
		queue_lose(qp, q);
	if (p->queue == TAP_SEND)
		queue_check_stuck(qp, p->ret);
	pthread_mutex_unlock(&qp->qp.lock);
}

/* --- batches of ibv_wr_*() --- */

static void queue_add_batch_op(struct check_obj *qp, const struct ibv_qp_ex *ex,
			       const struct tap_wr_op *op)
{
	struct check_wr *to = queue_add_send(qp, ex->wr_id, op->opcode,
					     ex->wr_flags & IBV_SEND_SIGNALED, check_stack_here());

	if (!to)
		return;
	to->raddr = op->addr;
	to->rkey = op->key;
}

void check_wr_call(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct check_obj *qp = check_obj_of(o);
	struct check_queue *q = qp ? &qp->qp.sq : NULL;

	if (!q || q->lost)
		return;
	pthread_mutex_lock(&qp->qp.lock);
	if (op->what == TAP_WR_OP)
		queue_add_batch_op(qp, ex, op);
	else if ((op->what == TAP_WR_SGE || op->what == TAP_WR_SGE_LIST) && q->n)
		queue_add_sges(qp, queue_entry(q, q->n - 1), op->sge, op->n);
	pthread_mutex_unlock(&qp->qp.lock);
}

/* --- completions --- */

/* The entry of a completion, counted from the oldest one; or -1. */
static int queue_find_send(struct check_queue *q, u64 wr_id, bool failed)
{
	u32 i;

	for (i = 0; i < q->n; i++) {
		const struct check_wr *wr = queue_entry(q, i);

		if (wr->wr_id == wr_id && (failed || wr->signaled))
			return (int)i;
	}
	return -1;
}

static void queue_explain_failure(const struct check_obj *qp, const struct ibv_wc *wc,
				  const struct check_wr *wr, bool receive)
{
	bool write = receive || wr->opcode == IBV_WR_RDMA_READ ||
		     wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		     wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (wc->status == IBV_WC_LOC_PROT_ERR)
		check_mr_explain(qp, wc, wr, write);
	else if (wc->status == IBV_WC_REM_ACCESS_ERR && !receive)
		check_mr_explain_remote(qp, wc, wr);
}

/* @copy: receives the entry. Return: whether there was one. */
static bool queue_complete_send(struct check_obj *qp, const struct ibv_wc *wc,
				struct check_wr *copy)
{
	struct check_queue *q = &qp->qp.sq;
	int at = q->lost ? -1 : queue_find_send(q, wc->wr_id, wc->status != IBV_WC_SUCCESS);

	if (at < 0) {
		queue_lose(qp, q);
		return false;
	}
	*copy = *queue_entry(q, (u32)at);
	queue_retire(qp, q, (u32)at + 1);
	return true;
}

static bool queue_complete_receive(struct check_obj *qp, const struct ibv_wc *wc,
				   struct check_wr *copy)
{
	struct check_queue *q = &qp->qp.rq;

	if (q->lost || !q->n || queue_entry(q, 0)->wr_id != wc->wr_id) {
		queue_lose(qp, q);
		return false;
	}
	*copy = *queue_entry(q, 0);
	queue_retire(qp, q, 1);
	return true;
}

/* Whether a completion is of a receive. Return: 0, 1, or -1: it may be of either. */
static int queue_is_receive(struct check_obj *qp, const struct ibv_cq *cq, const struct ibv_wc *wc)
{
	struct check_queue *rq = &qp->qp.rq;
	bool send, receive;

	if (wc->status == IBV_WC_SUCCESS)
		return !!(wc->opcode & IBV_WC_RECV);
	if (qp->qp.scq != qp->qp.rcq)
		return cq == qp->qp.rcq;
	send = qp->qp.sq.lost || queue_find_send(&qp->qp.sq, wc->wr_id, true) >= 0;
	receive = rq->lost || (rq->n && queue_entry(rq, 0)->wr_id == wc->wr_id);
	return send == receive ? -1 : receive;
}

void check_completion(struct check_obj *cq, const struct ibv_wc *wc)
{
	struct check_obj *qp = check_obj_of(tap_obj_find_qpn(cq->tap->ctx_obj, wc->qp_num));
	struct check_wr wr;
	bool known = false;
	int receive;

	if (!qp)
		return;
	pthread_mutex_lock(&qp->qp.lock);
	receive = queue_is_receive(qp, (void *)(uintptr_t)cq->tap->key, wc);
	if (receive < 0) {
		queue_lose(qp, &qp->qp.sq);
		queue_lose(qp, &qp->qp.rq);
	} else {
		known = receive ? queue_complete_receive(qp, wc, &wr)
				: queue_complete_send(qp, wc, &wr);
	}
	pthread_mutex_unlock(&qp->qp.lock);
	if (known && wc->status != IBV_WC_SUCCESS)
		queue_explain_failure(qp, wc, &wr, receive);
}
