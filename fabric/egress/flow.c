/* SPDX-License-Identifier: MIT */
/**
 * DOC: flows and their sockets, as a list in the order of their latest use.
 *
 * Switches and network cards spread packets over links and queues by a hash of addresses and ports.
 * A RoCE v2 flow therefore has a source port of its own: of its flow label, or of both QP numbers
 * (fabric/packet/frame.c). A UDP socket has one source port, so a flow has a socket, unconnected as
 * the wire's, which is opened for its first burst. The fabric process and each program that sends
 * keep those that were used last: who opens and closes them is theirs.
 */
#include "fabric/egress/egress.h"

/* Move the flow at @at to the head of the list. */
static struct egress_flow *egress_flow_use(struct egress_flow **latest, struct egress_flow **at)
{
	struct egress_flow *flow = *at;

	*at = flow->next;
	flow->next = *latest;
	*latest = flow;
	return flow;
}

void egress_flow_add(struct egress_flow **latest, struct egress_flow *flow)
{
	*flow = (struct egress_flow){ .out.fd = -1, .next = *latest };
	*latest = flow;
}

struct egress_flow *egress_flow_find(struct egress_flow **latest, u32 wire, u16 port)
{
	struct egress_flow **at;

	for (at = latest; *at; at = &(*at)->next)
		if ((*at)->port == port && (*at)->wire == wire)
			return egress_flow_use(latest, at);
	return NULL;
}

struct egress_flow *egress_flow_replace(struct egress_flow **latest, const struct egress_flow *keep)
{
	struct egress_flow **at, **oldest = NULL;

	for (at = latest; *at; at = &(*at)->next)
		if (*at != keep && (!oldest || (*oldest)->port || !(*at)->port))
			oldest = at;
	return oldest ? egress_flow_use(latest, oldest) : NULL;
}
