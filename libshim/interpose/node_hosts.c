/* SPDX-License-Identifier: MIT */
/*
 * Names and addresses of nodes, for programs that resolve them or open sockets to them.
 *
 * Theory of operation
 * -------------------
 * A node's addresses are on no interface of the host: the fabric knows them, the kernel does not.
 * That suffices for the rdma_cm. But programs also resolve their peer's name with libc's
 * getaddrinfo(3), and often exchange connection data on a socket first. Therefore
 *
 *  - names of nodes resolve to the nodes' addresses;
 *  - connect() and bind() to the address of a node of this machine use the loopback address
 *    instead. All its nodes share the host's port numbers, so two nodes' servers need two.
 *
 * Datagrams that carry an address of their own (sendto(2), sendmsg(2)) and gethostbyname(3) know no
 * nodes: programs that use verbs do not need that.
 *
 * librspreload wraps connect() and bind(), too, for sockets over RDMA, which need the addresses
 * unchanged.
 */
#include "emulator/ib.h"
#include "emulator/node.h"
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/netlink.h"
#include "libshim/interpose/rpc_signal.h"
#include "libshim/interpose/syscall.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

HOOK(int, getaddrinfo, const char *node, const char *service, const struct addrinfo *hints,
     struct addrinfo **res);
HOOK(int, connect, int fd, const struct sockaddr *addr, socklen_t len);
HOOK(int, bind, int fd, const struct sockaddr *addr, socklen_t len);

/* Return: whether the node exists. */
static bool node_query(struct proto_msg *m)
{
	int saved = errno, fd = rpc_signal_open();
	bool found = fd >= 0 && rpc_signal_call(fd, m);

	if (fd >= 0)
		sys_close(fd);
	errno = saved;
	return found;
}

/* The address of node @name as text, in the family that the caller wants. */
static bool node_resolve_name(const char *name, int family, char text[INET6_ADDRSTRLEN])
{
	struct proto_msg m = { .op = PROTO_NODE };
	static const u8 none[16];
	const u8 *ip;

	if (!name || !hca_node_name_ok(name) || !strcmp(name, "localhost"))
		return false;
	memcpy(m.ask.node, name, strlen(name));
	if (!node_query(&m))
		return false;
	ip = family == AF_INET6 ? m.node.ip6 : m.node.ip4;
	if (!memcmp(ip, none, sizeof(none)))
		return false;
	return family == AF_INET6 ? inet_ntop(AF_INET6, ip, text, INET6_ADDRSTRLEN)
				  : inet_ntop(AF_INET, ip + 12, text, INET6_ADDRSTRLEN);
}

int hook_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		     struct addrinfo **res)
{
	struct addrinfo numeric = { 0 };
	char text[INET6_ADDRSTRLEN];
	int ret;

	if (hints)
		numeric = *hints;
	if ((numeric.ai_flags & AI_NUMERICHOST) ||
	    !node_resolve_name(node, numeric.ai_family, text))
		return libc_next(getaddrinfo)(node, service, hints, res);
	numeric.ai_flags |= AI_NUMERICHOST;
	ret = libc_next(getaddrinfo)(text, service, &numeric, res);
	if (!ret && (*res)->ai_canonname) {
		free((*res)->ai_canonname);
		(*res)->ai_canonname = strdup(node);
	}
	return ret;
}

/* Whether the address is one of a node of this machine, other than the host's own. */
static bool is_node_addr(const u8 ip[16])
{
	struct proto_msg m = { .op = PROTO_NODE };

	memcpy(m.ask.ip, ip, sizeof(m.ask.ip));
	return node_query(&m) && !m.node.member && m.node.first_dev;
}

/** union address - the address that the kernel gets instead. */
union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Return: @addr, or @to with the loopback address if @addr is a node's. @fn: the next connect(). */
static const struct sockaddr *node_addr_to_loopback(const struct sockaddr *addr, socklen_t len,
						    union address *to, const void *fn)
{
	Dl_info lib;
	u8 ip[16];

	if (!addr || len < sizeof(addr->sa_family) || len > sizeof(*to))
		return addr;
	if (addr->sa_family == AF_INET && len >= sizeof(to->in)) {
		memcpy(&to->in, addr, sizeof(to->in));
		gid_map_v4(ip, &to->in.sin_addr);
		if (ip[12] == 127 || !to->in.sin_addr.s_addr)
			return addr;
		to->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else if (addr->sa_family == AF_INET6 && len >= sizeof(to->in6)) {
		memcpy(&to->in6, addr, sizeof(to->in6));
		memcpy(ip, &to->in6.sin6_addr, 16);
		if (IN6_IS_ADDR_LOOPBACK(&to->in6.sin6_addr) ||
		    IN6_IS_ADDR_UNSPECIFIED(&to->in6.sin6_addr))
			return addr;
		to->in6.sin6_addr = in6addr_loopback;
		/* A server that knows IPv4 only listens on its loopback address. */
		if (gid_is_v4(ip))
			inet_pton(AF_INET6, "::ffff:127.0.0.1", &to->in6.sin6_addr);
	} else {
		return addr;
	}
	if (dladdr(fn, &lib) && lib.dli_fname && strstr(lib.dli_fname, "librspreload"))
		return addr;
	return is_node_addr(ip) ? &to->sa : addr;
}

int hook_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	union address to;

	if (unlikely(netlink_is_ours(fd)))
		return netlink_connect(addr, len);
	return libc_next(connect)(
		fd, node_addr_to_loopback(addr, len, &to, (const void *)libc_next(connect)), len);
}

int hook_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	union address to;

	if (unlikely(netlink_is_ours(fd)))
		return netlink_bind(fd, addr, len);
	return libc_next(bind)(
		fd, node_addr_to_loopback(addr, len, &to, (const void *)libc_next(bind)), len);
}
