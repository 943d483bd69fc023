/* SPDX-License-Identifier: MIT */
/**
 * DOC: see object_counts.h.
 *
 * The state of a queue pair is the one that libibverbs has for it, which is the last that the
 * program or librdmacm has asked for. The device moves a queue pair by itself only when a request
 * completes with an error, which polls see.
 */
#include "libtap/users/object_counts.h"
#include "libtap/users/fabric.h"
#include "libtap/users/work_hits.h"

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>

/* Protects which entries of the segment's tables are in use. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void object_counts_start(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* --- devices ---------------------------------------------------------------------------------- */

static const struct ibv_device *object_device(const struct tap_obj *o)
{
	return o->ctx_obj ? ((const struct ibv_context *)(uintptr_t)o->ctx_obj->key)->device : NULL;
}

/* Under the lock. Return: the place of the object's device, plus one; 0: there are too many. */
static u32 device_find(struct real_objects *r, const struct tap_obj *o)
{
	const struct ibv_device *device = object_device(o);
	struct real_device *d;
	u32 i;

	for (i = 0; device && i < REAL_DEVICES; i++) {
		d = &r->device[i];
		if (!d->name[0])
			snprintf(d->name, sizeof(d->name), "%s", device->name);
		if (!strncmp(d->name, device->name, sizeof(d->name) - 1))
			return i + 1;
	}
	return 0;
}

/* A context is gone when that is known: its device is in its own place. */
static void context_open(struct real_objects *r, struct tap_obj *o)
{
	u32 at;

	pthread_mutex_lock(&lock);
	at = device_find(r, o);
	if (at)
		__atomic_fetch_add(&r->device[at - 1].contexts, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	o->user[TAP_FAULTS] = (void *)(uintptr_t)at;
}

static void context_close(struct real_objects *r, const struct tap_obj *o)
{
	const uintptr_t at = (uintptr_t)o->user[TAP_FAULTS];

	if (at)
		__atomic_fetch_sub(&r->device[at - 1].contexts, 1, __ATOMIC_RELAXED);
}

/* --- queue pairs ------------------------------------------------------------------------------ */

static struct real_qp *qp_entry(const struct tap_obj *o)
{
	struct real_objects *r = tap_fabric_objects;
	const struct work_qp *q = work_qp_of(o);

	/* One of the parent of a forked process is in the parent's table. */
	return r && q && q->listed && o->ord ? &r->qp[q->listed - 1] : NULL;
}

static void qp_list(struct real_objects *r, struct tap_obj *o)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;
	struct work_qp *q = work_qp_of(o);
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < REAL_QPS && r->qp[i].used; i++)
		;
	if (q && i < REAL_QPS) {
		r->qp[i].qpn = qp->qp_num;
		r->qp[i].device = device_find(r, o);
		r->qp[i].type = qp->qp_type;
		r->qp[i].state = qp->state;
		r->qp[i].peer = 0;
		r->qp[i].unseen = 0;
		store_release(&r->qp[i].used, 1);
		q->listed = i + 1;
	}
	pthread_mutex_unlock(&lock);
}

static void qp_unlist(const struct tap_obj *o)
{
	struct real_qp *entry = qp_entry(o);

	if (entry)
		store_release(&entry->used, 0);
}

void object_counts_qp_changed(const struct tap_obj *qp)
{
	struct real_qp *entry = qp_entry(qp);

	if (entry)
		store_relaxed(&entry->state,
			      (u32)((const struct ibv_qp *)(uintptr_t)qp->key)->state);
}

static void qp_set_state(const struct ibv_qp *qp)
{
	object_counts_qp_changed(qp ? tap_obj_find(VOBJ_QP, qp) : NULL);
}

static void qp_set_peer(const struct ibv_qp *qp, const struct ibv_qp_attr *attr)
{
	struct real_qp *entry = qp_entry(tap_obj_find(VOBJ_QP, qp));

	if (entry)
		store_relaxed(&entry->peer, attr->dest_qp_num);
}

u32 object_counts_qp_peer(const struct tap_obj *qp)
{
	const struct real_qp *entry = qp_entry(qp);

	return entry ? load_relaxed(&entry->peer) : 0;
}

