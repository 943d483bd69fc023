/* SPDX-License-Identifier: MIT */
/**
 * DOC: events that a program itself puts on a channel of the rdma_cm. The HCA does not know them.
 * The headers that we build with may not declare them.
 */
#include "libshim/client/call_fault.h"
#include "libshim/client/chan.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

#define EVENT_USER ((enum rdma_cm_event_type)18) /* RDMA_CM_EVENT_USER */

/* objs_lock held. */
static void user_event_enqueue(struct ucma_chan *ch, struct ucma_event *ev)
{
	struct ucma_event **p;

	for (p = &ch->user; *p; p = &(*p)->next)
		;
	ev->next = NULL;
	*p = ev;
	shim_chan_count(ch->chan, 1);
}

bool ucma_user_event_take(struct ucma_chan *ch, struct ucma_event *ev)
{
	struct ucma_event *first;
	bool got;

	pthread_mutex_lock(&objs_lock);
	first = ch->user;
	if (first) {
		ch->user = first->next;
		*ev = *first;
		pthread_mutex_lock(&ev->id->mut);
		ev->id->delivered++;
		ev->id->user++;
		if (ev->event.event == UCMA_EVENT_ADDRINFO_ERROR)
			ev->id->resolving = false;
		pthread_mutex_unlock(&ev->id->mut);
	}
	pthread_mutex_unlock(&objs_lock);
	got = first;
	free(first);
	return got;
}

void ucma_user_event_move(struct ucma_id *id, struct ucma_chan *to)
{
	struct ucma_chan *from = ucma_chan_of(id->id.channel);
	struct ucma_event **p, *ev;

	if (!from)
		return;
	pthread_mutex_lock(&objs_lock);
	for (p = &from->user; *p;) {
		ev = *p;
		if (ev->id != id) {
			p = &ev->next;
			continue;
		}
		*p = ev->next;
		shim_chan_uncount(from->chan, 1);
		if (to)
			user_event_enqueue(to, ev);
		else
			free(ev);
	}
	pthread_mutex_unlock(&objs_lock);
}

int ucma_user_event_put(struct ucma_id *c, enum rdma_cm_event_type event, int status, u64 arg)
{
	struct ucma_chan *ch;
	struct ucma_event *ev;

	if (c->gone)
		return fail_minus(-EBADF);
	ch = ucma_chan_of(c->id.channel);
	ev = ch ? shim_obj_alloc(sizeof(*ev)) : NULL;
	if (!ev)
		return -1;
	ev->id = c;
	ev->event.id = &c->id;
	ev->event.event = event;
	ev->event.status = status;
	memcpy(&ev->event.param, &arg, sizeof(arg));
	pthread_mutex_lock(&objs_lock);
	user_event_enqueue(ch, ev);
	pthread_mutex_unlock(&objs_lock);
	return 0;
}

/* rdma_write_cm_event(), under a name that newer headers do not declare. */
SHIM_EXPORT int newer_rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
					  int status, uint64_t arg) __asm__("rdma_write_cm_event");

/**
 * newer_rdma_write_cm_event() - rdma_write_cm_event(3).
 * Return: 0, or -1 with errno (EINVAL: not RDMA_CM_EVENT_USER; ENOENT: destroyed before).
 */
int newer_rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			      uint64_t arg)
{
	struct ucma_id *c = ucma_id_of(id);

	if (call_fails(CALL_rdma_write_cm_event))
		return -1;
	if (event != EVENT_USER)
		return fail_minus(-EINVAL);
	if (!c)
		return fail_minus(-shim_unknown(id));
	return ucma_user_event_put(c, event, status, arg);
}
