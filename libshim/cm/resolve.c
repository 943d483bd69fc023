/* SPDX-License-Identifier: MIT */
/**
 * DOC: binding and resolving: rdma_bind_addr(3), rdma_resolve_addr(3), rdma_resolve_route(3), and
 * rdma_resolve_addrinfo(3).
 *
 * The latter may be newer than the headers that we build with, hence names and numbers of our own.
 * Its name lookup is done within the call, since the shim starts no threads for it. An emulated
 * fabric has no service records, so asking an SA for one is not supported.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/command.h"
#include "libshim/cm/addr.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

/**
 * rdma_bind_addr() - rdma_bind_addr(3).
 * Return: 0, or -1 with errno (EINVAL: no IP address, or bound already; EADDRINUSE, EADDRNOTAVAIL,
 * ENODEV: no device has the address; EACCES).
 */
SHIM_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { 0 };

	if (call_fails(CALL_rdma_bind_addr))
		return -1;
	if (!c)
		return -1;
	if (!ucma_addr_len(addr))
		return fail_minus(-EINVAL);
	ucma_addr_from_sa(&cmd.cm.src, addr);
	if (ucma_id_cmd(c, CMD_CM_BIND, &cmd))
		return -1;
	return ucma_query_addr(c);
}

/** rdma_resolve_addr() - rdma_resolve_addr(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
				  struct sockaddr *dst_addr, int timeout_ms)
{
	struct ucma_id *c = ucma_id_of(id);
	socklen_t len = ucma_addr_len(dst_addr);
	struct hca_cmd cmd = { 0 };

	if (call_fails_with_event(CALL_rdma_resolve_addr, &cmd.cm.fail))
		return -1;
	if (!c)
		return -1;
	if (!len || (src_addr && !ucma_addr_len(src_addr)))
		return fail_minus(-EINVAL);
	ucma_addr_from_sa(&cmd.cm.src, src_addr);
	ucma_addr_from_sa(&cmd.cm.dst, dst_addr);
	cmd.cm.timeout_ms = (u32)timeout_ms;
	if (ucma_id_cmd(c, CMD_CM_RESOLVE_ADDR, &cmd))
		return -1;
	memcpy(&id->route.addr.dst_storage, dst_addr, len);
	return ucma_complete(c);
}

/** rdma_resolve_route() - rdma_resolve_route(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .cm.timeout_ms = (u32)timeout_ms };

	if (call_fails_with_event(CALL_rdma_resolve_route, &cmd.cm.fail))
		return -1;
	if (!c || ucma_id_cmd(c, CMD_CM_RESOLVE_ROUTE, &cmd))
		return -1;
	return ucma_complete(c);
}

SHIM_EXPORT int rdmaemu_find_addr(const struct sockaddr *addr, bool is_real_too);

/**
 * rdmaemu_find_addr() - whether the fabric has an address, for a program that has real devices as
 * well.
 * @is_real_too: a real device has the address, too, and is used: the journal says so
 * Return: 0: a node has it; -EHOSTUNREACH: no node has it, but there are wires; otherwise -errno
 */
int rdmaemu_find_addr(const struct sockaddr *addr, bool is_real_too)
{
	struct hca_cmd cmd = { .op = CMD_CM_FIND_ADDR };

	if (ucma_init())
		return -errno;
	ucma_addr_from_sa(&cmd.cm.dst, addr);
	cmd.cm.flags = is_real_too ? CM_FIND_REAL_TOO : 0;
	return shim_cmd_exec(&cmd);
}

SHIM_EXPORT int
newer_rdma_resolve_addrinfo(struct rdma_cm_id *ibid, const char *node, const char *service,
			    const struct rdma_addrinfo *hints) __asm__("rdma_resolve_addrinfo");
SHIM_EXPORT int
newer_rdma_query_addrinfo(struct rdma_cm_id *ibid,
			  struct rdma_addrinfo **info) __asm__("rdma_query_addrinfo");

