/* SPDX-License-Identifier: MIT */
/*
 * Posts of work requests: by ibv_post_send() and ibv_post_recv(), and by batches of ibv_wr_*().
 *
 * A request is outstanding from before it is posted, because another thread may poll its completion
 * before the call returns. Those that the library refuses are withdrawn afterwards.
 */
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"
#include "libtap/check/watch.h"

static __thread u64 sends_of_thread __attribute__((tls_model("initial-exec")));

u64 check_post_sends_of_thread(void)
{
	return sends_of_thread;
}

static void post_set_sges(const struct check_obj *qp, struct check_wr *to,
			  const struct ibv_sge *sge, size_t n)
{
	to->bytes = check_request_bytes(sge, (int)n);
	to->n_sge = (u8)min_u64(n, CHECK_SGES);
	memcpy(to->sge, sge, to->n_sge * sizeof(*sge));
	check_queue_use_regions(qp, to);
}

static bool post_is_read(u32 opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* @wr: the new entry, or NULL */
static void post_added(const struct check_obj *qp, struct check_queue *q, const struct check_wr *wr)
{
	if (wr)
		check_request_id(qp, q, wr);
	check_request_ignores(qp, q);
}

/* A send request has its data segments, and is about to be posted. */
static void post_prepared(struct check_obj *qp, struct check_wr *wr)
{
	check_race_posted(qp, wr);
	check_rights_needed(qp, wr);
}

static void post_set_send_sges(struct check_obj *qp, struct check_wr *wr, const struct ibv_sge *sge,
			       size_t n, bool fence)
{
	post_set_sges(qp, wr, sge, n);
	check_request_fence(qp, wr, fence);
	if (wr->is_read) {
		check_buffer_target(qp->tap->ctx_obj, sge, n);
		check_guard_add(qp, wr, true);
	} else {
		if (check_request_reads_memory(wr->opcode)) {
			check_buffer_spare_targets(wr);
			check_guard_add(qp, wr, false);
		}
		check_buffer_owned(wr);
		check_performance_payload(qp, wr);
	}
}

/* --- chains --- */

static void post_add_send(struct check_obj *qp, const struct ibv_send_wr *wr, check_stack stack)
{
	struct check_wr new = { .wr_id = wr->wr_id, .opcode = wr->opcode, .stack = stack }, *to;

	new.bytes = check_request_bytes(wr->sg_list, wr->num_sge);
	new.signaled = qp->qp.sig_all || (wr->send_flags & IBV_SEND_SIGNALED);
	new.is_read = post_is_read(wr->opcode);
	if (qp->tap->datagrams) {
		new.ah = wr->wr.ud.ah;
		check_peer_datagram(qp, wr->wr_id, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				    wr->wr.ud.remote_qkey);
	} else if (new.is_read && wr->opcode != IBV_WR_RDMA_READ) {
		new.raddr = wr->wr.atomic.remote_addr;
		new.rkey = wr->wr.atomic.rkey;
	} else {
		new.raddr = wr->wr.rdma.remote_addr;
		new.rkey = wr->wr.rdma.rkey;
	}
	check_request_target(qp, new.wr_id, new.opcode, new.raddr);
	check_peer_send(qp, new.wr_id, new.opcode);
	check_request_imm(qp, new.wr_id, new.opcode, wr->imm_data);
	if (wr->send_flags & IBV_SEND_INLINE)
		check_asked_inline(qp, new.bytes);
	to = check_queue_add(qp, &qp->qp.sq, &new);
	if (to)
		check_performance_added(qp, to);
	if (to && !(wr->send_flags & IBV_SEND_INLINE))
		post_set_send_sges(qp, to, wr->sg_list, (size_t)wr->num_sge,
				   wr->send_flags & IBV_SEND_FENCE);
	if (to)
		post_prepared(qp, to);
	post_added(qp, &qp->qp.sq, to);
}

static void post_add_receive(struct check_obj *qp, const struct ibv_recv_wr *wr, check_stack stack)
{
	struct check_wr new = { .wr_id = wr->wr_id, .stack = stack }, *to;

	check_peer_receive(qp, wr->wr_id);
	to = check_queue_add(qp, &qp->qp.rq, &new);
	if (to) {
		post_set_sges(qp, to, wr->sg_list, (size_t)wr->num_sge);
		check_buffer_receive(qp, to);
		check_guard_add(qp, to, true);
	}
	post_added(qp, &qp->qp.rq, to);
}

static struct check_queue *post_queue(struct check_obj *qp, const struct tap_post *p)
{
	return p->queue == TAP_SEND ? &qp->qp.sq : &qp->qp.rq;
}

/* Receives of any queue are targets. */
static void post_note_targets(const struct tap_post *p)
{
	const struct tap_obj *ctx = p->obj ? p->obj->ctx_obj : NULL;
	const struct ibv_recv_wr *r;
	const struct ibv_ops_wr *o;

	if (p->queue == TAP_TAG_OPS)
		for (o = p->ops; o; o = o->next)
			check_buffer_target(ctx, o->tm.add.sg_list,
					    o->opcode == IBV_WR_TAG_ADD ? (size_t)o->tm.add.num_sge
									: 0);
	else if (p->queue != TAP_SEND)
		for (r = p->recv; r; r = r->next)
			check_buffer_target(ctx, r->sg_list, (size_t)r->num_sge);
}

static bool post_is_single(const struct tap_post *p)
{
	if (p->queue == TAP_SEND)
		return p->send && !p->send->next;
	return p->recv && !p->recv->next;
}

enum tap_verdict check_post_begin(struct tap_post *p)
{
	struct check_obj *qp = check_obj_of(p->obj);
	check_stack stack = check_stack_here();
	const struct ibv_send_wr *s;
	const struct ibv_recv_wr *r;

	check_guard_report();
	check_fork_used(p->obj, "posts to");
	if (p->queue == TAP_SEND)
		sends_of_thread++;
	else
		post_note_targets(p);
	if (qp && p->queue == TAP_SRQ)
		check_srq_posted(qp, p->recv, stack);
	if (!qp || p->queue > TAP_RECV)
		return TAP_PASS;
	check_thread_enter(qp, p->queue == TAP_SEND ? CHECK_SENDS : CHECK_RECEIVES);
	check_request_state(qp, p->queue == TAP_SEND);
	check_performance_post(qp, post_is_single(p));
	pthread_mutex_lock(&qp->qp.lock);
	if (p->queue == TAP_SEND)
		for (s = p->send; s; s = s->next)
			post_add_send(qp, s, stack);
	else
		for (r = p->recv; r; r = r->next)
			post_add_receive(qp, r, stack);
	p->op.scratch[TAP_CHECK].word[0] = post_queue(qp, p)->pushed;
	pthread_mutex_unlock(&qp->qp.lock);
	return TAP_PASS;
}

static u32 post_chain_length(const struct tap_post *p)
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

/* --- after a post --- */

/* A queue with no signaled request in it stays full. */
static void post_check_stuck(struct check_obj *qp, const char *call, int err)
{
	const struct check_queue *q = &qp->qp.sq;

	if (err != ENOMEM || q->lost || q->n_signaled || q->n < q->cap)
		return;
	check_report(FINDING_QP_SQ_STUCK,
		     (struct check_other){ "oldest request posted", q->ring[q->head].stack },
		     "qp%u: %s fails with ENOMEM: its %u outstanding requests are all unsignaled, "
		     "so no completion can make room",
		     qp->ord, call, q->n);
}

static void post_refused(struct check_obj *qp, const char *call, int err)
{
	check_peer_refused(qp);
	post_check_stuck(qp, call, err);
}

/* Only now: requests that were refused do not complete. */
static void post_check_cq(const struct ibv_cq *cq)
{
	struct check_obj *c = check_obj_find(VOBJ_CQ, cq);
	u32 n = c ? __atomic_load_n(&c->cq.outstanding, __ATOMIC_RELAXED) : 0;

	if (!n || n <= (u32)cq->cqe || __atomic_exchange_n(&c->cq.exceeded, true, __ATOMIC_RELAXED))
		return;
	check_report(FINDING_CQ_SIZE_OUTSTANDING, (struct check_other){ "CQ created", c->stack },
		     "cq%u has %d entries, and %u work requests may complete there", c->ord,
		     cq->cqe, n);
}

void check_post_end(struct tap_post *p)
{
	struct check_obj *qp = check_obj_of(p->obj);
	struct check_queue *q;

	check_guard_resume();
	check_watch_resume();
	if (qp && p->queue == TAP_SRQ && p->ret)
		check_srq_lose(qp);
	if (!qp || p->queue > TAP_RECV)
		return;
	check_thread_leave(qp, p->queue == TAP_SEND ? CHECK_SENDS : CHECK_RECEIVES);
	if (!p->ret) {
		post_check_cq(p->queue == TAP_SEND ? qp->qp.scq : qp->qp.rcq);
		if (p->queue == TAP_SEND)
			check_request_unsignaled(qp);
		return;
	}
	check_request_refused(qp, p);
	q = post_queue(qp, p);
	pthread_mutex_lock(&qp->qp.lock);
	/* Another thread has posted meanwhile: which entries were refused is not known. */
	if (!q->lost && q->pushed == p->op.scratch[TAP_CHECK].word[0])
		check_queue_withdraw(qp, q, post_chain_length(p));
	else
		check_queue_lose(qp, q);
	if (p->queue == TAP_SEND)
		post_refused(qp, "ibv_post_send()", p->ret);
	pthread_mutex_unlock(&qp->qp.lock);
}

/* --- batches of ibv_wr_*() --- */

static void post_add_batch_op(struct check_obj *qp, const struct ibv_qp_ex *ex,
			      const struct tap_wr_op *op)
{
	struct check_wr new = {
		.wr_id = ex->wr_id,
		.opcode = op->opcode,
		.signaled = qp->qp.sig_all || (ex->wr_flags & IBV_SEND_SIGNALED),
		.is_read = post_is_read(op->opcode),
		.stack = check_stack_here(),
		.raddr = op->addr,
		.rkey = op->key,
	}, *to;

	check_request_target(qp, new.wr_id, new.opcode, new.raddr);
	check_peer_send(qp, new.wr_id, new.opcode);
	check_request_imm(qp, new.wr_id, new.opcode, op->imm);
	to = check_queue_add(qp, &qp->qp.sq, &new);
	if (to) {
		check_performance_added(qp, to);
		qp->qp.sq.batch++;
		qp->qp.sq.batch_fence = ex->wr_flags & IBV_SEND_FENCE;
	}
	post_added(qp, &qp->qp.sq, to);
}

static void post_add_batch_part(struct check_obj *qp, struct check_wr *wr,
				const struct tap_wr_op *op)
{
	u64 bytes = 0;
	size_t i;

	if (op->what == TAP_WR_SGE || op->what == TAP_WR_SGE_LIST) {
		post_set_send_sges(qp, wr, op->sge, op->n, qp->qp.sq.batch_fence);
		post_prepared(qp, wr);
	} else if (op->what == TAP_WR_INLINE || op->what == TAP_WR_INLINE_LIST) {
		for (i = 0; i < op->n; i++)
			bytes += op->buf[i].length;
		check_asked_inline(qp, bytes);
		wr->bytes = bytes;
		post_prepared(qp, wr);
	} else if (op->what == TAP_WR_UD_ADDR) {
		wr->ah = op->ah;
		check_peer_datagram(qp, wr->wr_id, op->ah, op->qpn, op->qkey);
		check_queue_use_ah(wr);
	}
}

void check_wr_call(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct check_obj *qp = check_obj_of(o);
	struct check_queue *q = qp ? &qp->qp.sq : NULL;

	if (op->what == TAP_WR_STARTING) {
		check_guard_report();
		check_fork_used(o, "posts to");
	}
	if (!q)
		return;
	if (op->what == TAP_WR_STARTING) {
		check_request_state(qp, true);
		check_thread_enter(qp, CHECK_SENDS);
	}
	pthread_mutex_lock(&qp->qp.lock);
	if (op->what == TAP_WR_START)
		q->batch = 0;
	else if (op->what == TAP_WR_OP)
		post_add_batch_op(qp, ex, op);
	else if (q->batch && q->n)
		post_add_batch_part(qp, check_queue_entry(q, q->n - 1), op);
	pthread_mutex_unlock(&qp->qp.lock);
}

/* The library holds the QP's lock until now: the batch is the newest part of the queue. */
void check_wr_batch_end(struct tap_batch *b)
{
	struct check_obj *qp = check_obj_of(b->obj);

	sends_of_thread++;
	check_guard_resume();
	check_watch_resume();
	if (!qp)
		return;
	check_thread_leave(qp, CHECK_SENDS);
	check_performance_post(qp, qp->qp.sq.batch == 1);
	if (!b->abort && !b->ret) {
		post_check_cq(qp->qp.scq);
		check_request_unsignaled(qp);
		return;
	}
	pthread_mutex_lock(&qp->qp.lock);
	check_queue_withdraw(qp, &qp->qp.sq, qp->qp.sq.batch);
	if (!b->abort)
		post_refused(qp, "ibv_wr_complete()", b->ret);
	else
		check_peer_refused(qp);
	pthread_mutex_unlock(&qp->qp.lock);
}
