/* SPDX-License-Identifier: MIT */
/**
 * DOC: names to addresses for the rdma_cm: libc's getaddrinfo(3), in the rdma_cm's terms.
 *
 * As in librdmacm, the result is libc's first one. Routes and connection data would come from
 * ibacm(8), which an emulated fabric does not need.
 */
#include "libshim/client/call_fault.h"
#include "libshim/cm/addr.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <infiniband/ib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

/* Whether the hints ask for addresses in the form of GIDs. */
static bool wants_ib_addr(const struct rdma_addrinfo *hints)
{
	int need = RAI_FAMILY | RAI_NUMERICHOST;

	return hints && hints->ai_family == AF_IB && (hints->ai_flags & need) == need;
}

static int qp_socktype(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

static int port_space_protocol(int port_space, int type)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		return type == SOCK_STREAM ? IPPROTO_TCP : type == SOCK_DGRAM ? IPPROTO_UDP : 0;
	default:
		return 0;
	}
}

static struct addrinfo rai_to_hints(const struct rdma_addrinfo *rai)
{
	struct addrinfo ai = { .ai_socktype = qp_socktype(rai->ai_qp_type) };

	if (rai->ai_flags & RAI_PASSIVE)
		ai.ai_flags |= AI_PASSIVE;
	if (rai->ai_flags & RAI_NUMERICHOST)
		ai.ai_flags |= AI_NUMERICHOST;
	if (rai->ai_family != AF_IB)
		ai.ai_family = rai->ai_family;
	else if (wants_ib_addr(rai))
		ai.ai_family = AF_INET6;
	ai.ai_protocol = port_space_protocol(rai->ai_port_space, ai.ai_socktype);
	return ai;
}

/* Return: 0, or -1 with errno ENOMEM. */
static int rai_copy_addr(struct sockaddr **to, socklen_t *to_len, const void *from, socklen_t len)
{
	*to = malloc(len);
	if (!*to)
		return -1;
	memcpy(*to, from, len);
	*to_len = len;
	return 0;
}

/*
 * A GID written as an IPv6 address, with the service id of its port: RDMA IP CM services (IBTA
 * A11).
 */
static struct sockaddr_ib gid_to_sockaddr(const struct sockaddr_in6 *sin6, int port_space)
{
	struct sockaddr_ib sib = { .sib_family = AF_IB, .sib_pkey = htobe16(0xffff) };
	u16 port = be16toh(sin6->sin6_port);
	u64 mask = 0;

	if (port_space)
		mask |= RDMA_IB_IP_PS_MASK;
	if (port)
		mask |= RDMA_IB_IP_PORT_MASK;
	sib.sib_flowinfo = sin6->sin6_flowinfo;
	memcpy(&sib.sib_addr, &sin6->sin6_addr, sizeof(sib.sib_addr));
	sib.sib_sid = htobe64(((u64)port_space << 16) + port);
	sib.sib_sid_mask = htobe64(mask);
	sib.sib_scope_id = sin6->sin6_scope_id;
	return sib;
}

/* Fill in libc's answer. Return: 0, or -1 with errno. */
static int rai_from_ai(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints,
		       const struct addrinfo *ai)
{
	bool passive = hints && (hints->ai_flags & RAI_PASSIVE);
	struct sockaddr **addr = passive ? &rai->ai_src_addr : &rai->ai_dst_addr;
	socklen_t *len = passive ? &rai->ai_src_len : &rai->ai_dst_len;
	struct sockaddr_ib sib;

	rai->ai_flags = passive ? RAI_PASSIVE : 0;
	rai->ai_qp_type = hints ? hints->ai_qp_type : 0;
	if (!rai->ai_qp_type)
		rai->ai_qp_type = ai->ai_socktype == SOCK_STREAM  ? IBV_QPT_RC
				  : ai->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD
								  : 0;
	rai->ai_port_space = hints ? hints->ai_port_space : 0;
	if (!rai->ai_port_space)
		rai->ai_port_space = ai->ai_protocol == IPPROTO_TCP   ? RDMA_PS_TCP
				     : ai->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP
								      : 0;
	if (wants_ib_addr(hints)) {
		sib = gid_to_sockaddr((const struct sockaddr_in6 *)ai->ai_addr, rai->ai_port_space);
		rai->ai_family = AF_IB;
		return rai_copy_addr(addr, len, &sib, sizeof(sib));
	}
	rai->ai_family = ai->ai_family;
	return rai_copy_addr(addr, len, ai->ai_addr, ai->ai_addrlen);
}

/* Return: 0, -1 with errno, or an EAI_ number. */
static int rai_by_name(const char *node, const char *service, const struct rdma_addrinfo *hints,
		       struct rdma_addrinfo *rai)
{
	struct addrinfo want, *ai;
	int ret;

	if (hints)
		want = rai_to_hints(hints);
	ret = getaddrinfo(node, service, hints ? &want : NULL, &ai);
	if (ret)
		return ret;
	ret = rai_from_ai(rai, hints, ai);
	freeaddrinfo(ai);
	return ret;
}

/* Without a name, the hints have the addresses. Return: 0, or -1 with errno. */
static int rai_by_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return rai_copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, hints->ai_dst_addr,
			     hints->ai_dst_len);
}

/* RAI_SA: an emulated fabric has no service records. Return: -errno. */
static int rai_by_service_record(const char *node, const char *service,
				 const struct rdma_addrinfo *hints)
{
	if (node || (hints->ai_flags & UCMA_RAI_DNS))
		return -EOPNOTSUPP;
	return service ? -ENOENT : -EINVAL;
}

/**
 * rdma_getaddrinfo() - rdma_getaddrinfo(3).
 * Return: 0, -1 with errno (EINVAL: no arguments; ENODEV: no device; ENOENT: no service record), or
 * an EAI_ number.
 */
SHIM_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				 const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai;
	int ret;

	if (call_fails_early(CALL_rdma_getaddrinfo))
		return -1;
	if (!node && !service && !hints)
		return fail_minus(-EINVAL);
	if (ucma_init())
		return -1;
	if (hints && (hints->ai_flags & UCMA_RAI_SA))
		return fail_minus(rai_by_service_record(node, service, hints));
	rai = calloc(1, sizeof(*rai));
	if (!rai)
		return -1;
	ret = hints && !node && !service ? rai_by_hints(hints, rai)
					 : rai_by_name(node, service, hints, rai);
	if (!ret && hints && !rai->ai_src_len && hints->ai_src_len)
		ret = rai_copy_addr(&rai->ai_src_addr, &rai->ai_src_len, hints->ai_src_addr,
				    hints->ai_src_len);
	if (ret) {
		rdma_freeaddrinfo(rai);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the list's loop */
		return ret;
	}
	*res = rai;
	return 0;
}

/** rdma_freeaddrinfo() - rdma_getaddrinfo(3): the whole list. */
SHIM_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
	}
}
