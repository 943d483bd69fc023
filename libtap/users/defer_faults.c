/* SPDX-License-Identifier: MIT */
/* See defer_faults.h. Held requests are few: lists under one lock, under which they are posted. */
#include "libtap/users/defer_faults.h"
#include "fabric/proto/real_time.h"
#include "libtap/process.h"
#include "libtap/users/held_request.h"
#include "libtap/users/late_faults.h"
#include "libtap/users/work_hits.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define FULL_NS 1000000u /* until a full queue of the device is tried again */

/**
 * struct defer_queue - a send or receive queue that holds requests.
 * @cap: what it has room for
 * @n, @head, @tail: its requests
 * @again: nothing is posted before: the device's queue was full
 * @frozen: a call that may end its queue pair, or reset it, is under way
 */
struct defer_queue {
	struct defer_queue *next;
	struct tap_obj *qp;
	bool recv;
	bool frozen;
	tap_post_fn low;
	struct ibv_qp_cap cap;
	u32 n;
	u64 again;
	struct held_request *head, **tail;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool has_thread;
struct defer_queue *defer_queues;

void defer_faults_start(void)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
	has_thread = false;
	defer_queues = NULL;
}

/* --- queues; all of this under the lock ------------------------------------------------------- */

static struct defer_queue *defer_queue_find(const struct tap_obj *qp, bool recv)
{
	struct defer_queue *q = defer_queues;

	while (q && (q->qp != qp || q->recv != recv))
		q = q->next;
	return q;
}

/* Whether the device would execute the request, and not refuse it at once, or flush it. */
static bool defer_queue_is_live(const struct defer_post *p, struct ibv_qp_cap *cap)
{
	struct ibv_qp *qp = (struct ibv_qp *)(uintptr_t)p->qp->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init))
		return false;
	*cap = init.cap;
	if (p->recv)
		return attr.qp_state != IBV_QPS_RESET && attr.qp_state != IBV_QPS_ERR;
	return attr.qp_state == IBV_QPS_RTS;
}

/* Return: NULL: no memory */
static struct defer_queue *defer_queue_new(const struct defer_post *p, const struct ibv_qp_cap *cap)
{
	struct defer_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	*q = (struct defer_queue){
		.next = defer_queues, .qp = p->qp, .recv = p->recv, .low = p->low, .cap = *cap
	};
	q->tail = &q->head;
	store_release(&defer_queues, q);
	return q;
}

static void defer_queue_free(struct defer_queue *q)
{
	struct defer_queue **at = &defer_queues;

	while (*at != q)
		at = &(*at)->next;
	store_release(at, q->next);
	free(q);
	pthread_cond_broadcast(&changed);
}

static void defer_queue_pop(struct defer_queue *q)
{
	struct held_request *h = q->head;

	q->head = h->next;
	if (!q->head)
		q->tail = &q->head;
	q->n--;
	free(h);
}

static void defer_queue_drop(struct defer_queue *q)
{
	while (q->head) {
		work_hit_cancel(q->head->hit);
		defer_queue_pop(q);
	}
	defer_queue_free(q);
}

/* The library refuses the oldest request, which the program regards as posted. */
static void defer_queue_refused(struct defer_queue *q)
{
	struct ibv_qp *qp = (struct ibv_qp *)(uintptr_t)q->qp->key;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	void *bad;

	(void)ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	held_request_empty(q->head, q->recv);
	if (q->low(qp, &q->head->wr, &bad))
		work_hit_cancel(q->head->hit);
}

/*
 * Post what is due. @must: there is no other time for the oldest request
 * Return: whether the queue still holds something
 */
static bool defer_queue_run(struct defer_queue *q, bool must)
{
	const u64 now = real_ns();
	void *bad;
	int err;

	while (q->head && !q->frozen && q->head->due <= now && (must || q->again <= now)) {
		err = q->low((void *)(uintptr_t)q->qp->key, &q->head->wr, &bad);
		if (err == ENOMEM && !must) {
			q->again = now + FULL_NS;
			break;
		}
		if (err)
			defer_queue_refused(q);
		defer_queue_pop(q);
		must = false;
	}
	return q->head;
}

