/* SPDX-License-Identifier: MIT */
/*
 * Events. A library's event is copied for the program, with the program's identifiers in it, and
 * acknowledged to that library. A connection request brings an identifier of the library's, which
 * gets one of the dispatcher's here.
 */
#include "libdispatch/cm/cm.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

CM_EXPORT(int, rdma_get_cm_event, struct rdma_event_channel *channel, struct rdma_cm_event **event);
CM_EXPORT(int, rdma_ack_cm_event, struct rdma_cm_event *event);

static struct rdma_cm_id *event_id(const struct rdma_cm_id *below)
{
	struct cm_both_id *b = below ? below->context : NULL;

	return b ? &b->id : NULL;
}

void cm_event_translate(struct rdma_cm_event *to, const struct rdma_cm_event *below)
{
	*to = *below;
	to->id = event_id(below->id);
	to->listen_id = event_id(below->listen_id);
}

bool cm_event_brings_id(const struct rdma_cm_event *below)
{
	return below->event == RDMA_CM_EVENT_CONNECT_REQUEST;
}

static struct cm_both_event *event_wrap(struct rdma_cm_event *below, enum cm_side side)
{
	struct cm_both_event *e = calloc(1, sizeof(*e));
	struct rdma_cm_id *listener;

	if (!e)
		return NULL;
	if (cm_event_brings_id(below)) {
		listener = event_id(below->listen_id);
		if (!cm_both_id_wrap(below->id, side, listener->channel, listener->context)) {
			free(e);
			return NULL;
		}
	} else {
		cm_both_id_pull(cm_both_id_of(event_id(below->id)));
	}
	e->below = below;
	e->side = side;
	e->known.object = e;
	cm_event_translate(&e->ev, below);
	cm_known_add(&e->known);
	return e;
}

/* The program cannot have the event, and so nobody would destroy the identifier that it brings. */
static void event_refuse(struct rdma_cm_event *below, enum cm_side side)
{
	struct rdma_cm_id *brought = cm_event_brings_id(below) ? below->id : NULL;

	CM_SIDE_CALL(side, rdma_ack_cm_event, below);
	if (brought)
		CM_SIDE_CALL(side, rdma_destroy_id, brought);
}

/* Return: 0; -1 with errno, EAGAIN: that library has no event */
static int side_get(struct cm_both_channel *c, enum cm_side side, struct rdma_cm_event **event)
{
	struct pollfd ready = { .fd = c->side[side] ? c->side[side]->fd : -1, .events = POLLIN };
	struct rdma_cm_event *below;
	struct cm_both_event *e;

	/* The channel of a synchronous identifier would block. */
	if (poll(&ready, 1, 0) != 1) {
		errno = EAGAIN;
		return -1;
	}
	if (CM_SIDE_CALL(side, rdma_get_cm_event, c->side[side], &below))
		return -1;
	e = event_wrap(below, side);
	if (!e) {
		event_refuse(below, side);
		errno = ENOMEM;
		return -1;
	}
	*event = &e->ev;
	return 0;
}

static int channel_get(struct cm_both_channel *c, struct rdma_cm_event **event)
{
	u32 first = __atomic_fetch_add(&c->first, 1, __ATOMIC_RELAXED), i;

	for (i = 0; i < SIDES; i++) {
		if (!side_get(c, (first + i) % SIDES, event))
			return 0;
		if (errno != EAGAIN)
			return -1;
	}
	return -1;
}

/**
 * rdma_get_cm_event() - rdma_get_cm_event(3).
 * Return: 0, or -1 with errno (EAGAIN: no event, and the descriptor has O_NONBLOCK)
 */
int both_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	enum cm_side within = cm_side_of(channel);
	struct cm_both_channel *c;
	struct pollfd ready = { .events = POLLIN };
	int flags;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_get_cm_event, channel, event);
	if (!event) {
		errno = EINVAL;
		return -1;
	}
	c = cm_both_channel_of(channel);
	while (channel_get(c, event)) {
		if (errno != EAGAIN)
			return -1;
		flags = fcntl(channel->fd, F_GETFL);
		if (flags < 0)
			return -1;
		if (flags & O_NONBLOCK) {
			errno = EAGAIN;
			return -1;
		}
		/* Unlike epoll_wait(2) it goes on after the program was stopped, as a read(2). */
		ready.fd = channel->fd;
		if (poll(&ready, 1, -1) < 0)
			return -1;
	}
	return 0;
}

/**
 * rdma_ack_cm_event() - rdma_ack_cm_event(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_both_event *e = (struct cm_both_event *)event;
	enum cm_side within = cm_side_of(event);

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_ack_cm_event, event);
	if (e->of)
		return cm_both_id_ack(e->of);
	if (CM_SIDE_CALL(e->side, rdma_ack_cm_event, e->below))
		return -1;
	cm_known_remove(&e->known);
	free(e);
	return 0;
}
