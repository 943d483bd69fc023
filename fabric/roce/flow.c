/* SPDX-License-Identifier: MIT */
/**
 * DOC: flows by which the fabric process sends: see fabric/egress/flow.c. A wire keeps the
 * ROCE_FLOWS that were used last.
 *
 * Another program may have a flow's port: such a flow leaves from port 4791. hca->wires.taken lists
 * these ports, since captures show the port as well.
 */
#include "fabric/roce/wire.h"

#include <sys/epoll.h>

#define DRAIN 64 /* datagrams in one turn of the loop */

/* Peers answer to port 4791: what arrives here is nobody's, or the error of a datagram before. */
static void flow_drain(int fd)
{
	u8 byte;
	int i;

	for (i = 0; i < DRAIN; i++)
		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) < 0 && errno == EAGAIN)
			return;
}

static void flow_socket_event(struct fabric *f, struct watch *watch, u32 events)
{
	struct roce_flow *flow = container_of(watch, struct roce_flow, w);

	if (events & EPOLLOUT && flow->wire->full == watch)
		roce_writable(f, flow->wire);
	if (events & (EPOLLIN | EPOLLERR))
		flow_drain(watch->fd);
}

/* The flow whose socket was full; NULL: none, or it is the wire's. */
static const struct egress_flow *flow_that_is_full(const struct roce_wire *w)
{
	return w->full && w->full != &w->box.w ? &container_of(w->full, struct roce_flow, w)->entry
					       : NULL;
}

/* Open the socket of a new flow. Return: NULL: the flow leaves from the wire's. */
static struct egress_flow *flow_watch_open(struct fabric *f, struct roce_wire *w, u16 port)
{
	struct hca_wires *wires = &f->hca->wires;
	struct egress_flow *entry;
	struct roce_flow *flow;
	int fd = roce_socket_open(w->box.gid, port);

	if (fd < 0) {
		if (fd == -EADDRINUSE)
			wires->taken[wires->n_taken++ % HCA_WIRE_PORTS_TAKEN] = port;
		return NULL;
	}
	entry = egress_flow_replace(&w->latest, flow_that_is_full(w));
	flow = container_of(entry, struct roce_flow, entry);
	loop_watch_close(&flow->w);
	flow->wire = w;
	entry->out = (struct egress_socket){ .fd = fd };
	entry->port = port;
	if (!loop_watch_add(f, &flow->w, fd, flow_socket_event))
		return entry;
	loop_watch_close(&flow->w);
	entry->port = 0;
	return NULL;
}

struct watch *roce_flow_socket(struct fabric *f, struct roce_wire *w, u16 port,
			       struct egress_socket **out)
{
	struct egress_flow *entry = NULL;

	if (port != ROCE_UDP_PORT && !hca_wire_port_is_taken(&f->hca->wires, port)) {
		entry = egress_flow_find(&w->latest, 0, port);
		if (!entry)
			entry = flow_watch_open(f, w, port);
	}
	if (!entry) {
		*out = &w->out;
		return &w->box.w;
	}
	*out = &entry->out;
	return &container_of(entry, struct roce_flow, entry)->w;
}

void roce_flows_init(struct roce_wire *w)
{
	u32 i;

	for (i = 0; i < ROCE_FLOWS; i++) {
		w->flow[i].w.fd = -1;
		egress_flow_add(&w->latest, &w->flow[i].entry);
	}
}

void roce_flows_close(struct roce_wire *w)
{
	u32 i;

	for (i = 0; i < ROCE_FLOWS; i++) {
		loop_watch_close(&w->flow[i].w);
		w->flow[i].entry.port = 0;
	}
}
