/* SPDX-License-Identifier: MIT */
/*
 * The table of hits: work requests that were posted with a mark for their wr_id. A mark is a random
 * number of the process plus the hit's ordinal, so a completion without one is told by a
 * subtraction. Hits are few: the table is searched and changed under a lock, and no completion
 * takes it as long as no hit is outstanding and no queue pair has been failed.
 */
#include "libtap/users/work_hits.h"
#include "libtap/users/late_faults.h"
#include "libtap/users/object_counts.h"
#include "libtap/users/work_faults.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#define HITS 256u /* outstanding ones; further requests end as the device says */

/**
 * struct work_hit - a work request that is to fail, or whose completion is late.
 * @ordinal: 0: the place is free
 * @status: 0: the device's
 * @qp: NULL: it was destroyed or reset; some devices deliver the completion all the same
 */
struct work_hit {
	u64 ordinal;
	u64 wr_id;
	struct tap_obj *qp;
	u64 delay;
	u32 status;
	bool recv;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct work_hit hits[HITS];
static u64 secret, last_ordinal;
u32 work_hits_concerned;

bool work_hits_start(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(hits, 0, sizeof(hits));
	last_ordinal = work_hits_concerned = 0;
	return getrandom(&secret, sizeof(secret), 0) == sizeof(secret);
}

static void hit_free(struct work_hit *h)
{
	h->ordinal = 0;
	__atomic_fetch_sub(&work_hits_concerned, 1, __ATOMIC_RELAXED);
}

/* Under the lock: a free place, or the oldest one whose completion hardly comes; NULL: none */
static struct work_hit *hit_place(void)
{
	struct work_hit *h, *oldest = NULL;

	for (h = hits; h < hits + HITS; h++) {
		if (!h->ordinal)
			return h;
		if (!h->qp && (!oldest || h->ordinal < oldest->ordinal))
			oldest = h;
	}
	if (oldest)
		hit_free(oldest);
	return oldest;
}

u64 work_hit_add(struct tap_obj *qp, const struct proto_work *work)
{
	struct work_hit *h;
	u64 ordinal = 0;

	pthread_mutex_lock(&lock);
	h = hit_place();
	if (h) {
		ordinal = last_ordinal + 1;
		store_relaxed(&last_ordinal, ordinal);
		*h = (struct work_hit){ ordinal,	work->wr_id,  qp,
					work->delay_ns, work->status, work->recv };
		__atomic_fetch_add(&work_hits_concerned, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
	return ordinal;
}

/* Under the lock. */
static struct work_hit *hit_find(u64 ordinal)
{
	u32 i;

	for (i = 0; i < HITS; i++)
		if (hits[i].ordinal == ordinal)
			return &hits[i];
	return NULL;
}

static bool is_mark(u64 wr_id)
{
	return wr_id - secret - 1 < load_relaxed(&last_ordinal);
}

void work_hit_cancel(u64 ordinal)
{
	struct work_hit *h;

	if (!ordinal)
		return;
	pthread_mutex_lock(&lock);
	h = hit_find(ordinal);
	if (h)
		hit_free(h);
	pthread_mutex_unlock(&lock);
}

void work_hits_cancel_later(const struct tap_obj *qp, u64 ordinal)
{
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < HITS; i++)
		if (hits[i].ordinal > ordinal && hits[i].qp == qp)
			hit_free(&hits[i]);
	pthread_mutex_unlock(&lock);
}

u64 work_hit_mark(u64 ordinal)
{
	return secret + ordinal;
}

u64 work_hits_latest(void)
{
	return load_relaxed(&last_ordinal);
}

/* --- completions ------------------------------------------------------------------------------ */

/* Under the lock: nobody begins to destroy the queue pair meanwhile. */
static void work_qp_fail(struct tap_obj *o, bool recv)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct work_qp *q = work_qp_of(o);

	if (q->ending)
		return;
	/* One that cannot be moved is in a state without work: RESET. */
	(void)ibv_modify_qp((struct ibv_qp *)(uintptr_t)o->key, &attr, IBV_QP_STATE);
	object_counts_qp_changed(o);
	if (!q->failed[recv])
		__atomic_fetch_add(&work_hits_concerned, 1, __ATOMIC_RELAXED);
	q->failed[recv] = true;
}

u64 work_hits_complete(const struct tap_obj *cq, u32 qpn, bool recv, u64 *wr_id,
		       enum ibv_wc_status *status)
{
	struct tap_obj *o;
	struct work_hit *h;
	bool fails = false;
	u64 delay = 0;

