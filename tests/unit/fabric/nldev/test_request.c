/* SPDX-License-Identifier: MIT */
/*
 * Netlink requests: each datagram that comes out is well-formed, whatever came in.
 */
#include "fabric/nldev/model.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <stdlib.h>

#define NOISE  200000
#define ROUNDS 100000 /* datagrams that one request may have, at most */

static struct emu *m;
static struct nldev n;
static u32 messages, errors, dones;
static int last_error;
static u64 seed = 88172645463325252u;

static u32 any_number(void)
{
	return (u32)(emu_rnd(&seed) >> 32);
}

/* Whether attributes fill @len bytes exactly. */
static bool attrs_are_sound(const u8 *at, u32 len)
{
	struct nlattr a;

	while (len) {
		if (len < sizeof(a))
			return false;
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || ALIGN_UP((u32)a.nla_len, 4u) > len || !a.nla_type ||
		    a.nla_type >= NLA_WANTED)
			return false;
		len -= ALIGN_UP((u32)a.nla_len, 4u);
		at += ALIGN_UP((u32)a.nla_len, 4u);
	}
	return true;
}

static void message_count(const struct nlmsghdr *h)
{
	messages++;
	dones += h->nlmsg_type == NLMSG_DONE;
	errors += h->nlmsg_type == NLMSG_ERROR;
	if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
		memcpy(&last_error, NLMSG_DATA(h), sizeof(last_error));
	else
		CU_ASSERT(attrs_are_sound(NLMSG_DATA(h), h->nlmsg_len - NLMSG_HDRLEN));
	CU_ASSERT_EQUAL(h->nlmsg_pid, 4711);
}

/* Serve what is in @n.in and check each datagram. */
static void serve(u32 len)
{
	u32 rounds = 0, at;

	messages = errors = dones = 0;
	last_error = 1;
	n.in_len = len;
	n.in_pos = 0;
	while (nldev_next(&n, m->hca)) {
		CU_ASSERT_FATAL(++rounds < ROUNDS);
		CU_ASSERT_FATAL(n.out_len && n.out_len <= NLDEV_OUT);
		for (at = 0; at < n.out_len;) {
			const struct nlmsghdr *h = (const struct nlmsghdr *)(n.out + at);

			CU_ASSERT_FATAL(n.out_len - at >= NLMSG_HDRLEN);
			CU_ASSERT_FATAL(h->nlmsg_len >= NLMSG_HDRLEN);
			CU_ASSERT_FATAL(ALIGN_UP(h->nlmsg_len, 4u) <= n.out_len - at);
			message_count(h);
			at += ALIGN_UP(h->nlmsg_len, 4u);
		}
	}
	CU_ASSERT(!n.in_len && !n.full && !n.dump.on && !n.ack.due);
}

/* Put a request without attributes at @at. Return: its end. */
static u32 request_put(u32 at, u32 cmd, u32 flags)
{
	struct nlmsghdr h = { NLMSG_HDRLEN, (u16)(NLDEV_CLIENT << 10 | cmd),
			      (u16)(NLM_F_REQUEST | flags), 1, 0 };

	memcpy(n.in + at, &h, sizeof(h));
	return at + NLMSG_HDRLEN;
}

static u32 attr_put(u32 at, u32 type, u32 value)
{
	struct nlattr a = { NLA_HDRLEN + sizeof(value), (u16)type };
	struct nlmsghdr *h = (struct nlmsghdr *)n.in;

	memcpy(n.in + at, &a, sizeof(a));
	memcpy(n.in + at + NLA_HDRLEN, &value, sizeof(value));
	h->nlmsg_len += a.nla_len;
	return at + a.nla_len;
}

static u32 dev_request(u32 cmd, u32 flags)
{
	return attr_put(request_put(0, cmd, flags), NLA_DEV_INDEX, 0);
}

static void test_replies(void)
{
	serve(dev_request(NLC_GET, 0));
	CU_ASSERT(messages == 1 && !errors);
	serve(dev_request(NLC_GET, NLM_F_ACK));
	CU_ASSERT(messages == 2 && errors == 1 && !last_error);
	serve(attr_put(request_put(0, NLC_GET, 0), NLA_DEV_INDEX, 1));
	CU_ASSERT(messages == 1 && last_error == -EINVAL);
	serve(attr_put(dev_request(NLC_PORT_GET, 0), NLA_PORT_INDEX, 1));
	CU_ASSERT(messages == 1 && !errors);
	serve(attr_put(dev_request(NLC_PORT_GET, 0), NLA_PORT_INDEX, 99));
	CU_ASSERT(last_error == -EINVAL);
	serve(dev_request(NLC_GET, NLM_F_DUMP));
	CU_ASSERT(messages == 2 && dones == 1 && !last_error);
	serve(request_put(0, NLC_RES_QP_GET, NLM_F_DUMP));
	CU_ASSERT(messages == 1 && dones == 1 && last_error == -EINVAL);
	serve(request_put(request_put(0, NLC_SYS_GET, 0), NLC_SYS_GET, NLM_F_ACK));
	CU_ASSERT(messages == 3 && errors == 1 && !last_error);
	serve(request_put(0, NLC_SET, 0));
	CU_ASSERT(last_error == -EPERM);
	n.admin = true;
	serve(request_put(0, NLC_SET, 0));
	CU_ASSERT(last_error == -EOPNOTSUPP);
	n.admin = false;
}

