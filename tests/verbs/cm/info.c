/* SPDX-License-Identifier: MIT */
/* rdma_getaddrinfo: names, numbers, services, hints. */
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

static struct rdma_addrinfo *res;

static int look(const char *node, const char *service, int flags, int ps, int qp_type, int family)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = ps,
		.ai_qp_type = qp_type,
		.ai_family = family,
	};

	res = NULL;
	errno = 0;
	return rdma_getaddrinfo(node, service, &hints, &res);
}

static bool is_addr(const struct sockaddr *sa, socklen_t len, const char *ip, unsigned int port)
{
	struct sockaddr_storage want;
	socklen_t n = cm_addr(ip, port, &want);

	if (!sa || len != n || sa->sa_family != want.ss_family)
		return false;
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *got = (const struct sockaddr_in *)sa;
		const struct sockaddr_in *in = (const struct sockaddr_in *)&want;

		return got->sin_port == in->sin_port && got->sin_addr.s_addr == in->sin_addr.s_addr;
	}
	return ((const struct sockaddr_in6 *)sa)->sin6_port ==
		       ((const struct sockaddr_in6 *)&want)->sin6_port &&
	       !memcmp(&((const struct sockaddr_in6 *)sa)->sin6_addr,
		       &((const struct sockaddr_in6 *)&want)->sin6_addr, 16);
}

static void done(void)
{
	if (res)
		rdma_freeaddrinfo(res);
	res = NULL;
}

static void test_active(void)
{
	ok(!look("127.0.0.1", "7471", 0, RDMA_PS_TCP, 0, 0), "127.0.0.1, 7471");
	ok(res->ai_family == AF_INET && res->ai_port_space == RDMA_PS_TCP &&
		   res->ai_qp_type == IBV_QPT_RC,
	   "RDMA_PS_TCP means RC");
	ok(is_addr(res->ai_dst_addr, res->ai_dst_len, "127.0.0.1", 7471), "the destination");
	ok(!(res->ai_flags & RAI_PASSIVE), "is not passive");
	done();
	ok(!look("::1", "7471", 0, RDMA_PS_UDP, 0, 0), "::1");
	ok(res->ai_family == AF_INET6 && res->ai_port_space == RDMA_PS_UDP &&
		   res->ai_qp_type == IBV_QPT_UD,
	   "RDMA_PS_UDP means UD");
	ok(is_addr(res->ai_dst_addr, res->ai_dst_len, "::1", 7471), "the destination");
	done();
	ok(!look("127.0.0.1", "7471", 0, 0, IBV_QPT_UD, 0), "a type of QP alone");
	ok(res->ai_port_space == RDMA_PS_UDP && res->ai_qp_type == IBV_QPT_UD,
	   "UD means RDMA_PS_UDP");
	done();
	ok(!look("localhost", "7471", 0, RDMA_PS_TCP, 0, 0) && res->ai_dst_addr, "localhost");
	done();
	ok(!look("127.0.0.1", "7471", RAI_NUMERICHOST | RAI_NOROUTE, RDMA_PS_TCP, 0, 0) &&
		   is_addr(res->ai_dst_addr, res->ai_dst_len, "127.0.0.1", 7471),
	   "RAI_NUMERICHOST, RAI_NOROUTE");
	done();
	errno = 0;
	ok(!rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res) && res->ai_dst_addr, "no hints");
	done();
}

static void test_passive(void)
{
	ok(!look("127.0.0.1", "7471", RAI_PASSIVE, RDMA_PS_TCP, 0, 0), "RAI_PASSIVE");
	ok(res->ai_flags & RAI_PASSIVE, "the flag comes back");
	ok(is_addr(res->ai_src_addr, res->ai_src_len, "127.0.0.1", 7471) && !res->ai_dst_len,
	   "a source and no destination");
	done();
	ok(!look(NULL, "7471", RAI_PASSIVE, RDMA_PS_TCP, 0, 0) && res->ai_src_len, "no node");
	ok(is_addr(res->ai_src_addr, res->ai_src_len,
		   res->ai_family == AF_INET ? "0.0.0.0" : "::", 7471),
	   "the wildcard");
	done();
	ok(!look(NULL, "7471", RAI_PASSIVE | RAI_FAMILY, RDMA_PS_TCP, 0, AF_INET6) &&
		   is_addr(res->ai_src_addr, res->ai_src_len, "::", 7471),
	   "RAI_FAMILY: IPv6's");
	done();
}

static void test_source(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct sockaddr_storage src;

	hints.ai_src_len = cm_addr("127.0.0.1", 7777, &src);
	hints.ai_src_addr = (struct sockaddr *)&src;
	ok(!rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), "a source in the hints");
	ok(is_addr(res->ai_src_addr, res->ai_src_len, "127.0.0.1", 7777) &&
		   is_addr(res->ai_dst_addr, res->ai_dst_len, "127.0.0.1", 7471),
	   "is returned next to the destination");
	done();
}

static void test_errors(void)
{
	int ret;

	errno = 0;
	ret = rdma_getaddrinfo(NULL, NULL, NULL, &res);
	ok(ret == -1 && errno == EINVAL, "nothing at all: -1, EINVAL (%d, %s)", ret,
	   strerror(errno));
	ret = look("localhost", "7471", RAI_NUMERICHOST, RDMA_PS_TCP, 0, 0);
	ok(ret == EAI_NONAME, "a name with RAI_NUMERICHOST: EAI_NONAME (%d)", ret);
	ret = look("127.0.0.1", "no such service", 0, RDMA_PS_TCP, 0, 0);
	ok(ret == EAI_SERVICE || ret == EAI_NONAME, "no such service: %d", ret);
	ret = look("::1", "7471", RAI_FAMILY | RAI_NUMERICHOST, RDMA_PS_TCP, 0, AF_INET);
	ok(ret == EAI_ADDRFAMILY || ret == EAI_NONAME, "an address of another family: %d", ret);
}

int main(void)
{
	test_active();
	test_passive();
	test_source();
	test_errors();
	return tap_failed != 0;
}
