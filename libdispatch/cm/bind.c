/* SPDX-License-Identifier: MIT */
/*
 * Which library an identifier is for: the address decides that it is bound to, or that it resolves.
 *
 * - An address of a real device's interface is real; otherwise one of the fabric is emulated.
 * - A wildcard address, to listen at, is bound with both libraries, at one port.
 * - A destination that a node of the fabric has is emulated, unless the machine has it itself.
 * - Any other destination is real if the machine's route to it starts at a real device, and
 *   emulated if not and the fabric has wires (or it is a group).
 * - Where both could do, the identifier is real, and the journal says so.
 */
#include "libdispatch/cm/cm.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

CM_EXPORT(int, rdma_bind_addr, struct rdma_cm_id *id, struct sockaddr *addr);
CM_EXPORT(int, rdma_resolve_addr, struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
	  int timeout_ms);
CM_EXPORT(int, rdma_listen, struct rdma_cm_id *id, int backlog);

/* rdmaemu_find_addr() of the shim: whether the fabric has an address. */
typedef int (*find_addr_fn)(const struct sockaddr *addr, bool is_real_too);

static int fabric_find(const struct sockaddr *addr, bool is_real_too)
{
	static void *slot[SIDES];
	find_addr_fn find =
		(find_addr_fn)cm_side_function(slot, SIDE_EMULATED, "rdmaemu_find_addr");
	enum cm_side outer;
	int ret;

	if (!find)
		return -ENOSYS;
	outer = cm_side_enter(SIDE_EMULATED);
	ret = find(addr, is_real_too);
	cm_side_leave(outer);
	return ret;
}

/* --- addresses --- */

bool cm_addr_is_wildcard(const struct sockaddr *addr)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	in_addr_t in = ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr);

	switch (addr->sa_family) {
	case AF_INET:
		return in == INADDR_ANY || in >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(in6) || IN6_IS_ADDR_LOOPBACK(in6);
	default:
		return false;
	}
}

static bool addr_is_group(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr));
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static socklen_t addr_len(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

/* The port is at the same place in both families. */
static void addr_set_port(struct sockaddr_storage *addr, in_port_t port)
{
	((struct sockaddr_in *)addr)->sin_port = port;
}

static in_port_t addr_port(const struct sockaddr *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_port;
}

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	       "addr_set_port() writes either");

static bool addr_is_ip(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET || addr->sa_family == AF_INET6;
}

/* --- what the machine has --- */

/* Whether a real device has the address, found by an identifier of its own. */
static bool is_real_address(const struct sockaddr *addr)
{
	struct sockaddr_storage any_port = { 0 };
	struct rdma_cm_id *probe;
	bool is_real;

	memcpy(&any_port, addr, addr_len(addr));
	addr_set_port(&any_port, 0);
	if (CM_SIDE_CALL(SIDE_REAL, rdma_create_id, NULL, &probe, NULL, RDMA_PS_TCP))
		return false;
	is_real = !CM_SIDE_CALL(SIDE_REAL, rdma_bind_addr, probe, (struct sockaddr *)&any_port);
	CM_SIDE_CALL(SIDE_REAL, rdma_destroy_id, probe);
	return is_real;
}

/* Whether the machine's route to an address starts at a real device. Nothing is sent. */
static bool is_real_route(const struct sockaddr *dst)
{
	int fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage to = { 0 }, source = { 0 };
	socklen_t len = sizeof(source);
	bool is_routed;

	if (fd < 0)
		return false;
	memcpy(&to, dst, addr_len(dst));
	if (!addr_port(dst))
		addr_set_port(&to, htons(9)); /* any: connect(2) wants one */
	is_routed = !connect(fd, (struct sockaddr *)&to, addr_len(dst)) &&
		    !getsockname(fd, (struct sockaddr *)&source, &len);
	close(fd);
	return is_routed && is_real_address((struct sockaddr *)&source);
}

/* --- destinations --- */

enum cm_side cm_destination_side(const struct sockaddr *dst)
{
	bool is_inside, is_real;
	int found;

	if (!addr_is_ip(dst))
		return SIDE_REAL;
	found = fabric_find(dst, false);
	is_inside = !found || cm_addr_is_wildcard(dst);
	is_real = is_inside ? is_real_address(dst) : is_real_route(dst);
	if (is_real && is_inside)
		fabric_find(dst, true);
	if (is_real)
		return SIDE_REAL;
	/* -EHOSTUNREACH: no node has it, but a wire may lead there. */
	return is_inside || found == -EHOSTUNREACH || addr_is_group(dst) ? SIDE_EMULATED
									 : SIDE_REAL;
}

/* --- sources --- */