	pthread_mutex_lock(&lock);
	h = is_mark(*wr_id) ? hit_find(*wr_id - secret) : NULL;
	if (h) {
		*wr_id = h->wr_id;
		delay = h->delay;
		fails = h->status;
		if (*status == IBV_WC_SUCCESS && h->qp && fails) {
			*status = (enum ibv_wc_status)h->status;
			work_qp_fail(h->qp, h->recv);
		}
		hit_free(h);
	}
	if (!fails && *status == IBV_WC_SUCCESS) {
		o = cq && qpn ? tap_obj_find_qpn(cq->ctx_obj, qpn) : NULL;
		if (o && work_qp_of(o) && work_qp_of(o)->failed[recv])
			*status = IBV_WC_WR_FLUSH_ERR;
	}
	pthread_mutex_unlock(&lock);
	return delay;
}

/* --- queue pairs ------------------------------------------------------------------------------ */

/* The queue pair has no work any more. */
static void hits_leave_qp(struct tap_obj *o)
{
	struct work_qp *q = work_qp_of(o);
	u32 i;

	if (!q)
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < HITS; i++)
		if (hits[i].ordinal && hits[i].qp == o)
			hits[i].qp = NULL;
	for (i = 0; i < 2; i++) {
		if (q->failed[i])
			__atomic_fetch_sub(&work_hits_concerned, 1, __ATOMIC_RELAXED);
		q->failed[i] = false;
	}
	q->sends_signaled = false;
	pthread_mutex_unlock(&lock);
}

void work_fault_object_new(struct tap_obj *o)
{
	if (o->kind == VOBJ_QP)
		o->user[TAP_FAULTS] = calloc(1, sizeof(struct work_qp));
}

void work_fault_object_gone(struct tap_obj *o)
{
	if (o->kind != VOBJ_QP)
		return;
	hits_leave_qp(o);
	late_faults_forget_qp(o);
	if (work_qp_of(o))
		request_log_free(&work_qp_of(o)->requests);
	free(o->user[TAP_FAULTS]);
	o->user[TAP_FAULTS] = NULL;
}

/* The queue pair may have been reset: then it has no work, and works again. */
static void work_qp_reset(const struct tap_call *c)
{
	const struct ibv_qp_attr *attr = (const struct ibv_qp_attr *)(uintptr_t)c->args[1];
	struct tap_obj *o = tap_obj_find(VOBJ_QP, (const void *)(uintptr_t)c->args[0]);

	if (!o || !(c->args[2] & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RESET)
		return;
	hits_leave_qp(o);
	late_faults_forget_qp(o);
}

/* Both structs that a queue pair is created by begin alike. */
_Static_assert(offsetof(struct ibv_qp_init_attr, sq_sig_all) ==
		       offsetof(struct ibv_qp_init_attr_ex, sq_sig_all),
	       "sq_sig_all");
_Static_assert(offsetof(struct ibv_qp_init_attr, cap) == offsetof(struct ibv_qp_init_attr_ex, cap),
	       "cap");

/* Notes what a new queue pair is like, of which the attributes are not those of a listener's. */
static void work_qp_created(const struct tap_call *c)
{
	const struct ibv_qp_init_attr *attr = (const void *)(uintptr_t)c->args[1];
	const struct rdma_cm_id *id = (const void *)(uintptr_t)c->args[0];
	const struct ibv_qp *qp;
	struct work_qp *q;

	switch (c->call) {
	case VCALL_ibv_create_qp:
	case VCALL_ibv_create_qp_ex:
		qp = (const struct ibv_qp *)(uintptr_t)c->ret;
		break;
	case VCALL_rdma_create_qp:
		attr = (const void *)(uintptr_t)c->args[2];
		qp = id->qp;
		break;
	case VCALL_rdma_create_qp_ex:
		qp = id->qp;
		break;
	case VCALL_rdma_create_ep:
		attr = (const void *)(uintptr_t)c->args[3];
		qp = (*(struct rdma_cm_id **)(uintptr_t)c->args[0])->qp;
		break;
	default:
		return;
	}
	q = qp && attr ? work_qp_of(tap_obj_find(VOBJ_QP, qp)) : NULL;
	if (!q)
		return;
	q->sig_all = attr->sq_sig_all;
	request_log_make(&q->requests, &attr->cap);
}

struct tap_obj *work_qp_ending(const struct tap_call *c)
{
	const void *arg = (const void *)(uintptr_t)c->args[0];
	const struct rdma_cm_id *id = arg;

	if (c->call == VCALL_ibv_destroy_qp)
		return tap_obj_find(VOBJ_QP, arg);
	if ((c->call == VCALL_rdma_destroy_qp || c->call == VCALL_rdma_destroy_ep) && id && id->qp)
		return tap_obj_find(VOBJ_QP, id->qp);
	return NULL;
}

void work_fault_call_begin(const struct tap_call *c)
{
	struct work_qp *q = work_qp_of(work_qp_ending(c));

	if (!q)
		return;
	pthread_mutex_lock(&lock);
	q->ending = true;
	pthread_mutex_unlock(&lock);
}

void work_fault_call_end(const struct tap_call *c)
{
	/* One that is attached to a multicast group is not destroyed: ibv_destroy_qp(3). */
	struct work_qp *q =
		c->call == VCALL_ibv_destroy_qp && c->failed ? work_qp_of(work_qp_ending(c)) : NULL;

	if (q)
		store_relaxed(&q->ending, false);
	if (c->failed)
		return;
	if (c->call == VCALL_ibv_modify_qp)
		work_qp_reset(c);
	else
		work_qp_created(c);
}