/* Requests up to @last, NULL: all, need not wait any more. */
static void defer_queue_release(struct defer_queue *q, const struct held_request *last)
{
	struct held_request *h;

	for (h = q->head; h; h = h == last ? NULL : h->next)
		h->due = 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Under the lock. Return: when the next request is due; ~0: none is */
static u64 queues_run(void)
{
	struct defer_queue *q, *next;
	u64 first = ~0ull, due;

	for (q = defer_queues; q; q = next) {
		next = q->next;
		if (!defer_queue_run(q, false)) {
			defer_queue_free(q);
			continue;
		}
		due = q->head->due > q->again ? q->head->due : q->again;
		if (!q->frozen && due < first)
			first = due;
	}
	return first;
}

static void *defer_thread(void *arg)
{
	struct timespec until;
	u64 due;

	(void)arg;
	tap_thread.depth++; /* nobody sees its calls */
	pthread_mutex_lock(&lock);
	for (;;) {
		due = queues_run();
		until = (struct timespec){ (time_t)(due / 1000000000u), (long)(due % 1000000000u) };
		if (due == ~0ull)
			pthread_cond_wait(&changed, &lock);
		else
			pthread_cond_timedwait(&changed, &lock, &until);
	}
	return NULL;
}

/* Under the lock. Return: whether there is one. It lives as long as the process. */
static bool defer_thread_start(void)
{
	if (has_thread)
		return true;
	has_thread = tap_start_thread(defer_thread);
	return has_thread;
}

void defer_faults_finish(void)
{
	pthread_mutex_lock(&lock);
	while (defer_queues)
		defer_queue_drop(defer_queues);
	pthread_mutex_unlock(&lock);
}

/* --- posts ------------------------------------------------------------------------------------ */

bool defer_fault_holds(const struct tap_obj *qp, bool recv)
{
	bool holds;

	pthread_mutex_lock(&lock);
	holds = defer_queue_find(qp, recv);
	pthread_mutex_unlock(&lock);
	return holds;
}

/* Under the lock: one more is posted after those that wait for that. */
static void defer_queue_count_post(struct defer_queue *q)
{
	struct held_request *h;

	for (h = q->head; h; h = h->next)
		if (h->posts && !--h->posts)
			h->due = 0;
}

/* What cannot be held: the caller posts the request itself, at once or after its time. */
enum { POST_NOW = -1, POST_LATE = -2 };

/* Under the lock. Return: 0, an error of the post, or POST_LATE */
static int defer_queue_hold(struct defer_queue *q, const struct defer_post *p)
{
	struct held_request *h;
	int ret;

	if (q->n >= (q->recv ? q->cap.max_recv_wr : q->cap.max_send_wr))
		return ENOMEM;
	ret = held_request_check(p->wr, p->recv, &q->cap);
	if (ret)
		return ret;
	h = held_request_new(p->wr, p->recv);
	if (!h)
		return POST_LATE;
	defer_queue_count_post(q);
	h->hit = p->hit;
	h->due = p->hold_ns ? real_ns() + p->hold_ns : 0;
	h->posts = p->hold_posts;
	*q->tail = h;
	q->tail = &h->next;
	q->n++;
	return 0;
}

/* Under the lock. Return: as defer_queue_hold(), or POST_NOW */
static int defer_queue_post(const struct defer_post *p)
{
	struct defer_queue *q = defer_queue_find(p->qp, p->recv);
	struct ibv_qp_cap cap;
	int ret;

	if (!q && (!p->hold_ns || !defer_queue_is_live(p, &cap)))
		return POST_NOW;
	if (!q)
		q = defer_thread_start() ? defer_queue_new(p, &cap) : NULL;
	if (!q)
		return POST_LATE;
	ret = defer_queue_hold(q, p);
	if (!defer_queue_run(q, false))
		defer_queue_free(q);
	else
		pthread_cond_broadcast(&changed);
	return ret;
}

int defer_fault_post(const struct defer_post *p)
{
	void *bad;
	int ret;

	pthread_mutex_lock(&lock);
	ret = defer_queue_post(p);
	pthread_mutex_unlock(&lock);
	if (ret >= 0)
		return ret;
	if (ret == POST_LATE) {
		defer_fault_drain(p->qp, p->recv);
		late_fault_sleep(p->hold_ns);
	}
	return p->low((void *)(uintptr_t)p->qp->key, p->wr, &bad);
}

void defer_fault_drain(const struct tap_obj *qp, bool recv)
{
	pthread_mutex_lock(&lock);
	while (defer_queue_find(qp, recv))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* --- calls that end a hold -------------------------------------------------------------------- */

/* Under the lock: do @act to the queues of a queue pair. @act may free its argument. */
static void queues_of_qp(const struct tap_obj *qp, void (*act)(struct defer_queue *q))
{
	struct defer_queue *q, *next;

	for (q = defer_queues; q; q = next) {
		next = q->next;
		if (q->qp == qp)
			act(q);
	}
}

static void defer_queue_freeze(struct defer_queue *q)
{
	q->frozen = true;
}

/* The call has failed. */
static void defer_queue_thaw(struct defer_queue *q)
{
	q->frozen = false;
	pthread_cond_broadcast(&changed);
}

/* The queue pair is in ERR: the device flushes what is posted. */
static void defer_queue_flush(struct defer_queue *q)
{
	defer_queue_release(q, NULL);
	if (!defer_queue_run(q, false))
		defer_queue_free(q);
}

static void defer_faults_act(const struct tap_obj *qp, void (*act)(struct defer_queue *q))
{
	if (!qp || !defer_faults_hold())
		return;
	pthread_mutex_lock(&lock);
	queues_of_qp(qp, act);
	pthread_mutex_unlock(&lock);
}

/* Under the lock: post up to the last request that points to @object. */
static void defer_queue_let_go(struct defer_queue *q, const void *object)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)q->qp->key;
	const struct held_request *h, *last = NULL;

	for (h = q->head; h && !q->recv; h = h->next)
		if (held_request_names(h, qp->qp_type, object))
			last = h;
	if (!last)
		return;
	defer_queue_release(q, last);
	if (!defer_queue_run(q, true))
		defer_queue_free(q);
}

