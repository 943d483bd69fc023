/* SPDX-License-Identifier: MIT */
/**
 * DOC: sockets of wires.
 *
 * The ICRC covers fields that the kernel writes: with DF and on an unconnected socket, it sets the
 * identification of an IPv4 header to 0 (ip_select_ident_segs()). IPv6 has no such field. RoCE
 * uses no UDP checksum, since the ICRC is stronger.
 */
#include "fabric/roce/wire.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/udp.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#define SOCKET_BUFFER (8 << 20)
#define PROBE_MS      500 /* within a host it takes microseconds, unless that has no time */
#define HOPS	      64 /* what the engine writes into address vectors */

/** struct socket_opt - an option with a number as its value. */
struct socket_opt {
	int level, name, value;
};

static const struct socket_opt opts4[] = {
	{ SOL_SOCKET, SO_NO_CHECK, 1 },
	{ IPPROTO_IP, IP_RECVTOS, 1 },
	{ IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO },
	{ IPPROTO_IP, IP_TTL, HOPS },
	{ IPPROTO_IP, IP_MULTICAST_TTL, HOPS },
};

static const struct socket_opt opts6[] = {
	{ IPPROTO_IPV6, IPV6_V6ONLY, 1 },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, 1 },
	{ IPPROTO_UDP, UDP_NO_CHECK6_TX, 1 },
	{ IPPROTO_UDP, UDP_NO_CHECK6_RX, 1 },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO },
	{ IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0 },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS },
};

static bool socket_set_opts(int fd, const struct socket_opt *o, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (setsockopt(fd, o[i].level, o[i].name, &o[i].value, sizeof(o[i].value)))
			return false;
	return true;
}

static bool socket_bind4(int fd, const u8 gid[16], u16 port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&at.sin_addr, gid + 12, 4);
	return socket_set_opts(fd, opts4, ARRAY_SIZE(opts4)) &&
	       !setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &at.sin_addr, sizeof(at.sin_addr)) &&
	       !bind(fd, (const struct sockaddr *)&at, sizeof(at));
}

unsigned int roce_socket_iface(const u8 gid[16])
{
	const struct sockaddr_in6 *at;
	unsigned int index = 0;
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return 0;
	for (a = all; a && !index; a = a->ifa_next) {
		at = (const void *)a->ifa_addr;
		if (at && at->sin6_family == AF_INET6 && !memcmp(&at->sin6_addr, gid, 16))
			index = if_nametoindex(a->ifa_name);
	}
	freeifaddrs(all);
	return index;
}

static bool socket_bind6(int fd, const u8 gid[16], u16 port)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const int iface = (int)roce_socket_iface(gid);

	memcpy(&at.sin6_addr, gid, 16);
	return socket_set_opts(fd, opts6, ARRAY_SIZE(opts6)) &&
	       !setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &iface, sizeof(iface)) &&
	       !bind(fd, (const struct sockaddr *)&at, sizeof(at));
}

/* The kernel allows less, net.core.rmem_max and wmem_max, but to root. */
static void socket_set_buffer(int fd, int force, int name)
{
	const int size = SOCKET_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, name, &size, sizeof(size));
}

void roce_socket_set_room(int fd)
{
	socket_set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
}

int roce_socket_open(const u8 gid[16], u16 port)
{
	/* Linux before 5.0 hands out one datagram at a time. */
	const int one = 1;
	bool v4 = gid_is_v4(gid);
	int fd, err;

	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!(v4 ? socket_bind4(fd, gid, port) : socket_bind6(fd, gid, port))) {
		err = errno;
		close(fd);
		return -err;
	}
	if (port == ROCE_UDP_PORT) {
		roce_socket_set_room(fd);
		setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	}
	socket_set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	return fd;
}

void roce_socket_set_sums(int fd, bool v4, bool on)
{
	const int off = !on;

	if (v4)
		setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &off, sizeof(off));
	else
		setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &off, sizeof(off));
}

/* Receive one of the datagrams of the probe. */
static bool probe_receive(int fd, u8 expected)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	u8 got[2];

	return poll(&p, 1, PROBE_MS) > 0 && recv(fd, got, sizeof(got), 0) == 1 &&
	       got[0] == expected;
}

/* Two bytes to itself have to arrive as two datagrams. */
bool roce_socket_cuts(const u8 gid[16])
{
	const int step = 1;
	struct sockaddr_in6 at; /* has room for one of IPv4 */
	socklen_t len = sizeof(at);
	int fd = roce_socket_open(gid, 0);
	bool cuts;

	if (fd < 0)
		return false;
	roce_socket_set_sums(fd, gid_is_v4(gid), true);
	cuts = !setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &step, sizeof(step)) &&
	       !getsockname(fd, (struct sockaddr *)&at, &len) &&
	       sendto(fd, "\0\1", 2, 0, (struct sockaddr *)&at, len) == 2 && probe_receive(fd, 0) &&
	       probe_receive(fd, 1);
	close(fd);
	return cuts;
}

const char *roce_gid_text(const u8 gid[16], char *text)
{
	bool v4 = gid_is_v4(gid);

	text[0] = '\0';
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid + 12 : gid, text, INET6_ADDRSTRLEN);
	return text;
}
