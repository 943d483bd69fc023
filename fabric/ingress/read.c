/* SPDX-License-Identifier: MIT */
/** DOC: from sockets to datagrams: see ingress.h. */
#include "fabric/ingress/ingress.h"

#include "fabric/egress/calls.h"

#include <endian.h>
#include <netinet/udp.h>

#define FLOW_LABEL 0xfffffu /* of the traffic class and the label that the kernel reports */

/* Control messages with fields of the IP header, and the length of datagrams. */
union inbox_control {
	struct cmsghdr align;
	u8 buf[4 * CMSG_SPACE(sizeof(int))];
};

bool roce_datagram_next(struct roce_in *in, u32 at)
{
	in->at = at;
	in->len = min_u32(in->end - at, in->step);
	in->asked = in->held = 0;
	in->told = in->counted = false;
	return in->len != 0;
}

static void inbox_control_ip6(int type, int value, struct roce_in *in)
{
	if (type == IPV6_TCLASS)
		in->tclass = (u8)value;
	else if (type == IPV6_HOPLIMIT)
		in->hops = (u8)value;
	else if (type == EGRESS_IPV6_FLOWINFO)
		in->flow = be32toh((u32)value) & FLOW_LABEL;
}

/* IP_TOS is a byte, all others are ints. */
static void inbox_control_read(struct msghdr *m, struct roce_in *in)
{
	struct cmsghdr *c;
	int value;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			in->tclass = *(const u8 *)CMSG_DATA(c);
			continue;
		}
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == IPPROTO_IPV6)
			inbox_control_ip6(c->cmsg_type, value, in);
		else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			in->hops = (u8)value;
		else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && value > 0)
			in->step = (u32)value;
	}
}

/* Take what the kernel has handed out at once. Return: how many datagrams. */
static u32 inbox_take(struct mmsghdr *m, struct roce_in *in)
{
	in->step = m->msg_len;
	in->end = ROCE_IP6_UDP + m->msg_len;
	in->tclass = 0;
	in->hops = EGRESS_HOPS;
	in->flow = 0;
	in->cut = m->msg_hdr.msg_flags & MSG_TRUNC;
	inbox_control_read(&m->msg_hdr, in);
	roce_datagram_next(in, ROCE_IP6_UDP);
	return in->len ? (m->msg_len + in->step - 1) / in->step : 1;
}

int ingress_read(int fd, struct ingress_box *box, u32 room)
{
	struct mmsghdr m[EGRESS_BATCH];
	union inbox_control ctl[EGRESS_BATCH];
	struct iovec iov[EGRESS_BATCH];
	u32 datagrams = 0;
	int n, i;

	for (i = 0; i < (int)room; i++) {
		iov[i] = (struct iovec){ box->in[i].bytes + ROCE_IP6_UDP, INGRESS_MAX };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &box->in[i].from,
						.msg_namelen = sizeof(box->in[i].from),
						.msg_iov = &iov[i],
						.msg_iovlen = 1,
						.msg_control = &ctl[i],
						.msg_controllen = sizeof(ctl[i].buf) };
	}
	box->n = box->at = 0;
	n = egress_call_recvmmsg(fd, m, room);
	if (n <= 0)
		return n == -EAGAIN || n == -EINTR ? 0 : n;
	for (i = 0; i < n; i++)
		datagrams += inbox_take(&m[i], &box->in[i]);
	/* Last: a holder of the token that ends before leaves an empty inbox. */
	store_release(&box->n, (u32)n);
	return (int)datagrams;
}