/* As the IBTA's state machine has it: errors of UC's and UD's sends end in SQE. */
void object_counts_qp_failed(const struct tap_obj *qp)
{
	struct real_qp *entry = qp_entry(qp);

	if (entry && (entry->type == IBV_QPT_UC || entry->type == IBV_QPT_UD))
		store_relaxed(&entry->state, (u32)IBV_QPS_SQE);
	else if (entry)
		store_relaxed(&entry->state, (u32)IBV_QPS_ERR);
}

void object_counts_direct(const struct tap_obj *qp)
{
	struct real_qp *entry = qp_entry(qp);

	if (entry && !exchange(&entry->unseen, 1))
		tap_fabric_report_unseen(entry->qpn);
}

/* --- all kinds -------------------------------------------------------------------------------- */

static u32 *object_count(struct real_objects *r, u32 kind)
{
	switch (kind) {
	case VOBJ_PD:
		return &r->pds;
	case VOBJ_MR:
	case VOBJ_MW:
		return &r->mrs;
	case VOBJ_CQ:
		return &r->cqs;
	case VOBJ_QP:
		return &r->qps;
	default:
		return NULL;
	}
}

static void object_add(struct real_objects *r, u32 kind, u32 add)
{
	u32 *n = object_count(r, kind);

	if (n)
		__atomic_fetch_add(n, add, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->objects, add, __ATOMIC_RELAXED);
}

/* Likewise the length of a region. */
static void mr_set_bytes(struct real_objects *r, struct tap_obj *o, u64 bytes)
{
	const u64 before = (uintptr_t)o->user[TAP_FAULTS];

	o->user[TAP_FAULTS] = (void *)(uintptr_t)bytes;
	__atomic_fetch_add(&r->mr_bytes, bytes - before, __ATOMIC_RELAXED);
}

void object_counts_new(struct tap_obj *o)
{
	struct real_objects *r = tap_fabric_objects;

	if (!r)
		return;
	if (o->kind == VOBJ_CTX) {
		context_open(r, o);
		return;
	}
	object_add(r, o->kind, 1);
	if (o->kind == VOBJ_QP)
		qp_list(r, o);
	else if (o->kind == VOBJ_MR)
		mr_set_bytes(r, o, ((const struct ibv_mr *)(uintptr_t)o->key)->length);
}

void object_counts_gone(struct tap_obj *o)
{
	struct real_objects *r = tap_fabric_objects;

	if (!r)
		return;
	if (o->kind == VOBJ_CTX) {
		context_close(r, o);
		return;
	}
	object_add(r, o->kind, (u32)-1);
	if (o->kind == VOBJ_QP)
		qp_unlist(o);
	else if (o->kind == VOBJ_MR)
		mr_set_bytes(r, o, 0);
}

void object_counts_call_end(const struct tap_call *c)
{
	const void *first = (const void *)(uintptr_t)c->args[0];
	const struct ibv_qp_attr *attr;
	struct tap_obj *mr;

	switch (c->call) {
	case VCALL_ibv_modify_qp:
		attr = (const struct ibv_qp_attr *)(uintptr_t)c->args[1];
		if (!c->failed && c->args[2] & IBV_QP_DEST_QPN)
			qp_set_peer(first, attr);
		qp_set_state(first);
		break;
	case VCALL_ibv_query_qp:
		qp_set_state(first);
		break;
	case VCALL_rdma_connect:
	case VCALL_rdma_accept:
	case VCALL_rdma_establish:
	case VCALL_rdma_disconnect:
		qp_set_state(first ? ((const struct rdma_cm_id *)first)->qp : NULL);
		break;
	case VCALL_rdma_get_cm_event:
		if (!c->failed)
			qp_set_state((*(struct rdma_cm_event **)(uintptr_t)c->args[1])->id->qp);
		break;
	case VCALL_ibv_rereg_mr:
		mr = c->failed ? NULL : tap_obj_find(VOBJ_MR, first);
		if (mr && mr->ord && tap_fabric_objects)
			mr_set_bytes(tap_fabric_objects, mr,
				     ((const struct ibv_mr *)first)->length);
		break;
	default:
		break;
	}
}
