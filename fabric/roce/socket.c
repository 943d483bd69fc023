/* SPDX-License-Identifier: MIT */
/** DOC: sockets of wires: those of fabric/egress/, which also send to groups, and receive. */
#include "fabric/roce/wire.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/udp.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#define SOCKET_BUFFER (8 << 20)
#define PROBE_MS      500 /* within a host it takes microseconds, unless that has no time */

bool roce_sockaddr_gid(const struct sockaddr *sa, u8 gid[16])
{
	if (sa && sa->sa_family == AF_INET)
		gid_map_v4(gid, &((const struct sockaddr_in *)(const void *)sa)->sin_addr);
	else if (sa && sa->sa_family == AF_INET6)
		memcpy(gid, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	else
		return false;
	return true;
}

unsigned int roce_socket_iface(const u8 gid[16])
{
	u8 other[16];
	unsigned int index = 0;
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return 0;
	for (a = all; a && !index; a = a->ifa_next)
		if (roce_sockaddr_gid(a->ifa_addr, other) && !memcmp(other, gid, 16))
			index = if_nametoindex(a->ifa_name);
	freeifaddrs(all);
	return index;
}

void roce_socket_set_room(int fd)
{
	/* The kernel allows less, net.core.rmem_max, but to root. */
	if (egress_socket_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER))
		egress_socket_set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER);
}

/* Packets to groups leave by the interface with its address. */
static int socket_set_group_iface(int fd, const u8 gid[16])
{
	struct in_addr at;

	if (!gid_is_v4(gid))
		return egress_socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF,
					 (int)roce_socket_iface(gid));
	memcpy(&at, gid + 12, 4);
	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &at, sizeof(at)) ? -errno : 0;
}

int roce_socket_open(const u8 gid[16], u16 port)
{
	int fd = egress_socket_open(gid, port), ret;

	if (fd < 0)
		return fd;
	ret = socket_set_group_iface(fd, gid);
	if (ret) {
		close(fd);
		return ret;
	}
	if (port == ROCE_UDP_PORT) {
		roce_socket_set_room(fd);
		/* Linux before 5.0 hands out one datagram at a time. */
		egress_socket_set(fd, IPPROTO_UDP, UDP_GRO, 1);
	}
	return fd;
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
	egress_socket_set_sums(fd, gid_is_v4(gid), true);
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
