/* SPDX-License-Identifier: MIT */
/**
 * DOC: sockets that send packets.
 *
 * The ICRC covers fields that the kernel writes: with DF and on an unconnected socket, it sets the
 * identification of an IPv4 header to 0 (ip_select_ident_segs()). IPv6 has no such field. RoCE
 * uses no UDP checksum, since the ICRC is stronger.
 */
#include "fabric/egress/calls.h"
#include "fabric/egress/egress.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#define SOCKET_BUFFER (8 << 20)

/** struct socket_opt - an option with a number as its value. */
struct socket_opt {
	int level, name, value;
};

static const struct socket_opt opts4[] = {
	{ SOL_SOCKET, SO_NO_CHECK, 1 },
	{ IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO },
	{ IPPROTO_IP, IP_TTL, EGRESS_HOPS },
	{ IPPROTO_IP, IP_MULTICAST_TTL, EGRESS_HOPS },
};

static const struct socket_opt opts6[] = {
	{ IPPROTO_IPV6, IPV6_V6ONLY, 1 },
	{ IPPROTO_UDP, UDP_NO_CHECK6_TX, 1 },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO },
	{ IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0 },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, EGRESS_HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS, EGRESS_HOPS },
};

/* Fields of headers that the kernel takes off. */
static const struct socket_opt receives4[] = {
	{ IPPROTO_IP, IP_RECVTOS, 1 },
	{ IPPROTO_IP, IP_RECVTTL, 1 },
};

static const struct socket_opt receives6[] = {
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, 1 },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1 },
	{ IPPROTO_IPV6, EGRESS_IPV6_FLOWINFO, 1 },
	{ IPPROTO_UDP, UDP_NO_CHECK6_RX, 1 },
};

int egress_socket_set(int fd, int level, int name, int value)
{
	return egress_call_setsockopt(fd, level, name, &value, sizeof(value));
}

static int socket_set_all(int fd, const struct socket_opt *o, size_t n)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = egress_socket_set(fd, o[i].level, o[i].name, o[i].value);
	return ret;
}

int egress_socket_receives(int fd, bool v4)
{
	return v4 ? socket_set_all(fd, receives4, ARRAY_SIZE(receives4))
		  : socket_set_all(fd, receives6, ARRAY_SIZE(receives6));
}

static int socket_bind(int fd, const u8 gid[16], u16 port)
{
	struct sockaddr_in at4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 at6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int ret;

	if (gid_is_v4(gid)) {
		memcpy(&at4.sin_addr, gid + 12, 4);
		ret = socket_set_all(fd, opts4, ARRAY_SIZE(opts4));
		return ret ? ret : egress_call_bind(fd, (const void *)&at4, sizeof(at4));
	}
	memcpy(&at6.sin6_addr, gid, 16);
	ret = socket_set_all(fd, opts6, ARRAY_SIZE(opts6));
	return ret ? ret : egress_call_bind(fd, (const void *)&at6, sizeof(at6));
}

int egress_socket_open(const u8 gid[16], u16 port)
{
	int fd, ret = 0;

	fd = egress_call_socket(gid_is_v4(gid) ? AF_INET : AF_INET6,
				SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* What receives, at 4791, is the only one of its port. */
	if (port == ROCE_UDP_PORT)
		ret = egress_socket_receives(fd, gid_is_v4(gid));
	else if (port)
		ret = egress_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!ret)
		ret = socket_bind(fd, gid, port);
	if (ret) {
		egress_call_close(fd);
		return ret;
	}
	/* The kernel allows less, net.core.wmem_max, but to root. */
	if (egress_socket_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER))
		egress_socket_set(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER);
	return fd;
}

void egress_socket_set_sums(int fd, bool v4, bool on)
{
	if (v4)
		egress_socket_set(fd, SOL_SOCKET, SO_NO_CHECK, !on);
	else
		egress_socket_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, !on);
}
