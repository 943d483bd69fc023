/* SPDX-License-Identifier: MIT */
/**
 * DOC: asynchronous events on real devices that rules raise.
 *
 * Theory of operation
 * -------------------
 * A context that is opened while there is a rule `event` gets a descriptor of ours as its async_fd
 * (libtap/async_file.h). A thread waits for the fabric process, which says when a rule is due. It
 * does what goes with the event, as a device would, on each object that the rule selects, and puts
 * the event into a list:
 *  - QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR: the queue pair goes to ERR
 *  - DEVICE_FATAL: all queue pairs of the context do
 *  - SRQ_LIMIT_REACHED: the limit is not armed any more
 *  - others come only in a state in which a device can raise them
 *
 * ibv_get_async_event() takes events out of the list, and asks the library below when the kernel's
 * file is readable. ibv_ack_async_event() of an event from the list does not reach the library,
 * whose ibv_destroy_qp() would wait until it has as many acknowledgements as events: here it waits
 * for the program's. Events that the program has not taken when their object is destroyed are
 * dropped.
 *
 * The thread uses objects under the lock. A call that destroys one marks it before, and those that
 * are marked are left alone; their memory is freed after object_gone, which waits for the lock.
 */
#include "libtap/users/raised_events.h"
#include "libtap/async_file.h"
#include "libtap/process.h"
#include "libtap/users/defer_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/object_counts.h"
#include "libtap/users/work_hits.h"
#include "traces/calls/walk.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/**
 * struct raised - an event of ours.
 * @ctx: on which context
 * @taken: the program has it, and has not acknowledged it
 */
struct raised {
	struct raised *next;
	const struct ibv_context *ctx;
	struct ibv_async_event event;
	bool taken;
};

#define ENDING 64u /* objects that calls are destroying */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct raised *raised_list;
static const void *ending[ENDING];
static int events_fd;
static bool has_thread;

/* The rule that the thread carries out, and on how many objects it has raised the event. */
static struct proto_raise now;
static u32 now_raised;

void raised_events_start(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	raised_list = NULL;
	memset(ending, 0, sizeof(ending));
	has_thread = false;
}

/* --- the list; under the lock ----------------------------------------------------------------- */

static bool event_is_of(const struct raised *r, const void *object)
{
	return vwalk_event_object(r->event.event_type) != VOBJ_NONE &&
	       (const void *)r->event.element.qp == object;
}

static void raised_add(const struct ibv_context *ctx, const struct ibv_async_event *event)
{
	struct raised **at = &raised_list, *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->ctx = ctx;
	r->event = *event;
	while (*at)
		at = &(*at)->next;
	*at = r;
	tap_async_ring(ctx, true);
}

/* The bell is silent when nothing is left to take. */
static void raised_hush(const struct ibv_context *ctx)
{
	const struct raised *r;

	for (r = raised_list; r; r = r->next)
		if (r->ctx == ctx && !r->taken)
			return;
	tap_async_ring(ctx, false);
}

/* Drop the events about @object, or of the context @object; only those that nobody has taken. */
static void raised_drop(const void *object)
{
	const struct ibv_context *ctx;
	struct raised **at, *r;

	for (at = &raised_list; (r = *at);) {
		if (r->ctx != object && (r->taken || !event_is_of(r, object))) {
			at = &r->next;
			continue;
		}
		ctx = r->ctx;
		*at = r->next;
		free(r);
		if (ctx != object)
			raised_hush(ctx);
	}
}

static bool raised_is_taken(const void *object)
{
	const struct raised *r;

	for (r = raised_list; r; r = r->next)
		if (r->taken && event_is_of(r, object))
			return true;
	return false;
}

static bool object_is_ending(const void *object)
{
	u32 i;

	for (i = 0; i < ENDING; i++)
		if (ending[i] == object)
			return true;
	return false;
}

static void ending_replace(const void *from, const void *to)
{
	u32 i;

	for (i = 0; i < ENDING; i++)
		if (ending[i] == from) {
			ending[i] = to;
			return;
		}
}

/* --- raising; under the lock, by the thread --------------------------------------------------- */

static bool raise_is_on(const struct ibv_context *ctx)
{
	return tap_async_is_made(ctx) && !object_is_ending(ctx) &&
	       (!now.device[0] ||
		!strncmp(now.device, ibv_get_device_name(ctx->device), sizeof(now.device)));
}

static void raise_event(const struct ibv_context *ctx, struct ibv_async_event *event, u32 qpn)
{
	const struct proto_event report = {
		.type = now.type, .qpn = qpn, .rule = now.rule, .first = !now_raised
	};

	event->event_type = (enum ibv_event_type)now.type;
	raised_add(ctx, event);
	now_raised++;
	tap_fabric_report_raised(&report);
}

static enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

