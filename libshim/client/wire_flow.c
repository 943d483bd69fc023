/* SPDX-License-Identifier: MIT */
/** DOC: sockets of flows: see wire_flow.h. */
#include "libshim/client/wire_flow.h"

#include "libshim/client/client.h"

#define FLOWS 8u

static struct wire_flow flows[FLOWS];
static struct egress_flow *latest;

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

static void wire_flow_close(struct wire_flow *flow)
{
	if (flow->entry.port)
		own_fd_close(&flow->own);
	flow->entry.port = 0;
}

/* Open the socket of a new flow. Its entry also tells that it cannot be opened. */
static struct egress_flow *wire_flow_open(u32 wire, u16 port)
{
	struct egress_flow *entry = egress_flow_replace(&latest, NULL);
	struct wire_flow *flow = container_of(entry, struct wire_flow, entry);
	int fd = is_in_namespace(shim.hca->wires.netns)
			 ? egress_socket_open(shim.hca->wires.gid[wire], port)
			 : -EPERM;

	wire_flow_close(flow);
	flow->own = (struct own_fd){ .fd = -1 };
	flow->full = false;
	if (fd >= 0)
		fd = own_fd_move_high(fd);
	if (fd >= 0 && own_fd_set(&flow->own, fd))
		sys_close(fd);
	entry->out = (struct egress_socket){ .fd = flow->own.fd };
	entry->wire = wire;
	entry->port = port;
	return entry;
}

/* Whether the socket has room again, after it had none: half of its queue has left. */
static bool flow_has_room(struct wire_flow *flow)
{
	struct pollfd p = { .fd = flow->own.fd, .events = POLLOUT };

	if (unlikely(flow->full))
		flow->full = sys_poll_for(&p, 0) != 1;
	return !flow->full;
}

static void wire_flows_init(void)
{
	struct wire_flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		egress_flow_add(&latest, &flow->entry);
}

struct wire_flow *wire_flow_get(u32 wire, u16 port)
{
	struct egress_flow *entry;
	struct wire_flow *flow;

	if (unlikely(!latest))
		wire_flows_init();
	entry = egress_flow_find(&latest, wire, port);
	if (unlikely(!entry))
		entry = wire_flow_open(wire, port);
	flow = container_of(entry, struct wire_flow, entry);
	return own_fd_is_open(&flow->own) && flow_has_room(flow) ? flow : NULL;
}

void wire_flows_close(void)
{
	struct wire_flow *flow;

	for (flow = flows; flow < flows + FLOWS; flow++)
		wire_flow_close(flow);
}