/* Begin: from then on another lookup is refused. Return: 0 or -EBUSY. */
static int addrinfo_begin(struct ucma_id *id)
{
	bool busy;

	pthread_mutex_lock(&id->mut);
	busy = id->resolving;
	id->resolving = true;
	pthread_mutex_unlock(&id->mut);
	return busy ? -EBUSY : 0;
}

/* End: take the result, if there is one. */
static struct rdma_addrinfo *addrinfo_take(struct ucma_id *id)
{
	struct rdma_addrinfo *res;

	pthread_mutex_lock(&id->mut);
	res = id->resolved;
	id->resolved = NULL;
	if (res)
		id->resolving = false;
	pthread_mutex_unlock(&id->mut);
	return res;
}

/* Look up, and queue the event. Return: 0, or -errno and no event. */
static int addrinfo_lookup(struct ucma_id *id, const char *node, const char *service,
			   const struct rdma_addrinfo *hints)
{
	int flags = hints ? hints->ai_flags & (UCMA_RAI_SA | UCMA_RAI_DNS) : 0;
	struct rdma_addrinfo *res = NULL;
	int ret;

	if (flags == (UCMA_RAI_SA | UCMA_RAI_DNS) || (flags == UCMA_RAI_SA && node))
		return -ENOTSUP;
	if (flags & UCMA_RAI_SA)
		return service ? -EOPNOTSUPP : -EINVAL;
	if (!node && !service && !hints)
		return -EINVAL;
	ret = rdma_getaddrinfo(node, service, hints, &res);
	if (ret == -1)
		ret = -errno;
	/* First, since the event may be read, and the result taken, before this returns. */
	pthread_mutex_lock(&id->mut);
	id->resolved = res;
	pthread_mutex_unlock(&id->mut);
	if (!ucma_user_event_put(id, ret ? UCMA_EVENT_ADDRINFO_ERROR : UCMA_EVENT_ADDRINFO_RESOLVED,
				 ret, 0))
		return 0;
	ret = -errno;
	rdma_freeaddrinfo(addrinfo_take(id));
	return ret;
}

/**
 * newer_rdma_resolve_addrinfo() - rdma_resolve_addrinfo(3). A failed lookup is an event, too, whose
 * status is the EAI_ number, or -errno.
 * Return: 0, or -1 with errno (EBUSY: the result of an earlier lookup was not taken; ENOTSUP:
 * RAI_SA) and no event.
 */
int newer_rdma_resolve_addrinfo(struct rdma_cm_id *ibid, const char *node, const char *service,
				const struct rdma_addrinfo *hints)
{
	struct ucma_id *id = ucma_id_of(ibid);
	int ret;

	if (call_fails(CALL_rdma_resolve_addrinfo))
		return -1;
	if (!id)
		return -1;
	ret = addrinfo_begin(id);
	if (ret)
		return fail_minus(ret);
	ret = addrinfo_lookup(id, node, service, hints);
	if (!ret)
		return ucma_complete(id);
	pthread_mutex_lock(&id->mut);
	id->resolving = false;
	pthread_mutex_unlock(&id->mut);
	return fail_minus(ret);
}

/**
 * newer_rdma_query_addrinfo() - rdma_query_addrinfo(3): the result, which the caller owns then.
 * Return: 0, or -1 with errno (EINVAL: a null pointer; ENOENT: there is no result).
 */
int newer_rdma_query_addrinfo(struct rdma_cm_id *ibid, struct rdma_addrinfo **info)
{
	struct ucma_id *id = ucma_id_of(ibid);
	struct rdma_addrinfo *res;

	if (call_fails(CALL_rdma_query_addrinfo))
		return -1;
	if (!id)
		return -1;
	if (!info)
		return fail_minus(-EINVAL);
	res = addrinfo_take(id);
	if (!res)
		return fail_minus(-ENOENT);
	*info = res;
	return 0;
}