/* Return: whether it was in a state in which it can fail, and is in ERR now */
static bool qp_fail(const struct tap_obj *o)
{
	struct ibv_qp *qp = (struct ibv_qp *)(uintptr_t)o->key;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const enum ibv_qp_state state = qp_state(qp);

	if (state == IBV_QPS_RESET || state == IBV_QPS_ERR || state == IBV_QPS_UNKNOWN ||
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return false;
	defer_fault_qp_failed(o);
	object_counts_qp_changed(o);
	return true;
}

/* Whether a device could raise the event now, without anything else. */
static bool raised_fits_qp(struct ibv_qp *qp)
{
	const enum ibv_qp_state state = qp_state(qp);

	switch ((enum ibv_event_type)now.type) {
	case IBV_EVENT_COMM_EST:
		return qp->qp_type != IBV_QPT_UD && (state == IBV_QPS_RTR || state == IBV_QPS_RTS);
	case IBV_EVENT_SQ_DRAINED:
		return state == IBV_QPS_SQD;
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
		return qp->qp_type != IBV_QPT_UD && state == IBV_QPS_RTS;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return qp->srq && state == IBV_QPS_ERR;
	default:
		return false;
	}
}

static void raise_on_qp(struct tap_obj *o)
{
	struct ibv_qp *qp = (struct ibv_qp *)(uintptr_t)o->key;
	struct ibv_async_event event = { .element.qp = qp };
	bool fatal = now.type == IBV_EVENT_QP_FATAL || now.type == IBV_EVENT_QP_REQ_ERR ||
		     now.type == IBV_EVENT_QP_ACCESS_ERR;

	if (!o->ord || object_is_ending(qp) || (now.qpn && now.qpn != qp->qp_num) ||
	    !raise_is_on(qp->context))
		return;
	if (fatal ? qp_fail(o) : raised_fits_qp(qp))
		raise_event(qp->context, &event, qp->qp_num);
}

static void raise_on_srq(struct tap_obj *o)
{
	struct ibv_srq *srq = (struct ibv_srq *)(uintptr_t)o->key;
	struct ibv_async_event event = { .element.srq = srq };
	struct ibv_srq_attr attr;

	if (!o->ord || object_is_ending(srq) || (now.srq && now.srq != srq->handle + 1) ||
	    !raise_is_on(srq->context) || ibv_query_srq(srq, &attr) || !attr.srq_limit)
		return;
	attr.srq_limit = 0;
	if (!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))
		raise_event(srq->context, &event, 0);
}

static void fail_with_device(struct tap_obj *o)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;

	if (o->ord && !object_is_ending(qp) && raise_is_on(qp->context))
		qp_fail(o);
}

static void raise_on_context(struct tap_obj *o)
{
	struct ibv_context *ctx = (struct ibv_context *)(uintptr_t)o->key;
	struct ibv_async_event event = { 0 };
	struct ibv_device_attr attr;
	int port;

	if (!o->ord || !raise_is_on(ctx))
		return;
	if (now.type == IBV_EVENT_DEVICE_FATAL) {
		raise_event(ctx, &event, 0);
		return;
	}
	if (ibv_query_device(ctx, &attr))
		return;
	for (port = 1; port <= attr.phys_port_cnt; port++) {
		event.element.port_num = port;
		if (!now.port || (int)now.port == port)
			raise_event(ctx, &event, 0);
	}
}

