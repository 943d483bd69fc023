/* SPDX-License-Identifier: MIT */
/**
 * DOC: events on real devices that rules are about.
 *
 * Theory of operation
 * -------------------
 * The kernel sends and receives the messages of connection management; a program sees the events
 * that they cause. While a rule is about such messages, each event that rdma_get_cm_event() or
 * rdma_get_request() returns asks the fabric process. One that is hit is acknowledged, and the call
 * waits for the next one, or fails as it does without an event.
 *
 *  - `cm reject`: rdma_reject() really rejects the request, and its identifier is destroyed.
 *  - `cm drop`: nothing else happens. The kernel rejects a request when its identifier is
 *    destroyed, and a dropped one must have no answer: its identifier is kept, until its channel is
 *    destroyed or too many are kept.
 *
 * Which message an event stands for depends on the end: ESTABLISHED is a REP where rdma_connect()
 * was called, and an RTU where rdma_accept() was; DISCONNECTED is a DREP where rdma_disconnect()
 * was called before, otherwise a DREQ. Identifiers have these facts in tap_obj.user[TAP_FAULTS].
 */
#include "libtap/users/event_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/raised_events.h"
#include "traces/calls/walk.h"

#include <pthread.h>

/* The calls that an identifier has had. */
#define ID_ACCEPTED	BIT64(0)
#define ID_DISCONNECTED BIT64(1)

#define KEPT 64u /* identifiers of dropped requests */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rdma_cm_id *kept[KEPT];
static u32 kept_next;

void event_faults_start(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(kept, 0, sizeof(kept));
	kept_next = 0;
}

/* --- identifiers ------------------------------------------------------------------------------ */

static void id_note(const void *id, u64 fact)
{
	struct tap_obj *o = tap_obj_find(VOBJ_ID, id);

	if (o)
		__atomic_fetch_or((u64 *)&o->user[TAP_FAULTS], fact, __ATOMIC_RELAXED);
}

static bool id_has(const void *id, u64 fact)
{
	struct tap_obj *o = tap_obj_find(VOBJ_ID, id);

	return o && load_relaxed((u64 *)&o->user[TAP_FAULTS]) & fact;
}

/* The program has not got the identifier, and never will. */
static void id_keep(struct rdma_cm_id *id)
{
	struct rdma_cm_id *oldest;

	pthread_mutex_lock(&lock);
	oldest = kept[kept_next];
	kept[kept_next] = id;
	kept_next = (kept_next + 1) % KEPT;
	pthread_mutex_unlock(&lock);
	if (oldest)
		rdma_destroy_ep(oldest);
}

/* Identifiers do not outlive their channel. */
static void ids_leave_channel(const void *channel)
{
	struct rdma_cm_id *id;
	u32 i;

	for (i = 0; i < KEPT; i++) {
		pthread_mutex_lock(&lock);
		id = kept[i] && kept[i]->channel == channel ? kept[i] : NULL;
		if (id)
			kept[i] = NULL;
		pthread_mutex_unlock(&lock);
		if (id)
			rdma_destroy_ep(id);
	}
}

/* --- events of the rdma_cm -------------------------------------------------------------------- */

/* Return: false: no message has caused it. */
static bool event_message(const struct rdma_cm_event *event, u32 *message)
{
	const struct rdma_cm_id *id = event->id;
	const bool datagrams = id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		*message = datagrams ? PROTO_CM_SIDR_REQ : PROTO_CM_REQ;
		return true;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		*message = PROTO_CM_REP;
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		*message = datagrams		     ? PROTO_CM_SIDR_REP
			   : id_has(id, ID_ACCEPTED) ? PROTO_CM_RTU
						     : PROTO_CM_REP;
		return true;
	case RDMA_CM_EVENT_REJECTED:
		*message = datagrams ? PROTO_CM_SIDR_REP : PROTO_CM_REJ;
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
		*message = id_has(id, ID_DISCONNECTED) ? PROTO_CM_DREP : PROTO_CM_DREQ;
		return true;
	default:
		return false;
	}
}

/* Ask about an event that the program is about to get. Return: enum proto_cm_act */
static u32 event_ask(const struct rdma_cm_event *event)
{
	struct proto_cm cm = {
		.event = event->event,
		.qpn = event->id->qp ? event->id->qp->qp_num : 0,
	};

	return event_message(event, &cm.message) ? tap_fabric_cm(&cm) : PROTO_CM_SHOW;
}

/* Return: whether the event was taken away. */
static bool cm_event_take(struct rdma_cm_event *event)
{
	const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct rdma_cm_id *id = event->id;
	u32 act = event_ask(event);

	if (act == PROTO_CM_SHOW)
		return false;
	if (act == PROTO_CM_REJECT)
		(void)rdma_reject(id, NULL, 0);
	rdma_ack_cm_event(event);
	if (act == PROTO_CM_REJECT)
		rdma_destroy_id(id);
	else if (request)
		id_keep(id);
	return true;
}

static void event_filter(struct tap_call *c)
{
	struct rdma_cm_event **event = (struct rdma_cm_event **)(uintptr_t)c->args[1];

	while (!c->ret && cm_event_take(*event)) {
		c->ret = (u64)rdma_get_cm_event((void *)(uintptr_t)c->args[0], event);
		c->err = errno;
	}
}

/* A request's event is part of its identifier, which destroys it. */
static void request_filter(struct tap_call *c)
{
	struct rdma_cm_id **id = (struct rdma_cm_id **)(uintptr_t)c->args[1];
	u32 act;

	while (!c->ret) {
		act = (*id)->event ? event_ask((*id)->event) : PROTO_CM_SHOW;
		if (act == PROTO_CM_SHOW)
			return;
		if (act == PROTO_CM_DROP) {
			id_keep(*id);
		} else {
			(void)rdma_reject(*id, NULL, 0);
			rdma_destroy_ep(*id);
		}
		c->ret = (u64)rdma_get_request((void *)(uintptr_t)c->args[0], id);
		c->err = errno;
	}
}

/* --- asynchronous events ---------------------------------------------------------------------- */

static void async_report(const struct ibv_async_event *event)
{
	struct proto_event e = { .type = event->event_type };

	if (vwalk_event_object(event->event_type) == VOBJ_QP)
		e.qpn = event->element.qp->qp_num;
	tap_fabric_report_event(&e);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Before the call: its event may come to another thread before it returns. */
void event_fault_call_begin(const struct tap_call *c)
{
	const void *arg = (const void *)(uintptr_t)c->args[0];

	if (c->call == VCALL_rdma_accept)
		id_note(arg, ID_ACCEPTED);
	else if (c->call == VCALL_rdma_disconnect)
		id_note(arg, ID_DISCONNECTED);
	else if (c->call == VCALL_rdma_destroy_event_channel)
		ids_leave_channel(arg);
}

void event_fault_call_returned(struct tap_call *c)
{
	if (likely(!tap_fabric_has_cm()))
		return;
	if (c->call == VCALL_rdma_get_cm_event)
		event_filter(c);
	else if (c->call == VCALL_rdma_get_request)
		request_filter(c);
}

void event_fault_call_end(const struct tap_call *c)
{
	if (c->call == VCALL_ibv_get_async_event && !c->failed && !raised_event_is_ours(c))
		async_report((const struct ibv_async_event *)(uintptr_t)c->args[1]);
}
