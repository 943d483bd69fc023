/* SPDX-License-Identifier: MIT */
/**
 * DOC: address lookup that ends in an event (rdma_resolve_addrinfo(3)). Newer than the headers that
 * we build with may be, hence names and numbers of our own.
 *
 * The lookup is done within the call, since the shim makes no threads of its own. There are no
 * service records on an emulated fabric, so that asking an SA for one is not supported.
 */
#include "libshim/cm/cm.h"

#include <stdlib.h>

#define FLAG_SA	       0x10 /* RAI_SA */
#define FLAG_DNS       0x20 /* RAI_DNS */
#define EVENT_RESOLVED ((enum rdma_cm_event_type)16) /* RDMA_CM_EVENT_ADDRINFO_RESOLVED */
#define EVENT_ERROR    ((enum rdma_cm_event_type)17) /* RDMA_CM_EVENT_ADDRINFO_ERROR */

SHIM_EXPORT int
newer_rdma_resolve_addrinfo(struct rdma_cm_id *ibid, const char *node, const char *service,
			    const struct rdma_addrinfo *hints) __asm__("rdma_resolve_addrinfo");
SHIM_EXPORT int
newer_rdma_query_addrinfo(struct rdma_cm_id *ibid,
			  struct rdma_addrinfo **info) __asm__("rdma_query_addrinfo");

/**
 * newer_rdma_resolve_addrinfo() - rdma_resolve_addrinfo(3). A failed lookup is an event, too, whose
 * status is the EAI_ number, or -errno.
 * Return: 0, or -1 with errno (EOPNOTSUPP: RAI_SA) and no event.
 */
int newer_rdma_resolve_addrinfo(struct rdma_cm_id *ibid, const char *node, const char *service,
				const struct rdma_addrinfo *hints)
{
	int flags = hints ? hints->ai_flags & (FLAG_SA | FLAG_DNS) : 0;
	struct ucma_id *id = ucma_id_of(ibid);
	struct rdma_addrinfo *res = NULL;
	int ret;

	if (call_fails(CALL_rdma_resolve_addrinfo))
		return -1;
	if (!id)
		return -1;
	if ((!node && !service && !hints) || flags == (FLAG_SA | FLAG_DNS))
		return fail_minus(-EINVAL);
	if (flags & FLAG_SA)
		return fail_minus(-EOPNOTSUPP);
	ret = rdma_getaddrinfo(node, service, hints, &res);
	if (ret == -1)
		ret = -errno;
	/* The event may be read, and the result asked for, before this returns. */
	rdma_freeaddrinfo(id->resolved);
	id->resolved = res;
	if (ucma_user_event_put(id, ret ? EVENT_ERROR : EVENT_RESOLVED, ret, 0))
		return -1;
	return ucma_complete(id);
}

/**
 * newer_rdma_query_addrinfo() - rdma_query_addrinfo(3): the result, which is the caller's to free.
 * Return: 0, or -1 with errno (EINVAL: there is none).
 */
int newer_rdma_query_addrinfo(struct rdma_cm_id *ibid, struct rdma_addrinfo **info)
{
	struct ucma_id *id = ucma_id_of(ibid);

	if (call_fails(CALL_rdma_query_addrinfo))
		return -1;
	if (!id)
		return -1;
	if (!id->resolved || !info)
		return fail_minus(-EINVAL);
	/* Hints alone are copied, and nothing is looked up. */
	return rdma_getaddrinfo(NULL, NULL, id->resolved, info);
}