static void raise_all(void)
{
	now_raised = 0;
	switch (vwalk_event_object((enum ibv_event_type)now.type)) {
	case VOBJ_QP:
		tap_obj_for_each(VOBJ_QP, raise_on_qp);
		break;
	case VOBJ_SRQ:
		tap_obj_for_each(VOBJ_SRQ, raise_on_srq);
		break;
	default:
		tap_obj_for_each(VOBJ_CTX, raise_on_context);
		if (now.type == IBV_EVENT_DEVICE_FATAL)
			tap_obj_for_each(VOBJ_QP, fail_with_device);
		break;
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *events_thread(void *arg)
{
	/* Non-blocking, as the fabric process has it, too. */
	struct pollfd fd = { .fd = events_fd, .events = POLLIN };
	u64 n;

	(void)arg;
	tap_thread.depth++; /* nobody sees its calls */
	while (poll(&fd, 1, -1) == 1 && read(fd.fd, &n, sizeof(n)) == sizeof(n)) {
		pthread_mutex_lock(&lock);
		while (tap_fabric_next_event(&now))
			raise_all();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Under the lock. Return: whether there is one. It lives as long as the process. */
static bool events_thread_start(void)
{
	if (has_thread)
		return true;
	events_fd = tap_fabric_events_fd();
	if (events_fd < 0)
		return false;
	has_thread = tap_start_thread(events_thread);
	return has_thread;
}

void raised_events_open(struct ibv_context *ctx)
{
	int ret = -EIO;

	if (likely(!tap_fabric_has_event()))
		return;
	pthread_mutex_lock(&lock);
	if (events_thread_start())
		ret = tap_async_make(ctx);
	pthread_mutex_unlock(&lock);
	if (ret)
		dprintf(STDERR_FILENO, "rdmaemu: %s: no rule raises events on %s: %s\n",
			program_invocation_short_name, ibv_get_device_name(ctx->device),
			strerror(-ret));
}

/* --- calls ------------------------------------------------------------------------------------ */

static bool raised_take(const struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct raised *r;

	pthread_mutex_lock(&lock);
	for (r = raised_list; r && (r->taken || r->ctx != ctx); r = r->next)
		;
	if (r) {
		r->taken = true;
		*event = r->event;
	}
	raised_hush(ctx);
	pthread_mutex_unlock(&lock);
	return r;
}

/* Return: as ibv_get_async_event(); @ours: it is from the list */
static int event_get(struct ibv_context *ctx, struct ibv_async_event *event, bool *ours)
{
	for (;;) {
		*ours = raised_take(ctx, event);
		if (*ours)
			return 0;
		if (tap_async_wait(ctx))
			return -1;
		/* Another thread may be faster, and the kernel's file is non-blocking. */
		if (!ibv_get_async_event(ctx, event))
			return 0;
		if (errno != EAGAIN)
			return -1;
	}
}

/* Return: whether the event was ours, of which the library below knows nothing */
static bool event_ack(const struct ibv_async_event *event)
{
	struct raised **at, *r;

	pthread_mutex_lock(&lock);
	for (at = &raised_list; (r = *at); at = &r->next)
		if (r->taken && r->event.event_type == event->event_type &&
		    (vwalk_event_object(event->event_type) == VOBJ_NONE ||
		     event_is_of(r, event->element.qp)))
			break;
	if (r) {
		*at = r->next;
		free(r);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* The object that a call destroys, if it can have events. */
static const void *object_ending(const struct tap_call *c)
{
	const struct tap_obj *qp = work_qp_ending(c);

	if (qp)
		return (const void *)(uintptr_t)qp->key;
	return c->call == VCALL_ibv_destroy_srq || c->call == VCALL_ibv_close_device
		       ? (const void *)(uintptr_t)c->args[0]
		       : NULL;
}

static void object_begin_end(const void *object)
{
	if (!object || !load_relaxed(&has_thread))
		return;
	pthread_mutex_lock(&lock);
	while (raised_is_taken(object))
		pthread_cond_wait(&changed, &lock);
	ending_replace(NULL, object);
	pthread_mutex_unlock(&lock);
}

enum tap_verdict raised_event_call_begin(struct tap_call *c)
{
	struct ibv_context *ctx = (struct ibv_context *)(uintptr_t)c->args[0];
	bool ours = false;

	if (c->call == VCALL_ibv_get_async_event) {
		c->op.scratch[TAP_FAULTS].word[0] = 0;
		if (likely(!load_relaxed(&has_thread)) || !tap_async_is_made(ctx))
			return TAP_PASS;
		c->ret = (u64)event_get(ctx, (void *)(uintptr_t)c->args[1], &ours);
		c->err = errno;
		c->op.scratch[TAP_FAULTS].word[0] = ours;
		return TAP_ANSWER;
	}
	if (c->call == VCALL_ibv_ack_async_event)
		return load_relaxed(&has_thread) && event_ack((void *)(uintptr_t)c->args[0])
			       ? TAP_ANSWER
			       : TAP_PASS;
	object_begin_end(object_ending(c));
	if (c->call == VCALL_ibv_close_device && load_relaxed(&has_thread))
		tap_async_restore(ctx);
	return TAP_PASS;
}

void raised_event_call_end(const struct tap_call *c)
{
	const void *object = object_ending(c);

	if (!object || !load_relaxed(&has_thread))
		return;
	pthread_mutex_lock(&lock);
	if (!c->failed)
		raised_drop(object);
	ending_replace(object, NULL);
	pthread_mutex_unlock(&lock);
}

void raised_events_object_gone(const struct tap_obj *o)
{
	if (likely(!load_relaxed(&has_thread)))
		return;
	pthread_mutex_lock(&lock);
	/* librdmacm is about to close it; of a close by the program nothing is left here. */
	if (o->kind == VOBJ_CTX) {
		tap_async_restore((struct ibv_context *)(uintptr_t)o->key);
		raised_drop((const void *)(uintptr_t)o->key);
	}
	pthread_mutex_unlock(&lock);
}

bool raised_event_is_ours(const struct tap_call *c)
{
	return c->op.scratch[TAP_FAULTS].word[0];
}
