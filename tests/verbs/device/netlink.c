/* SPDX-License-Identifier: MIT */
/*
 * NETLINK_RDMA: what rdma(8) prints of this program's objects, and the socket itself.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MANY	    400 /* CQs, more than one datagram has */
#define TYPE_OF(op) (5 << 10 | (op)) /* nldev */

static struct vb_side *s;
static char text[1 << 20];

/* Run rdma(8). Return: whether it succeeds; its output is in text[]. */
static bool rdma(const char *args)
{
	char cmd[128];
	size_t n;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "rdma -j %s", args);
	f = popen(cmd, "r");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	return !pclose(f);
}

/* How often the output has a member; white space in it does not count. */
static unsigned int times(const char *fmt, ...)
{
	static char plain[sizeof(text)];
	char want[256], *to = plain;
	unsigned int n = 0;
	const char *at;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	for (at = text; *at; at++)
		if (*at != ' ' && *at != '\n' && *at != '\t')
			*to++ = *at;
	*to = '\0';
	for (at = plain; (at = strstr(at, want)); at++)
		n++;
	return n;
}

static void test_objects(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_qp *qp[2];
	int pid = getpid();
	int i;

	ok(!vb_srq(s, 0, 10, 1, false), "an SRQ is made");
	spec.srq = 1;
	ok(!vb_link(s, 0, &spec, s, 1, &spec), "two queue pairs are connected");
	for (i = 0; i < 2; i++)
		qp[i] = s->qp[i].qp;
	ok(rdma("resource show qp") && times("\"pid\":%d,", pid) == 2, "both are shown");
	ok(times("\"lqpn\":%u,\"rqpn\":%u,\"type\":\"RC\",\"state\":\"RTS\"", qp[0]->qp_num,
		 qp[1]->qp_num) == 1,
	   "one with its peer and state");
	ok(times("\"lqpn\":%u,\"rqpn\":%u,", qp[1]->qp_num, qp[0]->qp_num) == 1, "and the other");
	ok(times("\"comm\":\"%.15s\"", program_invocation_short_name) == 2, "with the command");
	vb_to_state(s, 1, IBV_QPS_ERR);
	ok(rdma("resource show qp") && times("\"state\":\"ERR\"") == 1, "a state that has changed");
	ok(rdma("resource show mr") && times("\"mrlen\":%u", VB_BUF) == 1 &&
		   times("\"pid\":%d,", pid) == 1,
	   "the region");
	ok(times("\"rkey\":") == (geteuid() ? 0 : 1), "its key is for root only");
	ok(rdma("resource show pd") && times("\"pid\":%d,", pid) == 1, "the protection domain");
	ok(rdma("resource show ctx") && times("\"pid\":%d,", pid) == 1, "the context");
	ok(rdma("resource show srq") && times("\"type\":\"BASIC\"") == 1, "the SRQ");
	ok(rdma("resource show cq") && times("\"pid\":%d,", pid) > 0, "completion queues");
	ok(rdma("resource") && times("\"qp\":2,") == 1 && times("\"mr\":1,") == 1, "the summary");
	vb_destroy(s, 1);
	ok(rdma("resource show qp") && times("\"pid\":%d,", pid) == 1, "one that has gone is not");
	vb_destroy(s, 0);
	vb_srq_destroy(s, 0);
}

static void test_many(void)
{
	static struct ibv_cq *cq[MANY];
	int i;

	for (i = 0; i < MANY; i++)
		cq[i] = ibv_create_cq(s->ctx, 1, NULL, NULL, 0);
	ok(cq[MANY - 1] && rdma("resource show cq") && times("\"pid\":%d,", getpid()) == MANY,
	   "a dump of many datagrams is whole");
	for (i = 0; i < MANY; i++)
		if (cq[i])
			ibv_destroy_cq(cq[i]);
}

