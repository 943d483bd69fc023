/* SPDX-License-Identifier: MIT */
/*
 * Faults on the devices of any library below. The fabric process matches and counts, as it does for
 * emulated programs. Here calls fail that rules name, `fail` of rdmaemu-faults(7); work_faults.c
 * has `wc`, defer_faults.c `defer`, event_faults.c `cm`, hold_faults.c `cq`, raised_events.c
 * `event`. The fabric's journal
 * also gets calls of the control path and work requests that fail by themselves, and asynchronous
 * events; its status has the process's objects (object_counts.c).
 */
#include "libtap/async_file.h"
#include "libtap/tap.h"
#include "libtap/users/defer_faults.h"
#include "libtap/users/event_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/hold_faults.h"
#include "libtap/users/late_faults.h"
#include "libtap/users/limit_faults.h"
#include "libtap/users/object_counts.h"
#include "libtap/users/port_counters.h"
#include "libtap/users/raised_events.h"
#include "libtap/users/work_faults.h"
#include "libtap/users/work_hits.h"
#include "traces/calls/desc.h"

/* The number of each call of the table among those that rules can name; CALL_COUNT: none. */
static u16 call_ids[VCALL_COUNT];

static bool fault_start(void)
{
	int id;
	u32 i;

	if (!work_hits_start() || !tap_fabric_join())
		return false;
	object_counts_start();
	port_counters_start();
	request_log_start();
	late_faults_start();
	defer_faults_start();
	event_faults_start();
	raised_events_start();
	limit_faults_start();
	for (i = 0; i < VCALL_COUNT; i++) {
		id = call_find(vcall_descs[i].name);
		call_ids[i] = id < 0 ? CALL_COUNT : (u16)id;
	}
	return true;
}

/* verbs.h makes ibv_reg_mr_iova2() of the two others. */
static enum call_id fault_call_id(const struct tap_call *c)
{
	if (c->call == VCALL_ibv_reg_mr_iova2)
		return c->args[3] == c->args[1] ? CALL_ibv_reg_mr : CALL_ibv_reg_mr_iova;
	return (enum call_id)call_ids[c->call];
}

/* The error with which a rule makes a call fail; 0: none does. */
static int fault_call_error(struct tap_call *c)
{
	enum call_id id = fault_call_id(c);
	int err = id < CALL_COUNT ? tap_fabric_call_error(id, c->text) : 0;

	if (err)
		return err;
	err = limit_fault_error(c);
	if (err && id < CALL_COUNT)
		tap_fabric_report(id, c->text, err, true);
	return err;
}

static enum tap_verdict fault_call_begin(struct tap_call *c)
{
	int err = fault_call_error(c);

	if (!err) {
		work_fault_call_begin(c);
		defer_fault_call_begin(c);
		event_fault_call_begin(c);
		return raised_event_call_begin(c);
	}
	tap_call_fail(c, err);
	return TAP_ANSWER;
}

/*
 * Whether a call's error is no failure, but an answer: an empty queue, a signal, or an entry of the
 * table of GIDs that is empty. Programs go through that table to its end.
 */
static bool fault_is_answer(const struct tap_call *c)
{
	return c->failed == EAGAIN || c->failed == EINTR ||
	       (c->failed == ENODATA &&
		(c->call == VCALL_ibv_query_gid || c->call == VCALL_ibv_query_gid_ex));
}

static void fault_call_returned(struct tap_call *c)
{
	event_fault_call_returned(c);
	limit_fault_call_returned(c);
}

static void fault_call_end(struct tap_call *c)
{
	enum call_id id = fault_call_id(c);

	if (unlikely(c->failed) && id < CALL_COUNT && !fault_is_answer(c))
		tap_fabric_report(id, c->text, c->failed, false);
	object_counts_call_end(c);
	limit_fault_call_end(c);
	work_fault_call_end(c);
	defer_fault_call_end(c);
	event_fault_call_end(c);
	raised_event_call_end(c);
}

static const enum call_id post_ids[] = {
	[TAP_SEND] = CALL_ibv_post_send,       [TAP_RECV] = CALL_ibv_post_recv,
	[TAP_SRQ] = CALL_ibv_post_srq_recv,    [TAP_WQ] = CALL_ibv_post_wq_recv,
	[TAP_TAG_OPS] = CALL_ibv_post_srq_ops,
};

static bool fault_post_quiet(enum tap_queue queue, struct tap_obj *o, const void *chain)
{
	if (request_log_enabled)
		return false;
	if (likely(!tap_fabric_has_post()))
		return !work_hits_are_due() && !defer_faults_hold();
	return queue <= TAP_RECV && !tap_fabric_has_call(post_ids[queue]) && work_qp_of(o) &&
	       work_fault_is_free(o, queue == TAP_RECV, chain);
}

static enum tap_verdict fault_post_begin(struct tap_post *p)
{
	int saved = errno, err = tap_fabric_error(post_ids[p->queue]);
	struct work_qp *q = p->queue <= TAP_RECV ? work_qp_of(p->obj) : NULL;

	if (!err && q && unlikely(request_log_keeps(&q->requests)))
		request_log_post(&q->requests, p);
	if (likely(!err && !work_fault_is_due()))
		return TAP_PASS;
	if (!err) {
		errno = saved;
		return p->queue <= TAP_RECV ? work_fault_post(p) : TAP_PASS;
	}
	p->ret = errno = err;
	p->bad = p->chain;
	return TAP_ANSWER;
}

