/* SPDX-License-Identifier: MIT */
/*
 * rdma_getaddrinfo(3): its results for names, numbers and hints, and its errors.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <string.h>

/** struct row - a question, and its answer: @ret, or what the result is. */
struct row {
	const char *what, *node, *service;
	int flags, family, qp_type, ps;
	int ret;
	int out_family, out_qp_type, out_ps;
	bool passive;
};

static const struct row rows[] = {
	{ "a number", "127.0.0.1", "7471", 0, 0, 0, RDMA_PS_TCP, 0, AF_INET, IBV_QPT_RC,
	  RDMA_PS_TCP, false },
	{ "IPv6", "::1", "7471", 0, 0, IBV_QPT_RC, 0, 0, AF_INET6, IBV_QPT_RC, RDMA_PS_TCP, false },
	{ "a name", "localhost", "7471", 0, AF_INET, 0, RDMA_PS_UDP, 0, AF_INET, IBV_QPT_UD,
	  RDMA_PS_UDP, false },
	{ "datagrams", "127.0.0.1", NULL, 0, 0, IBV_QPT_UD, 0, 0, AF_INET, IBV_QPT_UD, RDMA_PS_UDP,
	  false },
	{ "IPoIB", "127.0.0.1", NULL, 0, 0, IBV_QPT_UD, RDMA_PS_IPOIB, 0, AF_INET, IBV_QPT_UD,
	  RDMA_PS_IPOIB, false },
	{ "XRC", "127.0.0.1", "7471", 0, 0, IBV_QPT_XRC_SEND, RDMA_PS_TCP, 0, AF_INET,
	  IBV_QPT_XRC_SEND, RDMA_PS_TCP, false },
	{ "the port space of IB", "127.0.0.1", "7471", 0, 0, IBV_QPT_RC, RDMA_PS_IB, 0, AF_INET,
	  IBV_QPT_RC, RDMA_PS_IB, false },
	{ "passive", "127.0.0.1", "7471", RAI_PASSIVE, 0, 0, RDMA_PS_TCP, 0, AF_INET, IBV_QPT_RC,
	  RDMA_PS_TCP, true },
	{ "passive, no node", NULL, "7471", RAI_PASSIVE, AF_INET, 0, RDMA_PS_TCP, 0, AF_INET,
	  IBV_QPT_RC, RDMA_PS_TCP, true },
	{ "a GID", "fe80::1", "7471", RAI_FAMILY | RAI_NUMERICHOST, AF_IB, 0, RDMA_PS_TCP, 0, AF_IB,
	  IBV_QPT_RC, RDMA_PS_TCP, false },
	{ "a name where a number is wanted", "localhost", NULL, RAI_NUMERICHOST, 0, 0, RDMA_PS_TCP,
	  EAI_NONAME, 0, 0, 0, false },
	{ "an unknown service", "127.0.0.1", "no-such-service", 0, 0, 0, RDMA_PS_TCP, EAI_SERVICE,
	  0, 0, 0, false },
	{ "an unknown address family", "127.0.0.1", NULL, 0, 99, 0, RDMA_PS_TCP, EAI_FAMILY, 0, 0,
	  0, false },
	{ "an address of another family", "127.0.0.1", NULL, 0, AF_INET6, 0, RDMA_PS_TCP,
	  EAI_ADDRFAMILY, 0, 0, 0, false },
	{ "datagrams in the port space of connections", "127.0.0.1", "7471", 0, 0, IBV_QPT_UD,
	  RDMA_PS_TCP, EAI_SOCKTYPE, 0, 0, 0, false },
};

static bool as_asked(const struct row *r, const struct rdma_addrinfo *res)
{
	const struct sockaddr *sa = r->passive ? res->ai_src_addr : res->ai_dst_addr;
	socklen_t len = r->passive ? res->ai_src_len : res->ai_dst_len;
	socklen_t other = r->passive ? res->ai_dst_len : res->ai_src_len;

	return res->ai_flags == (r->passive ? RAI_PASSIVE : 0) && res->ai_family == r->out_family &&
	       res->ai_qp_type == r->out_qp_type && res->ai_port_space == r->out_ps && sa && len &&
	       sa->sa_family == r->out_family && !other && !res->ai_route_len &&
	       !res->ai_connect_len && !res->ai_next;
}