static int side_bind(struct cm_both_id *b, enum cm_side side, struct sockaddr *addr)
{
	return CM_SIDE_CALL(side, rdma_bind_addr, b->side[side], addr);
}

static int wildcard_bind(struct cm_both_id *b, struct sockaddr *addr)
{
	struct sockaddr_storage same_port = { 0 };
	int err;

	if (side_bind(b, SIDE_REAL, addr))
		return -1;
	memcpy(&same_port, addr, addr_len(addr));
	addr_set_port(&same_port, addr_port(&b->side[SIDE_REAL]->route.addr.src_addr));
	if (!side_bind(b, SIDE_EMULATED, (struct sockaddr *)&same_port)) {
		b->bound = CM_BOUND_BOTH;
		return 0;
	}
	err = errno;
	if (!cm_both_id_unbind(b, SIDE_REAL))
		errno = err;
	return -1;
}

/* The errno values for an address that is not the real library's. */
static bool is_elsewhere(int err)
{
	return err == ENODEV || err == EADDRNOTAVAIL;
}

static int address_bind(struct cm_both_id *b, struct sockaddr *addr)
{
	int err;

	if (!side_bind(b, SIDE_REAL, addr)) {
		b->bound = CM_BOUND_REAL;
		fabric_find(addr, true);
		return 0;
	}
	err = errno;
	if (!is_elsewhere(err))
		return -1;
	if (!side_bind(b, SIDE_EMULATED, addr)) {
		b->bound = CM_BOUND_EMULATED;
		return 0;
	}
	if (is_elsewhere(errno))
		errno = err;
	return -1;
}

int cm_both_id_bind(struct cm_both_id *b, struct sockaddr *addr)
{
	enum cm_side side = cm_both_id_side(b);
	int ret;

	if (b->bound || !b->side[SIDE_REAL] || !b->side[SIDE_EMULATED] || !addr_is_ip(addr)) {
		ret = side_bind(b, side, addr);
		if (!ret)
			b->bound = 1u << side;
	} else {
		ret = cm_addr_is_wildcard(addr) ? wildcard_bind(b, addr) : address_bind(b, addr);
	}
	cm_both_id_pull(b);
	return ret;
}

/**
 * rdma_bind_addr() - rdma_bind_addr(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	enum cm_side within = cm_side_of(id);

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_bind_addr, id, addr);
	return cm_both_id_bind(cm_both_id_of(id), addr);
}

/* Bind to the source address if there is one, else to the library of the destination. */
static int source_bind(struct cm_both_id *b, struct sockaddr *src, struct sockaddr *dst)
{
	if (b->bound == CM_BOUND_REAL || b->bound == CM_BOUND_EMULATED)
		return 0;
	if (!b->bound && src && addr_is_ip(src) && !cm_addr_is_wildcard(src))
		return cm_both_id_bind(b, src);
	if (b->side[SIDE_REAL] && b->side[SIDE_EMULATED])
		b->bound = 1u << cm_destination_side(dst);
	return 0;
}

/**
 * rdma_resolve_addr() - rdma_resolve_addr(3).
 * Return: 0, or -1 with errno
 */
int both_rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
			   int timeout_ms)
{
	enum cm_side within = cm_side_of(id), side;
	struct cm_both_id *b;
	u32 bound;
	int ret;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_resolve_addr, id, src, dst, timeout_ms);
	b = cm_both_id_of(id);
	bound = b->bound;
	if (source_bind(b, src, dst))
		return -1;
	side = cm_both_id_side(b);
	cm_both_id_push(b);
	ret = CM_SIDE_CALL(side, rdma_resolve_addr, b->side[side], src, dst, timeout_ms);
	cm_both_id_pull(b);
	if (ret && (bound == CM_BOUND_BOTH || !src || cm_addr_is_wildcard(src)))
		b->bound = bound;
	return ret;
}

/**
 * rdma_listen() - rdma_listen(3): an identifier without an address listens at any, as in the
 * kernel.
 * Return: 0, or -1 with errno
 */
int both_rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	enum cm_side within = cm_side_of(id), side;
	struct cm_both_id *b;
	int ret;

	if (within != SIDE_NONE)
		return CM_SIDE_CALL(within, rdma_listen, id, backlog);
	b = cm_both_id_of(id);
	if (!b->bound && cm_both_id_bind(b, (struct sockaddr *)&any))
		return -1;
	side = cm_both_id_side(b);
	cm_both_id_push(b);
	ret = CM_SIDE_CALL(side, rdma_listen, b->side[side], backlog);
	if (!ret && b->bound == CM_BOUND_BOTH)
		ret = CM_SIDE_CALL(SIDE_EMULATED, rdma_listen, b->side[SIDE_EMULATED], backlog);
	cm_both_id_pull(b);
	return ret;
}
