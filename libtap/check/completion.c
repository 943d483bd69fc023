/* SPDX-License-Identifier: MIT */
/*
 * Completions: which outstanding work request each is of.
 *
 * A failed completion does not say whether it is of a send or of a receive, so it is the one that
 * its CQ or its wr_id allows. If both are possible, or none is, the queues of that QP are lost.
 */
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"

/* The entry of a completion, counted from the oldest one; or -1. */
static int completion_find_send(struct check_queue *q, u64 wr_id, bool failed)
{
	u32 i;

	for (i = 0; i < q->n; i++) {
		const struct check_wr *wr = check_queue_entry(q, i);

		if (wr->wr_id == wr_id && (failed || wr->signaled))
			return (int)i;
	}
	return -1;
}

static void completion_explain_length(const struct check_obj *qp, const struct check_wr *wr)
{
	check_report_at(FINDING_WR_RECEIVE_SHORT, wr->stack, (struct check_other){ NULL, 0 },
			"qp%u: a message is longer than receive wr_id 0x%llx, which has %llu bytes",
			qp->ord, (unsigned long long)wr->wr_id, (unsigned long long)wr->bytes);
}

/* An error ends one request of an SRD queue pair, and the queue of any other. */
static bool completion_ends_one(const struct check_obj *qp)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;

	return ibqp->qp_type == IBV_QPT_DRIVER;
}

/* A program may send the message again: libfabric does. */
static void completion_explain_rnr(const struct check_obj *qp, const struct check_wr *wr)
{
	if (completion_ends_one(qp))
		return;
	check_report_at(FINDING_WR_RNR_EXCEEDED, wr->stack, (struct check_other){ NULL, 0 },
			"qp%u, wr_id 0x%llx: the peer has no receive for it, also after all "
			"retries",
			qp->ord, (unsigned long long)wr->wr_id);
}

static void completion_explain_access(struct check_obj *qp, const struct ibv_wc *wc,
				      const struct check_wr *wr)
{
	if (check_qp_peer(qp))
		check_mr_explain_remote(qp, wc, wr);
	else
		check_peer_explain(qp, wr);
}

static void completion_explain_failure(struct check_obj *qp, const struct ibv_wc *wc,
				       const struct check_wr *wr, bool receive)
{
	bool write = receive || wr->opcode == IBV_WR_RDMA_READ ||
		     wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		     wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (wc->status == IBV_WC_LOC_PROT_ERR)
		check_mr_explain(qp, wc, wr, write);
	else if (wc->status == IBV_WC_REM_ACCESS_ERR && !receive)
		completion_explain_access(qp, wc, wr);
	else if (wc->status == IBV_WC_LOC_LEN_ERR && receive)
		completion_explain_length(qp, wr);
	else if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR && !receive)
		completion_explain_rnr(qp, wr);
}

/* @copy: receives the entry. Return: whether there was one. */
static bool completion_take_send(struct check_obj *qp, const struct ibv_wc *wc,
				 struct check_wr *copy)
{
	struct check_queue *q = &qp->qp.sq;
	int at = q->lost ? -1 : completion_find_send(q, wc->wr_id, wc->status != IBV_WC_SUCCESS);
	u32 i;

	if (at < 0) {
		check_queue_lose(qp, q);
		return false;
	}
	*copy = *check_queue_entry(q, (u32)at);
	for (i = 0; wc->status == IBV_WC_SUCCESS && i <= (u32)at; i++)
		check_buffer_returned(qp, check_queue_entry(q, i));
	check_queue_retire(qp, q, (u32)at + 1);
	return true;
}

static bool completion_take_receive(struct check_obj *qp, const struct ibv_wc *wc,
				    struct check_wr *copy)
{
	struct check_queue *q = &qp->qp.rq;

	if (q->lost || !q->n || check_queue_entry(q, 0)->wr_id != wc->wr_id) {
		check_queue_lose(qp, q);
		return false;
	}
	*copy = *check_queue_entry(q, 0);
	check_queue_retire(qp, q, 1);
	return true;
}

/* Whether a completion is of a receive. Return: 0, 1, or -1: it may be of either. */
static int completion_is_receive(struct check_obj *qp, const struct ibv_cq *cq,
				 const struct ibv_wc *wc)
{
	struct check_queue *rq = &qp->qp.rq;
	bool send, receive;

	if (wc->status == IBV_WC_SUCCESS)
		return !!(wc->opcode & IBV_WC_RECV);
	if (qp->qp.scq != qp->qp.rcq)
		return cq == qp->qp.rcq;
	send = qp->qp.sq.lost || completion_find_send(&qp->qp.sq, wc->wr_id, true) >= 0;
	receive = rq->lost || (rq->n && check_queue_entry(rq, 0)->wr_id == wc->wr_id);
	return send == receive ? -1 : receive;
}

#define COMPLETION_ROOM_LEAST 64u /* of a receive whose room matters */
#define COMPLETION_ROOM_PART  16u

/* Was it luck that the message has fitted? A CQ may not say how long it was. */
static void completion_check_room(struct check_obj *qp, const struct ibv_wc *wc,
				  const struct check_wr *wr)
{
	struct check_lengths *l = &qp->qp.lengths;

	if (wc->opcode != IBV_WC_RECV || !wc->byte_len)
		return;
	if (l->latest && l->latest != wc->byte_len)
		l->varies = true;
	l->latest = wc->byte_len;
	if (!l->varies || wr->bytes < COMPLETION_ROOM_LEAST || wc->byte_len >= wr->bytes ||
	    wr->bytes - wc->byte_len >= wr->bytes / COMPLETION_ROOM_PART)
		return;
	check_report_at(FINDING_WR_RECEIVE_TIGHT, wr->stack, (struct check_other){ NULL, 0 },
			"qp%u: a message of %u bytes has nearly filled receive wr_id 0x%llx, which "
			"has %llu bytes",
			qp->ord, wc->byte_len, (unsigned long long)wr->wr_id,
			(unsigned long long)wr->bytes);
}

static void completion_note_failure(struct check_queue *q, enum ibv_wc_status status)
{
	if (q->failed != IBV_WC_SUCCESS)
		return;
	q->failed = status;
	q->failed_stack = check_stack_here();
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
	receive = completion_is_receive(qp, (void *)(uintptr_t)cq->tap->key, wc);
	if (receive < 0) {
		check_queue_lose(qp, &qp->qp.sq);
		check_queue_lose(qp, &qp->qp.rq);
	} else {
		known = receive ? completion_take_receive(qp, wc, &wr)
				: completion_take_send(qp, wc, &wr);
	}
	if (known && receive && wc->status == IBV_WC_SUCCESS)
		completion_check_room(qp, wc, &wr);
	if (qp->qp.shared && receive)
		check_srq_completed(qp, wc->wr_id, receive > 0);
	if (wc->status == IBV_WC_SUCCESS && receive > 0)
		check_race_arrived(qp);
	if (wc->status != IBV_WC_SUCCESS && !completion_ends_one(qp)) {
		check_guard_remove_qp(qp);
		if (receive >= 0)
			completion_note_failure(receive ? &qp->qp.rq : &qp->qp.sq, wc->status);
	}
	pthread_mutex_unlock(&qp->qp.lock);
	if (known && wc->status != IBV_WC_SUCCESS)
		completion_explain_failure(qp, wc, &wr, receive);
}
