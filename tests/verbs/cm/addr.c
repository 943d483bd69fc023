/* SPDX-License-Identifier: MIT */
/*
 * Addresses and port numbers of the rdma_cm: binding, resolution, options.
 *	app_cm_addr local|remote [ADDRESS]	ADDRESS: one of the host's that is not loopback
 */
#include "tests/lib/c/rc.h"
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define ID     RDMA_OPTION_ID
#define REUSE  RDMA_OPTION_ID_REUSEADDR
#define AFONLY RDMA_OPTION_ID_AFONLY
#define CH_A   0
#define CH_B   2

/* Identifiers of the second side begin here. */
#define B 8

static struct vb_side *a, *b;
static const char *host;

static void fresh(struct vb_side *s, int i, enum rdma_port_space ps)
{
	if (cm_create(s, i, s == b && i >= B ? CH_B : CH_A, ps))
		die("rdma_create_id fails");
}

static void gone(struct vb_side *s, int i)
{
	if (cm_destroy(s, i))
		die("rdma_destroy_id fails");
}

/* Bind one identifier of each side; the first must succeed. Return: what the second says. */
static int both(const char *first, const char *second, enum rdma_port_space ps, int reuse,
		int afonly)
{
	unsigned int port = 0;
	int ret;

	fresh(a, 0, RDMA_PS_TCP);
	fresh(b, B, ps);
	if (reuse && (cm_option(a, 0, ID, REUSE, 1, 4) || cm_option(b, B, ID, REUSE, 1, 4)))
		die("RDMA_OPTION_ID_REUSEADDR fails");
	if (afonly && (cm_option(a, 0, ID, AFONLY, 1, 4) || cm_option(b, B, ID, AFONLY, 1, 4)))
		die("RDMA_OPTION_ID_AFONLY fails");
	ret = cm_bind(a, 0, first, &port);
	if (ret || !port)
		die("rdma_bind_addr(%s): %s, port %u", first, strerror(ret), port);
	return cm_bind(b, B, second, &port);
}

static void unbind(void)
{
	gone(a, 0);
	gone(b, B);
}

