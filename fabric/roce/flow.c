/* SPDX-License-Identifier: MIT */
/**
 * DOC: source ports of flows.
 *
 * Switches and network cards spread packets over links and queues by a hash of addresses and ports.
 * A RoCE v2 flow therefore has a source port of its own: of its flow label, or of both QP numbers
 * (fabric/packet/frame.c). A UDP socket has one source port, so a flow has a socket, unconnected as
 * the wire's, which is opened for its first burst. A wire keeps the ROCE_FLOWS that were used last.
 *
 * Another program may have the port: such a flow leaves from port 4791. hca->wires.taken lists
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

/* The entry for a new flow: a free one, or that of the flow that was used longest ago. */
static struct roce_flow *flow_replace(struct roce_wire *w)
{
	struct roce_flow *flow, *oldest = NULL;

	for (flow = w->flow; flow < w->flow + ROCE_FLOWS; flow++) {
		if (flow->w.fd < 0)
			return flow;
		if (&flow->w != w->full && (!oldest || flow->used_at < oldest->used_at))
			oldest = flow;
	}
	loop_watch_close(&oldest->w);
	return oldest;
}

/* The socket of a new flow. Return: NULL: it leaves from the wire's. */
static struct roce_flow *flow_open(struct fabric *f, struct roce_wire *w, u16 port)
{
	struct hca_wires *wires = &f->hca->wires;
	struct roce_flow *flow;
	int fd = roce_socket_open(w->box.gid, port);

	if (fd < 0) {
		if (fd == -EADDRINUSE)
			wires->taken[wires->n_taken++ % HCA_WIRE_PORTS_TAKEN] = port;
		return NULL;
	}
	flow = flow_replace(w);
	flow->wire = w;
	flow->out = (struct egress_socket){ .fd = fd };
	flow->port = port;
	if (!loop_watch_add(f, &flow->w, fd, flow_socket_event))
		return flow;
	loop_watch_close(&flow->w);
	return NULL;
}

static struct roce_flow *flow_with_port(struct roce_wire *w, u16 port)
{
	struct roce_flow *flow;

	for (flow = w->flow; flow < w->flow + ROCE_FLOWS; flow++)
		if (flow->w.fd >= 0 && flow->port == port)
			return flow;
	return NULL;
}

struct watch *roce_flow_socket(struct fabric *f, struct roce_wire *w, u16 port,
			       struct egress_socket **out)
{
	struct roce_flow *flow = NULL;

	if (port != ROCE_UDP_PORT && !hca_wire_port_is_taken(&f->hca->wires, port)) {
		flow = flow_with_port(w, port);
		if (!flow)
			flow = flow_open(f, w, port);
	}
	if (!flow) {
		*out = &w->out;
		return &w->box.w;
	}
	flow->used_at = real_ns();
	*out = &flow->out;
	return &flow->w;
}

void roce_flows_close(struct roce_wire *w)
{
	u32 i;

	for (i = 0; i < ROCE_FLOWS; i++)
		loop_watch_close(&w->flow[i].w);
}