static enum tap_verdict fault_batch_begin(struct tap_batch *b)
{
	int err = b->abort ? 0 : tap_fabric_error(CALL_ibv_wr_complete);

	if (likely(!err)) {
		if (!b->abort)
			work_fault_batch_begin(b);
		return TAP_PASS;
	}
	b->ret = errno = err;
	return TAP_ANSWER;
}

static bool fault_poll_quiet(void)
{
	return !tap_fabric_has_poll() && !late_faults_wait();
}

static enum tap_verdict fault_poll_begin(struct tap_poll *p)
{
	int err;
	bool late;

	if (fault_poll_quiet())
		return TAP_PASS;
	err = tap_fabric_error(CALL_ibv_poll_cq);
	late = unlikely(tap_fabric_has_hold()) && !err && hold_fault_withholds(p->obj);

	if (unlikely(late_faults_wait()) && !err && !late && late_fault_answer(p))
		return TAP_ANSWER;
	if (likely(!err && !late))
		return TAP_PASS;
	p->ret = late ? 0 : -1;
	if (err)
		errno = err;
	return TAP_ANSWER;
}

static void fault_poll_end(struct tap_poll *p)
{
	if (p->ret > 0)
		work_fault_poll(p);
	if (unlikely(tap_fabric_has_hold()) && p->ret >= 0 && p->ret < p->n)
		hold_fault_drained(p->obj);
}

static enum tap_verdict fault_cqex_begin(struct tap_cqex *p)
{
	int err = 0;

	if (p->what != TAP_CQEX_END)
		err = tap_fabric_error(p->what == TAP_CQEX_START ? CALL_ibv_start_poll
								 : CALL_ibv_next_poll);
	if (unlikely(tap_fabric_has_hold()) && !err && p->what == TAP_CQEX_START &&
	    hold_fault_withholds(p->obj)) {
		p->ret = ENOENT;
		return TAP_ANSWER;
	}
	if (likely(!err))
		return TAP_PASS;
	p->ret = errno = err;
	return TAP_ANSWER;
}

static void fault_cqex_end(struct tap_cqex *p)
{
	work_fault_cqex(p);
	if (unlikely(tap_fabric_has_hold()) && p->what != TAP_CQEX_END && p->ret == ENOENT)
		hold_fault_drained(p->obj);
}

static enum tap_verdict fault_cq_begin(struct tap_cqop *p)
{
	int err = 0;

	if (p->what != TAP_CQ_ACK)
		err = tap_fabric_error(p->what == TAP_CQ_ARM ? CALL_ibv_req_notify_cq
							     : CALL_ibv_get_cq_event);
	if (likely(!err)) {
		if (p->what == TAP_CQ_ARM)
			hold_fault_arm(p->cq);
		return TAP_PASS;
	}
	p->ret = p->what == TAP_CQ_ARM ? err : -1;
	p->err = err;
	return TAP_ANSWER;
}

static void fault_cq_end(struct tap_cqop *p)
{
	if (p->what == TAP_CQ_EVENT && !p->ret)
		hold_fault_event(p->cq);
}

static void fault_object_new(struct tap_obj *o)
{
	struct ibv_context *ctx = (struct ibv_context *)(uintptr_t)o->key;

	if (o->kind == VOBJ_CTX) {
		port_counters_open(ctx->device);
		raised_events_open(ctx);
	}
	work_fault_object_new(o);
	object_counts_new(o);
	limit_fault_object_new(o);
	hold_fault_object_new(o);
}

static void fault_object_gone(struct tap_obj *o)
{
	/* Those of the parent of a forked process were not counted in the child. */
	if (o->ord) {
		limit_fault_object_gone(o);
		object_counts_gone(o);
	}
	defer_fault_object_gone(o);
	work_fault_object_gone(o);
	raised_events_object_gone(o);
	hold_fault_object_gone(o);
	if (o->kind == VOBJ_CQ)
		late_faults_forget_cq(o);
}

static enum tap_verdict fault_dm_begin(struct tap_dm *d)
{
	int err = tap_fabric_error(d->to ? CALL_ibv_memcpy_to_dm : CALL_ibv_memcpy_from_dm);

	if (likely(!err))
		return TAP_PASS;
	d->ret = errno = err;
	return TAP_ANSWER;
}

static void fault_fork_child(void)
{
	tap_fabric_forked();
	tap_async_forked();
}

static const struct tap_user fault_user = {
	.slot = TAP_FAULTS,
	.objects = true,
	.start = fault_start,
	.fork_child = fault_fork_child,
	.finish = defer_faults_finish,
	.call_begin = fault_call_begin,
	.call_returned = fault_call_returned,
	.call_end = fault_call_end,
	.object_new = fault_object_new,
	.object_gone = fault_object_gone,
	.post_quiet = fault_post_quiet,
	.poll_quiet = fault_poll_quiet,
	.post_begin = fault_post_begin,
	.wr = work_fault_wr,
	.wr_batch_begin = fault_batch_begin,
	.wr_batch_end = work_fault_batch_end,
	.poll_begin = fault_poll_begin,
	.poll_end = fault_poll_end,
	.cqex_begin = fault_cqex_begin,
	.cqex_end = fault_cqex_end,
	.cq_begin = fault_cq_begin,
	.cq_end = fault_cq_end,
	.direct = object_counts_direct,
	.dm_begin = fault_dm_begin,
};

TAP_USER(fault_user);