/* An object is about to be destroyed. */
static void defer_faults_let_go(const void *object)
{
	struct defer_queue *q, *next;

	pthread_mutex_lock(&lock);
	for (q = defer_queues; q; q = next) {
		next = q->next;
		defer_queue_let_go(q, object);
	}
	pthread_mutex_unlock(&lock);
}

/* A context is about to be closed, though it has queue pairs. */
static void defer_faults_drop_context(const struct tap_obj *ctx)
{
	struct defer_queue *q, *next;

	pthread_mutex_lock(&lock);
	for (q = defer_queues; q; q = next) {
		next = q->next;
		if (q->qp->ctx_obj == ctx)
			defer_queue_drop(q);
	}
	pthread_mutex_unlock(&lock);
}

/* The queue pair that ibv_modify_qp() moves to @state, or NULL. */
static struct tap_obj *qp_moved_to(const struct tap_call *c, enum ibv_qp_state state)
{
	const struct ibv_qp_attr *attr = (const struct ibv_qp_attr *)(uintptr_t)c->args[1];

	if (c->call != VCALL_ibv_modify_qp || !(c->args[2] & IBV_QP_STATE) ||
	    attr->qp_state != state)
		return NULL;
	return tap_obj_find(VOBJ_QP, (const void *)(uintptr_t)c->args[0]);
}

void defer_fault_call_begin(const struct tap_call *c)
{
	const void *arg = (const void *)(uintptr_t)c->args[0];

	if (likely(!defer_faults_hold()))
		return;
	switch (c->call) {
	case VCALL_ibv_destroy_ah:
	case VCALL_ibv_dealloc_mw:
	case VCALL_ibv_dereg_mr:
		defer_faults_let_go(arg);
		break;
	case VCALL_ibv_close_device:
		defer_faults_drop_context(tap_obj_find(VOBJ_CTX, arg));
		break;
	default:
		defer_faults_act(work_qp_ending(c), defer_queue_freeze);
		defer_faults_act(qp_moved_to(c, IBV_QPS_RESET), defer_queue_freeze);
	}
}

void defer_fault_call_end(const struct tap_call *c)
{
	if (likely(!defer_faults_hold()))
		return;
	if (c->failed) {
		if (c->call == VCALL_ibv_destroy_qp)
			defer_faults_act(work_qp_ending(c), defer_queue_thaw);
		defer_faults_act(qp_moved_to(c, IBV_QPS_RESET), defer_queue_thaw);
		return;
	}
	defer_faults_act(qp_moved_to(c, IBV_QPS_RESET), defer_queue_drop);
	defer_faults_act(qp_moved_to(c, IBV_QPS_ERR), defer_queue_flush);
}

void defer_fault_qp_failed(const struct tap_obj *qp)
{
	defer_faults_act(qp, defer_queue_flush);
}

void defer_fault_object_gone(const struct tap_obj *o)
{
	if (o->kind == VOBJ_QP)
		defer_faults_act(o, defer_queue_drop);
}