static void test_row(const struct row *r)
{
	struct rdma_addrinfo hints = { .ai_flags = r->flags,
				       .ai_family = r->family,
				       .ai_qp_type = r->qp_type,
				       .ai_port_space = r->ps };
	struct rdma_addrinfo *res = NULL;
	int ret = rdma_getaddrinfo(r->node, r->service, &hints, &res);

	if (!ok(ret == r->ret, "%s: returns %d", r->what, ret) || ret)
		return;
	ok(as_asked(r, res), "%s: family %d, type %d, port space 0x%x", r->what, res->ai_family,
	   res->ai_qp_type, res->ai_port_space);
	rdma_freeaddrinfo(res);
}

static void test_hints_only(void)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_port = 1, .sin_addr.s_addr = 2 };
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_port = 3, .sin_addr.s_addr = 4 };
	struct rdma_addrinfo hints = { .ai_flags = RAI_NOROUTE,
				       .ai_family = AF_INET,
				       .ai_qp_type = IBV_QPT_UC,
				       .ai_port_space = RDMA_PS_IB,
				       .ai_src_len = sizeof(src),
				       .ai_dst_len = sizeof(dst),
				       .ai_src_addr = (struct sockaddr *)&src,
				       .ai_dst_addr = (struct sockaddr *)&dst };
	struct rdma_addrinfo *res;

	if (!ok(!rdma_getaddrinfo(NULL, NULL, &hints, &res), "hints alone"))
		return;
	ok(res->ai_flags == RAI_NOROUTE && res->ai_family == AF_INET &&
		   res->ai_qp_type == IBV_QPT_UC && res->ai_port_space == RDMA_PS_IB &&
		   res->ai_src_len == sizeof(src) && !memcmp(res->ai_src_addr, &src, sizeof(src)) &&
		   res->ai_dst_len == sizeof(dst) && !memcmp(res->ai_dst_addr, &dst, sizeof(dst)) &&
		   res->ai_src_addr != hints.ai_src_addr,
	   "are copied, addresses and all");
	rdma_freeaddrinfo(res);
	if (!ok(!rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), "a service and a node"))
		return;
	ok(res->ai_src_len == sizeof(src) && !memcmp(res->ai_src_addr, &src, sizeof(src)) &&
		   ((struct sockaddr_in *)res->ai_dst_addr)->sin_port == htons(7471),
	   "gives the source from the hints, the destination from the node");
	rdma_freeaddrinfo(res);
}

static void test_service_id(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE | RAI_FAMILY | RAI_NUMERICHOST,
				       .ai_family = AF_IB,
				       .ai_port_space = RDMA_PS_TCP };
	const struct sockaddr_ib *sib;
	struct rdma_addrinfo *res;

	if (!ok(!rdma_getaddrinfo("fe80::2", "7471", &hints, &res), "a GID to listen at"))
		return;
	sib = (const struct sockaddr_ib *)res->ai_src_addr;
	ok(res->ai_src_len == sizeof(*sib) && sib->sib_pkey == 0xffff &&
		   be64toh(sib->sib_sid) == 0x1060000ull + 7471 && sib->sib_sid_mask == ~0ull &&
		   sib->sib_addr.sib_raw[0] == 0xfe && sib->sib_addr.sib_raw[15] == 2,
	   "has its service id");
	rdma_freeaddrinfo(res);
}

int main(void)
{
	struct rdma_addrinfo *res;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_row(&rows[i]);
	test_hints_only();
	test_service_id();
	errno = 0;
	ok(rdma_getaddrinfo(NULL, NULL, NULL, &res) == -1 && errno == EINVAL,
	   "nothing at all: EINVAL");
	ok(!rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res) && res->ai_qp_type == IBV_QPT_RC &&
		   res->ai_port_space == RDMA_PS_TCP,
	   "without hints: connections");
	rdma_freeaddrinfo(res);
	return 0;
}