static void test_objects(void)
{
	struct emu_qp a, b;
	u32 i;

	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	serve(attr_put(dev_request(NLC_RES_QP_GET, 0), NLA_RES_LQPN, a.qpn));
	CU_ASSERT_EQUAL(last_error, -EINVAL); /* not without a port */
	serve(attr_put(attr_put(dev_request(NLC_RES_QP_GET, 0), NLA_RES_LQPN, a.qpn),
		       NLA_PORT_INDEX, 1));
	CU_ASSERT(messages == 1 && !errors);
	serve(attr_put(attr_put(dev_request(NLC_RES_QP_GET, 0), NLA_RES_LQPN, 0xffffff),
		       NLA_PORT_INDEX, 1));
	CU_ASSERT_EQUAL(last_error, -ENOENT);
	for (i = 0; i < 500; i++)
		emu_cq_new(m, 2, 2);
	serve(dev_request(NLC_RES_CQ_GET, NLM_F_DUMP));
	CU_ASSERT(messages > 3 && dones == 1 && !last_error);
	serve(attr_put(dev_request(NLC_STAT_GET, NLM_F_DUMP), NLA_STAT_RES, NLA_RES_QP));
	CU_ASSERT(messages == 1 && dones == 1);
	serve(attr_put(dev_request(NLC_STAT_GET, 0), NLA_PORT_INDEX, 1));
	CU_ASSERT(messages == 1 && !errors);
}

/* A request for the node of a kind of interface, by name. */
static void chardev(const char *name, u32 len)
{
	struct nlattr a = { (u16)(NLA_HDRLEN + len), NLA_CHARDEV_TYPE };
	struct nlmsghdr *h = (struct nlmsghdr *)n.in;
	u32 at = dev_request(NLC_GET_CHARDEV, 0);

	memcpy(n.in + at, &a, sizeof(a));
	memcpy(n.in + at + NLA_HDRLEN, name, len);
	h->nlmsg_len += a.nla_len;
	serve(h->nlmsg_len);
}

static void test_chardev(void)
{
	chardev("uverbs", 7);
	CU_ASSERT(messages == 1 && !errors);
	chardev("uverbs", 6);
	CU_ASSERT_EQUAL(last_error, -ENODEV);
	chardev("u", 1);
	CU_ASSERT_EQUAL(last_error, -ENODEV);
	chardev("rdma_cm", 8);
	CU_ASSERT_EQUAL(last_error, -ENODEV);
	serve(dev_request(NLC_GET_CHARDEV, 0));
	CU_ASSERT_EQUAL(last_error, -EINVAL);
}

static void test_truncated(void)
{
	u32 len = attr_put(dev_request(NLC_PORT_GET, 0), NLA_PORT_INDEX, 1), cut;
	struct nlmsghdr *h = (struct nlmsghdr *)n.in;

	/* The datagram is shorter than it says. */
	for (cut = 0; cut < len; cut++) {
		serve(cut);
		CU_ASSERT_EQUAL(messages, 0);
	}
	/* The message itself is. */
	for (cut = NLMSG_HDRLEN; cut < len; cut++) {
		h->nlmsg_len = cut;
		serve(cut);
		CU_ASSERT(messages == 1 && last_error == -EINVAL);
	}
	/* The attribute has less than its type needs. */
	attr_put(request_put(0, NLC_GET, 0), NLA_DEV_INDEX, 0);
	((struct nlattr *)(n.in + NLMSG_HDRLEN))->nla_len = NLA_HDRLEN + 2;
	serve(h->nlmsg_len);
	CU_ASSERT(messages == 1 && last_error == -EINVAL);
	/* It is the longest that fits. */
	request_put(0, NLC_GET, 0);
	h->nlmsg_len = NLDEV_IN;
	memset(n.in + NLMSG_HDRLEN, 0xff, NLDEV_IN - NLMSG_HDRLEN);
	serve(NLDEV_IN);
	CU_ASSERT(messages == 1 && last_error == -EINVAL);
}

static void test_noise(void)
{
	u32 i, k, len;

	for (i = 0; i < NOISE; i++) {
		n.admin = any_number() & 1;
		len = attr_put(
			dev_request(any_number() % 27, any_number() % 2 ? NLM_F_DUMP : NLM_F_ACK),
			NLA_PORT_INDEX, any_number() % 3);
		len = attr_put(len, any_number() % NLA_WANTED, any_number() % 40);
		for (k = any_number() % 3; k; k--)
			n.in[any_number() % len] = (u8)any_number();
		serve(len - (any_number() % 8 ? 0 : any_number() % len));
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "replies, acknowledgements, ends of dumps", test_replies },
		{ "objects, one and all", test_objects },
		{ "device nodes by name", test_chardev },
		{ "truncated requests are refused", test_truncated },
		{ "noise breaks nothing", test_noise },
		{ NULL, NULL },
	};
	int ret;

	m = emu_new(1);
	if (!m)
		return 2;
	n.portid = 4711;
	ret = cu_run("nldev", tests);
	emu_free(m);
	return ret;
}
