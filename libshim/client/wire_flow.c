/* SPDX-License-Identifier: MIT */
/** DOC: sockets of flows: see wire_flow.h. */
#include "libshim/client/wire_flow.h"

#include "libshim/client/client.h"

#define FLOWS 8u

static struct wire_flow flows[FLOWS];
static u64 uses;

/* Of this thread: setns(2) moves one alone. */
static bool is_in_namespace(u64 netns)
{
	struct stat st;

	return netns && !sys_stat("/proc/thread-self/ns/net", &st) && st.st_ino == netns;
}

bool wire_is_here(const struct hca *hca)
{
	return hca && hca->wires.n && (u32)syscall(SYS_geteuid) == hca->wires.uid &&
	       is_in_namespace(hca->wires.netns);
}

static void flow_close(struct wire_flow *flow)
{
	if (flow->port)
		own_fd_close(&flow->own);
	flow->port = 0;
}

/* A free entry, or that of the flow that was used longest ago. */
static struct wire_flow *flow_replace(void)
{
	struct wire_flow *flow, *oldest = flows;

	for (flow = flows; flow < flows + FLOWS && oldest->port; flow++)
		if (!flow->port || flow->used < oldest->used)
			oldest = flow;
	flow_close(oldest);
	return oldest;
}

/* Open the socket of a flow. Its entry also tells that it cannot be opened. */
static void flow_open(struct wire_flow *flow, u32 wire, u16 port)
{
	int fd = is_in_namespace(shim.hca->wires.netns)
			 ? egress_socket_open(shim.hca->wires.gid[wire], port)
			 : -EPERM;

	*flow = (struct wire_flow){ .own.fd = -1, .wire = wire, .port = port };
	if (fd >= 0)
		fd = own_fd_move_high(fd);
	if (fd >= 0 && own_fd_set(&flow->own, fd))
		sys_close(fd);
	flow->out.fd = flow->own.fd;
}

/* Whether the socket has room again, after it had none: half of its queue has left. */
static bool flow_has_room(struct wire_flow *flow)
{
	struct pollfd p = { .fd = flow->own.fd, .events = POLLOUT };

	if (unlikely(flow->full))
		flow->full = sys_poll_for(&p, 0) != 1;
	return !flow->full;
}

static struct wire_flow *flow_find(u32 wire, u16 port)
{
	struct wire_flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		if (flow->port == port && flow->wire == wire)
			return flow;
	flow = flow_replace();
	flow_open(flow, wire, port);
	return flow;
}

struct wire_flow *wire_flow_get(u32 wire, u16 port)
{
	struct wire_flow *flow = flow_find(wire, port);

	flow->used = ++uses;
	return own_fd_is_open(&flow->own) && flow_has_room(flow) ? flow : NULL;
}

void wire_flows_close(void)
{
	struct wire_flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		flow_close(flow);
}