static void test_ports(void)
{
	const char *name = ibv_get_device_name(s->ctx->device);

	ok(rdma("link show") && times("\"ifname\":\"%s\",\"port\":1,", name) == 1 &&
		   times("\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"") == 1,
	   "the port");
	ok(times("\"netdev\":") == 1, "and its interface");
	ok(rdma("dev show") &&
		   times("\"ifindex\":0,\"ifname\":\"%s\",\"node_type\":\"ca\"", name) == 1,
	   "the device");
	ok(rdma("statistic show") && times("\"sent_pkts\":") == 1, "the port's counters");
	ok(rdma("statistic mode") == true, "the counters' mode");
	ok(rdma("system show") && strstr(text, "netns") && strstr(text, "shared"), "the system");
}

struct reply {
	struct nlmsghdr h;
	int err;
	char rest[8192];
};

/* Send a request of a type and receive the answer. Return: its bytes. */
static ssize_t ask(int fd, uint16_t type, uint16_t flags, struct reply *r, struct msghdr *m)
{
	struct nlmsghdr h = { sizeof(h), type, NLM_F_REQUEST | flags, 7, 0 };
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct iovec iov = { r, sizeof(*r) };
	ssize_t n = -1;

	m->msg_iov = &iov;
	m->msg_iovlen = 1;
	memset(r, 0, sizeof(*r));
	if (sendto(fd, &h, sizeof(h), 0, (struct sockaddr *)&to, sizeof(to)) == sizeof(h))
		n = recvmsg(fd, m, 0);
	m->msg_iov = NULL;
	m->msg_iovlen = 0;
	return n;
}

static void test_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA), one = 1, value = 0;
	struct sockaddr_nl me = { .nl_family = AF_NETLINK }, from = { .nl_family = AF_UNSPEC };
	socklen_t len = sizeof(me), vlen = sizeof(value);
	struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from) };
	struct pollfd p = { fd, POLLIN, 0 };
	struct reply r;

	ok(fd >= 0 && !bind(fd, (struct sockaddr *)&me, sizeof(me)), "a socket is bound");
	ok(!getsockname(fd, (struct sockaddr *)&me, &len) && len == sizeof(me) &&
		   me.nl_family == AF_NETLINK && me.nl_pid,
	   "and has a netlink address");
	ok(!setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one)) &&
		   !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &vlen) && value == AF_NETLINK,
	   "options are netlink's");
	ok(ask(fd, TYPE_OF(1), NLM_F_DUMP, &r, &m) > 0 && r.h.nlmsg_type == TYPE_OF(1) &&
		   r.h.nlmsg_seq == 7 && r.h.nlmsg_pid == me.nl_pid,
	   "a dump of devices begins with one");
	ok(m.msg_namelen == sizeof(from) && from.nl_family == AF_NETLINK && !from.nl_pid,
	   "it comes from the kernel's address");
	ok(poll(&p, 1, VB_WAIT) == 1 && recv(fd, &r, sizeof(r), 0) >= 20 &&
		   r.h.nlmsg_type == NLMSG_DONE && !r.err,
	   "and ends with NLMSG_DONE");
	ok(ask(fd, TYPE_OF(1), 0, &r, &m) > 0 && r.h.nlmsg_type == NLMSG_ERROR && r.err == -EINVAL,
	   "a request without a device is invalid");
	ok(ask(fd, TYPE_OF(100), 0, &r, &m) > 0 && r.err == -EINVAL, "as is an unknown one");
	ok(ask(fd, TYPE_OF(3), 0, &r, &m) > 0 && r.err == (geteuid() ? -EPERM : -EOPNOTSUPP),
	   "a new link is refused");
	ok(send(fd, &r, 5, 0) == 5 && ask(fd, TYPE_OF(6), NLM_F_ACK, &r, &m) > 0 &&
		   r.h.nlmsg_type == TYPE_OF(6) && recv(fd, &r, sizeof(r), 0) > 0 &&
		   r.h.nlmsg_type == NLMSG_ERROR && !r.err,
	   "a malformed datagram has no answer, the next one has two");
	close(fd);
}

int main(void)
{
	s = vb_local();
	vb_open(s);
	test_ports();
	test_objects();
	test_many();
	test_socket();
	return tap_failed != 0;
}