static void test_conflicts(void)
{
	/* Loopback addresses are wildcards to the kernel. */
	is_errno(both("127.0.0.1", "127.0.0.1", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
		 "an address and port that is taken");
	unbind();
	is_errno(both("0.0.0.0", "127.0.0.1", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
		 "one that the wildcard has");
	unbind();
	is_errno(both("127.0.0.1", "0.0.0.0", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
		 "the wildcard, with the port taken");
	unbind();
	is_errno(both("::", "0.0.0.0", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
		 "IPv4's wildcard after IPv6's");
	unbind();
	is_errno(both("127.0.0.1", "127.0.0.2", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
		 "another loopback address, same port");
	unbind();
	if (host) {
		is_errno(both(host, host, RDMA_PS_TCP, 0, 0), EADDRINUSE, "the host's, twice");
		unbind();
		is_errno(both(host, "127.0.0.1", RDMA_PS_TCP, 0, 0), EADDRNOTAVAIL,
			 "the host's and a loopback one");
		unbind();
		ok(!both(host, host, RDMA_PS_TCP, 1, 0), "REUSEADDR: the host's");
		is_errno(cm_listen(b, B, 1), EADDRINUSE,
			 "the second of two that share a port may not listen");
		unbind();
	}
	ok(!both("127.0.0.1", "127.0.0.1", RDMA_PS_UDP, 0, 0), "another port space");
	unbind();
	ok(!both("::", "0.0.0.0", RDMA_PS_TCP, 0, 1), "AFONLY: both wildcards");
	ok(!cm_listen(a, 0, 1) && !cm_listen(b, B, 1), "both identifiers may listen");
	unbind();
	ok(!both("127.0.0.1", "127.0.0.1", RDMA_PS_TCP, 1, 0), "REUSEADDR: the same");
	is_errno(cm_listen(b, B, 1), EADDRNOTAVAIL,
		 "the second with the same address may not listen");
	unbind();
}

/* A wanted port; that of somebody who has gone is free again. */
static void test_ports(void)
{
	unsigned int first = 0, again, other = 0;

	fresh(a, 0, RDMA_PS_TCP);
	fresh(a, 1, RDMA_PS_TCP);
	ok(!cm_bind(a, 0, "127.0.0.1", &first) && !cm_bind(a, 1, "127.0.0.1", &other) && first &&
		   other && first != other,
	   "port 0: one that is free: %u, %u", first, other);
	gone(a, 0);
	fresh(b, B, RDMA_PS_TCP);
	again = first;
	ok(!cm_bind(b, B, "127.0.0.1", &again) && again == first, "a port that was given back");
	is_errno(cm_bind(b, B, "127.0.0.1", &again), EINVAL, "binding twice");
	gone(a, 1);
	gone(b, B);
	fresh(a, 0, RDMA_PS_TCP);
	again = 0;
	is_errno(cm_bind(a, 0, "192.0.2.77", &again), EADDRNOTAVAIL, "an address of nobody here");
	ok(!cm_bind(a, 0, "127.0.0.1", &again), "after which another may be bound");
	is_errno(cm_resolve(a, 0, NULL, "::1", 1), EINVAL, "resolving one of another family");
	gone(a, 0);
	fresh(a, 0, RDMA_PS_TCP);
	ok(!cm_listen(a, 0, 1), "rdma_listen without an address binds to one");
	is_errno(cm_listen(a, 0, 1), EINVAL, "rdma_listen again");
	gone(a, 0);
}

static int do_family(struct vb_side *s, void *arg)
{
	struct sockaddr_storage sa = { .ss_family = *(sa_family_t *)arg };

	(void)s;
	return rdma_bind_addr(cm_ids[0], (struct sockaddr *)&sa) ? errno : 0;
}

/* AF_IB: librdmacm binds such an address to find out whether the kernel knows the family. */
static void test_families(void)
{
	sa_family_t ib = 27, unix_ = AF_UNIX;

	fresh(a, 0, RDMA_PS_TCP);
	ok(vb_call(a, do_family, &ib, sizeof(ib)) > 0, "AF_IB is refused");
	is_errno(vb_call(a, do_family, &unix_, sizeof(unix_)), EINVAL, "AF_UNIX");
	gone(a, 0);
}

/* A wire asks nobody whether a host has an address. */
static void test_unknown_here(void)
{
	struct cm_ev ev;

	fresh(a, 0, RDMA_PS_TCP);
	ok(!cm_resolve(a, 0, NULL, "192.0.2.77", 1), "resolving an address of nobody");
	ok(cm_event(a, CH_A, VB_WAIT, CM_NONE, &ev) && ev.event == RDMA_CM_EVENT_ADDR_ERROR &&
		   ev.id == 0 && ev.status < 0,
	   "ADDR_ERROR, %d", ev.status);
	is_errno(cm_route(a, 0), EINVAL, "rdma_resolve_route then");
	ok(!cm_resolve(a, 0, NULL, "127.0.0.1", 1), "another try");
	cm_expect(a, CH_A, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, "ADDR_RESOLVED");
	gone(a, 0);
}

static void test_unknown(void)
{
	if (!rc_by_wire())
		test_unknown_here();
	fresh(a, 0, RDMA_PS_TCP);
	ok(cm_resolve(a, 0, "192.0.2.77", "127.0.0.1", 1) > 0,
	   "from an address of nobody: refused");
	gone(a, 0);
}

static void test_options(void)
{
	unsigned int port = 0;

	fresh(a, 0, RDMA_PS_TCP);
	ok(!cm_option(a, 0, ID, RDMA_OPTION_ID_TOS, 0x20, 1), "TOS");
	is_errno(cm_option(a, 0, ID, RDMA_OPTION_ID_TOS, 0x20, 4), EINVAL, "TOS of 4 bytes");
	ok(!cm_option(a, 0, ID, RDMA_OPTION_ID_ACK_TIMEOUT, 15, 1), "ACK_TIMEOUT");
	is_errno(cm_option(a, 0, ID, RDMA_OPTION_ID_ACK_TIMEOUT, 15, 4), EINVAL,
		 "ACK_TIMEOUT of 4 bytes");
	ok(!cm_option(a, 0, ID, REUSE, 1, 4), "REUSEADDR");
	is_errno(cm_option(a, 0, ID, REUSE, 1, 1), EINVAL, "REUSEADDR of 1 byte");
	ok(!cm_option(a, 0, ID, AFONLY, 0, 4), "AFONLY");
	is_errno(cm_option(a, 0, ID, AFONLY, 1, 1), EINVAL, "AFONLY of 1 byte");
	is_errno(cm_option(a, 0, ID, 99, 1, 4), ENOSYS, "no such option");
	is_errno(cm_option(a, 0, 99, 0, 1, 4), ENOSYS, "no such level");
	ok(!cm_bind(a, 0, "127.0.0.1", &port) && !cm_listen(a, 0, 1), "a listener");
	is_errno(cm_option(a, 0, ID, REUSE, 1, 4), EINVAL, "REUSEADDR of a listener");
	is_errno(cm_option(a, 0, ID, AFONLY, 1, 4), EINVAL, "AFONLY of a listener");
	gone(a, 0);
	fresh(a, 0, RDMA_PS_UDP);
	is_errno(cm_option(a, 0, ID, RDMA_OPTION_ID_ACK_TIMEOUT, 15, 1), EINVAL,
		 "ACK_TIMEOUT of datagrams");
	gone(a, 0);
}

static int do_local(struct vb_side *s, void *arg)
{
	struct sockaddr *sa = rdma_get_local_addr(cm_ids[0]);
	char *text = arg;

	(void)s;
	return !inet_ntop(sa->sa_family,
			  sa->sa_family == AF_INET
				  ? (void *)&((struct sockaddr_in *)sa)->sin_addr
				  : (void *)&((struct sockaddr_in6 *)sa)->sin6_addr,
			  text, INET6_ADDRSTRLEN);
}

/* A connection to a listener at @at by way of @to: which local address, whether it is found. */
static void reach(const char *at, const char *to, const char *wanted, bool found)
{
	char local[INET6_ADDRSTRLEN] = "";
	unsigned int port = cm_listening(b, B, CH_B, RDMA_PS_TCP, at, 4);
	struct cm_parm p = cm_parm(0, 0);

	cm_resolved(a, 0, CH_A, RDMA_PS_TCP, to, port);
	vb_call(a, do_local, local, sizeof(local));
	ok(!strcmp(local, wanted), "to %s: from %s", to, local);
	ok(!cm_qp(a, 0) && !cm_connect(a, 0, &p), "rdma_connect");
	if (found) {
		cm_expect(b, CH_B, B + 1, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, at);
		gone(b, B + 1);
	} else {
		cm_quiet(b, CH_B, "the listener does not hear of it");
	}
	/* Nobody at that port: 8. Somebody, but at another address: as if it had been refused. */
	cm_expect(a, CH_A, 0, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
	ok(!cm_qp_destroy(a, 0), "rdma_destroy_qp");
	gone(a, 0);
	gone(b, B);
}

/* Two processes of one node. */
static void test_here(void)
{
	test_conflicts();
	test_ports();
	reach("0.0.0.0", "127.0.0.1", "127.0.0.1", true);
	reach("127.0.0.1", "127.0.0.1", "127.0.0.1", true);
	reach("127.0.0.2", "127.0.0.1", "127.0.0.1", true);
	reach("::", "127.0.0.1", "127.0.0.1", true);
	reach("::", "::1", "::1", true);
	reach("::1", "::1", "::1", true);
	reach("0.0.0.0", "::1", "::1", false);
	if (host) {
		reach(host, host, host, true);
		reach(strchr(host, ':') ? "::" : "0.0.0.0", host, host, true);
		reach(host, "127.0.0.1", "127.0.0.1", false);
	}
}

/* Two nodes: each has its own port space. */
static void test_elsewhere(void)
{
	const char *from4 = vb_addr(a, false), *from6 = vb_addr(a, true);
	const char *to4 = vb_addr(b, false), *to6 = vb_addr(b, true);

	ok(!both("0.0.0.0", "0.0.0.0", RDMA_PS_TCP, 0, 0), "the port of another node");
	ok(!cm_listen(a, 0, 1) && !cm_listen(b, B, 1), "both identifiers may listen");
	unbind();
	ok(!both(from4, to4, RDMA_PS_TCP, 0, 0), "at their addresses");
	unbind();
	fresh(a, 0, RDMA_PS_TCP);
	is_errno(cm_bind(a, 0, to4, &(unsigned int){ 0 }), EADDRNOTAVAIL,
		 "the address of another node");
	gone(a, 0);
	reach("0.0.0.0", to4, from4, true);
	reach(to4, to4, from4, true);
	reach("::", to4, from4, true);
	reach("::", to6, from6, true);
	reach(to6, to6, from6, true);
	reach("0.0.0.0", to6, from6, false);
	/* A wildcard, like all loopback addresses. */
	reach("127.0.0.1", to4, from4, true);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		die("app_cm_addr local|remote [ADDRESS]");
	if (argc > 2)
		host = argv[2];
	cm_sides(argv[1], &a, &b);
	ok(!cm_chan(a, CH_A) && !cm_chan(b, CH_B), "rdma_create_event_channel");
	test_families();
	test_unknown();
	test_options();
	if (peer_elsewhere())
		test_elsewhere();
	else
		test_here();
	ok(!cm_chan_close(a, CH_A) && !cm_chan_close(b, CH_B), "rdma_destroy_event_channel");
	cm_sides_end(a, b);
	return tap_failed != 0;
}
