/* SPDX-License-Identifier: MIT */
/* Identifiers of connection management: addresses, ports, options, routes. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cmid.h"

#define UDP_QKEY 0x01234567u

static struct emu *m;
static u32 ch;

static void begin(void)
{
	m = emu_fabric(1);
	ch = emu_chan(m, 0, 1);
}

static void end(void)
{
	CU_ASSERT_TRUE(emu_sound(m));
	emu_free(m);
}

static u32 tcp(u64 uid)
{
	return emu_id_new(m, 0, ch, CM_PS_TCP, uid);
}

static struct cmd_cm query(u32 id)
{
	struct cmd_cm c = { 0 };

	CU_ASSERT_EQUAL_FATAL(emu_do(m, 0, CMD_CM_QUERY, id, &c), 0);
	return c;
}

static bool same_ip(const struct cm_addr *a, const char *ip)
{
	struct cm_addr b = emu_ip(ip, 0);

	return a->family == b.family && !memcmp(a->ip, b.ip, 16);
}

static void test_create(void)
{
	struct cmd_cm c = { .uid = 1 };

	begin();
	c.ch = ch;
	c.ps = 0x1234;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_CREATE_ID, 0, &c), -EINVAL);
	c.ps = CM_PS_IB;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_CREATE_ID, 0, &c), -EINVAL);
	c.qp_type = QPT_XRC_SEND;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_CREATE_ID, 0, &c), 0);
	/* Another's channel. */
	CU_ASSERT_EQUAL(emu_do(m, 1, CMD_CM_CREATE_ID, 0, &c), -EINVAL);
	CU_ASSERT_EQUAL(m->hca->cmid[tcp(1)].qp_type, QPT_RC);
	CU_ASSERT_EQUAL(m->hca->cmid[emu_id_new(m, 0, ch, CM_PS_UDP, 1)].qp_type, QPT_UD);
	CU_ASSERT_EQUAL(m->hca->cmid[emu_id_new(m, 0, ch, CM_PS_IPOIB, 1)].qp_type, QPT_UD);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_CLOSE_CHAN, ch, NULL), -EBUSY);
	end();
}

/* The result of a bind, and the device that it selects: -1: none. */
static void test_bind(void)
{
	static const struct {
		const char *ip;
		int ret, dev, index;
	} tries[] = {
		{ "192.0.2.1", 0, 0, 0 },
		{ "198.51.100.7", 0, 0, 1 },
		{ "2001:db8::1", 0, 0, 2 },
		{ "fe80::7%3", 0, 0, 3 },
		{ "0.0.0.0", 0, -1, 0 },
		{ "::", 0, -1, 0 },
		{ "127.0.0.1", 0, -1, 0 },
		{ "127.1.2.3", 0, -1, 0 },
		{ "::1", 0, -1, 0 },
		{ "203.0.113.1", -EADDRNOTAVAIL, -1, 0 },
		{ "2001:db8::9", -EADDRNOTAVAIL, -1, 0 },
		{ "192.0.2.2", -EADDRNOTAVAIL, -1, 0 }, /* of another node */
		{ "::ffff:192.0.2.1", -EADDRNOTAVAIL, -1, 0 },
		{ "fe80::7", -EINVAL, -1, 0 },
		{ "fe80::7%2", -ENODEV, -1, 0 },
		{ "fe80::8%3", -ENODEV, -1, 0 },
	};
	struct cmd_cm c, none = { .src = { .family = 27 } };
	u32 id;

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		id = tcp(1);
		CU_ASSERT_EQUAL(emu_bind(m, 0, id, tries[i].ip, 0), tries[i].ret);
		c = query(id);
		CU_ASSERT_EQUAL((int)c.dev, tries[i].dev + 1);
		CU_ASSERT_EQUAL(c.n_paths, 0);
		if (tries[i].ret) {
			CU_ASSERT_EQUAL(c.src.family, 0);
			continue;
		}
		CU_ASSERT_TRUE(same_ip(&c.src, tries[i].ip));
		CU_ASSERT_TRUE(c.src.port >= 32768 && c.src.port <= 60999);
		CU_ASSERT_EQUAL(m->hca->cmid[id].sgid_index, tries[i].index);
		/* Only once. */
		CU_ASSERT_EQUAL(emu_bind(m, 0, id, tries[i].ip, 0), -EINVAL);
	}
	id = tcp(1);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_BIND, id, &none), -EAFNOSUPPORT);
	CU_ASSERT_EQUAL(emu_bind(m, 0, id, "192.0.2.1", 80), 0);
	end();
}

/* Which binds may share a port number. */
static void test_conflicts(void)
{
	static const struct {
		const char *first, *second;
		bool reuse1, reuse2, v6only;
		int ret;
	} tries[] = {
		{ "192.0.2.1", "192.0.2.1", false, false, false, -EADDRINUSE },
		{ "192.0.2.1", "192.0.2.1", true, false, false, -EADDRINUSE },
		{ "192.0.2.1", "192.0.2.1", false, true, false, -EADDRINUSE },
		{ "192.0.2.1", "192.0.2.1", true, true, false, 0 },
		{ "192.0.2.1", "198.51.100.7", false, false, false, 0 },
		{ "192.0.2.1", "2001:db8::1", false, false, false, 0 },
		{ "192.0.2.1", "0.0.0.0", false, false, false, -EADDRNOTAVAIL },
		{ "0.0.0.0", "192.0.2.1", false, false, false, -EADDRNOTAVAIL },
		{ "0.0.0.0", "192.0.2.1", true, true, false, 0 },
		{ "0.0.0.0", "127.0.0.1", false, false, false, -EADDRNOTAVAIL },
		{ "127.0.0.1", "127.0.0.1", false, false, false, -EADDRNOTAVAIL },
		{ "0.0.0.0", "::", false, false, false, -EADDRNOTAVAIL },
		{ "0.0.0.0", "::", false, false, true, 0 },
		{ "::", "0.0.0.0", false, false, false, -EADDRNOTAVAIL },
		{ "192.0.2.1", "::", false, false, false, -EADDRNOTAVAIL },
		{ "192.0.2.1", "::", false, false, true, 0 },
	};

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		u32 a = tcp(1), b = tcp(2);

		if (tries[i].reuse1)
			CU_ASSERT_EQUAL(emu_option(m, 0, a, 1, 1, 4), 0);
		if (tries[i].reuse2)
			CU_ASSERT_EQUAL(emu_option(m, 0, b, 1, 1, 4), 0);
		if (tries[i].v6only)
			CU_ASSERT_EQUAL(emu_option(m, 0, b, 2, 1, 4), 0);
		CU_ASSERT_EQUAL(emu_bind(m, 0, a, tries[i].first, 7000), 0);
		CU_ASSERT_EQUAL(emu_bind(m, 0, b, tries[i].second, 7000), tries[i].ret);
		CU_ASSERT_TRUE(emu_sound(m));
		emu_do(m, 0, CMD_CM_DESTROY_ID, a, NULL);
		emu_do(m, 0, CMD_CM_DESTROY_ID, b, NULL);
	}
	/* Spaces have their own numbers. */
	CU_ASSERT_EQUAL(emu_bind(m, 0, tcp(1), "0.0.0.0", 7000), 0);
	CU_ASSERT_EQUAL(emu_bind(m, 0, emu_id_new(m, 0, ch, CM_PS_UDP, 2), "0.0.0.0", 7000), 0);
	end();
}

static void test_listen(void)
{
	struct cmd_cm c = { .backlog = 5 };
	struct cm_addr to = emu_ip("192.0.2.1", 7000);
	struct hca *h;
	u32 a, b, v6;

	begin();
	h = m->hca;
	a = tcp(1);
	b = tcp(2);
	v6 = tcp(3);
	emu_option(m, 0, a, 1, 1, 4);
	emu_option(m, 0, b, 1, 1, 4);
	CU_ASSERT_EQUAL(emu_bind(m, 0, a, "0.0.0.0", 7000), 0);
	CU_ASSERT_EQUAL(emu_bind(m, 0, b, "192.0.2.1", 7000), 0);
	/* Shared numbers are not for listening. */
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, a, &c), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_DESTROY_ID, b, NULL), 0);
	CU_ASSERT_PTR_NULL(cm_listener_find(h, 0, CM_PS_TCP, &to));
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, a, &c), 0);
	CU_ASSERT_EQUAL(h->cmid[a].backlog, 5);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, a, &c), -EINVAL);
	CU_ASSERT_PTR_EQUAL(cm_listener_find(h, 0, CM_PS_TCP, &to), &h->cmid[a]);
	CU_ASSERT_PTR_NULL(cm_listener_find(h, 0, CM_PS_UDP, &to));
	CU_ASSERT_PTR_NULL(cm_listener_find(h, 1, CM_PS_TCP, &to));
	to = emu_ip("2001:db8::1", 7000);
	CU_ASSERT_PTR_NULL(cm_listener_find(h, 0, CM_PS_TCP, &to));
	CU_ASSERT_TRUE(cm_port_has_listener(h, 0, CM_PS_TCP, 7000));
	/* IPv6 is for both, if it is not told otherwise. */
	CU_ASSERT_EQUAL(emu_bind(m, 0, v6, "::", 7001), 0);
	c.backlog = 0;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, v6, &c), 0);
	CU_ASSERT_EQUAL(h->cmid[v6].backlog, 16384);
	to = emu_ip("192.0.2.1", 7001);
	CU_ASSERT_PTR_EQUAL(cm_listener_find(h, 0, CM_PS_TCP, &to), &h->cmid[v6]);
	/* Unbound: a number of its own. */
	b = tcp(4);
	c.backlog = 100000;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_LISTEN, b, &c), 0);
	CU_ASSERT_TRUE(same_ip(&h->cmid[b].src, "0.0.0.0") && h->cmid[b].src.port >= 32768);
	CU_ASSERT_EQUAL(h->cmid[b].backlog, 16384);
	end();
}

static void test_options(void)
{
	u32 id, ud;

	begin();
	id = tcp(1);
	ud = emu_id_new(m, 0, ch, CM_PS_UDP, 2);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 0, 8, 4), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 0, 8, 1), 0);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 1, 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 2, 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 3, 14, 4), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 3, 14, 1), 0);
	CU_ASSERT_EQUAL(emu_option(m, 0, ud, 3, 14, 1), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 4, 0, 1), -ENOSYS);
	CU_ASSERT_EQUAL(emu_bind(m, 0, id, "0.0.0.0", 0), 0);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 1, 1, 4), 0);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 1, 0, 4), -EINVAL);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 2, 0, 4), 0);
	CU_ASSERT_EQUAL(emu_resolve(m, 0, id, NULL, "192.0.2.2", 7), 0);
	CU_ASSERT_EQUAL(emu_option(m, 0, id, 2, 0, 4), -EINVAL);
	end();
}

/* The call's result and, if it succeeds, the event's; and the source address. */
static void test_resolve(void)
{
	static const struct {
		const char *from, *to;
		int ret;
		s32 status;
		const char *src;
		int dev; /* that is the destination's */
	} tries[] = {
		{ NULL, "192.0.2.2", 0, 0, "192.0.2.1", 1 },
		{ "198.51.100.7", "192.0.2.2", 0, 0, "198.51.100.7", 1 },
		{ NULL, "198.51.100.7", 0, 0, "198.51.100.7", 0 },
		{ NULL, "2001:db8::2", 0, 0, "2001:db8::1", 1 },
		{ NULL, "127.0.0.1", 0, 0, "127.0.0.1", 0 },
		{ NULL, "127.9.9.9", 0, 0, "127.0.0.1", 0 },
		{ NULL, "::1", 0, 0, "::1", 0 },
		{ NULL, "0.0.0.0", 0, 0, "127.0.0.1", 0 },
		{ "192.0.2.1", "127.0.0.1", 0, 0, "192.0.2.1", 0 },
		{ NULL, "203.0.113.9", 0, -ETIMEDOUT, NULL, 0 },
		{ NULL, "239.1.2.3", 0, 0, "192.0.2.1", -1 },
		{ "192.0.2.2", "192.0.2.1", -EADDRNOTAVAIL, 0, NULL, 0 },
		{ "192.0.2.1", "2001:db8::2", -EINVAL, 0, NULL, 0 },
		{ "2001:db8::1", "192.0.2.2", -EINVAL, 0, NULL, 0 },
	};
	struct cmd_cm c;
	u32 id;

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		id = tcp(i + 1);
		CU_ASSERT_EQUAL(emu_resolve(m, 0, id, tries[i].from, tries[i].to, 7000),
				tries[i].ret);
		if (tries[i].ret)
			continue;
		CU_ASSERT_TRUE(emu_got(m, 0, ch,
				       tries[i].status ? CM_EV_ADDR_ERROR : CM_EV_ADDR_RESOLVED,
				       i + 1, tries[i].status));
		c = query(id);
		CU_ASSERT_TRUE(same_ip(&c.dst, tries[i].to) && c.dst.port == 7000);
		if (tries[i].status) {
			CU_ASSERT_EQUAL(m->hca->cmid[id].state, CM_ADDR_BOUND);
			continue;
		}
		CU_ASSERT_TRUE(same_ip(&c.src, tries[i].src) && c.src.port);
		CU_ASSERT_EQUAL(c.dev, 1);
		CU_ASSERT_EQUAL((int)m->hca->cmid[id].av.dst_dev, tries[i].dev);
		CU_ASSERT_EQUAL(emu_resolve(m, 0, id, NULL, "192.0.2.2", 1), -EINVAL);
	}
	/* Without an address of the family there is no route. */
	m->hca->dev[0].port[1].gid[2].valid = 0;
	m->hca->dev[0].port[1].gid[3].valid = 0;
	id = tcp(90);
	CU_ASSERT_EQUAL(emu_resolve(m, 0, id, NULL, "2001:db8::2", 1), -ENETUNREACH);
	CU_ASSERT_EQUAL(emu_get(m, 0, ch, &(struct cm_event){ 0 }), -EAGAIN);
	/* One that failed may be tried again. */
	id = tcp(91);
	emu_resolve(m, 0, id, NULL, "203.0.113.9", 1);
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_ERROR, 91, -ETIMEDOUT));
	CU_ASSERT_EQUAL(emu_resolve(m, 0, id, NULL, "192.0.2.2", 1), 0);
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_RESOLVED, 91, 0));
	end();
}

static void test_route(void)
{
	struct cmd_cm c = { .timeout_ms = 2000 };
	u32 id;

	begin();
	id = tcp(1);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_RESOLVE_ROUTE, id, &c), -EINVAL);
	emu_option(m, 0, id, 0, 0x68, 1);
	emu_resolve(m, 0, id, NULL, "192.0.2.2", 7000);
	CU_ASSERT_EQUAL(query(id).n_paths, 0);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_RESOLVE_ROUTE, id, &c), 0);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_RESOLVE_ROUTE, id, &c), -EINVAL);
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_RESOLVED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ROUTE_RESOLVED, 1, 0));
	c = query(id);
	CU_ASSERT_EQUAL(c.n_paths, 1);
	CU_ASSERT_EQUAL(c.route.mtu, 5);
	CU_ASSERT_EQUAL(c.route.packet_lifetime, 16);
	CU_ASSERT_EQUAL(c.route.hop_limit, 64);
	CU_ASSERT_EQUAL(c.route.traffic_class, 0x68);
	CU_ASSERT_EQUAL(c.route.pkey, 0xffff);
	CU_ASSERT_FALSE(memcmp(c.route.dgid, emu_ip("192.0.2.2", 0).ip, 16));
	CU_ASSERT_FALSE(memcmp(c.route.sgid, emu_ip("192.0.2.1", 0).ip, 16));
	/* A requested ACK timeout is twice the path's lifetime. */
	id = tcp(2);
	emu_option(m, 0, id, 3, 19, 1);
	emu_resolve(m, 0, id, NULL, "192.0.2.2", 7000);
	c.timeout_ms = 1;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_RESOLVE_ROUTE, id, &c), 0);
	CU_ASSERT_EQUAL(query(id).route.packet_lifetime, 18);
	end();
}

/* RDMA_OPTION_IB_PATH: struct ibv_path_data. */
static void test_path(void)
{
	struct cmd_cm c = { .level = 1, .optname = 1, .optlen = 72 };
	struct cm_addr to = emu_ip("192.0.2.2", 0);
	u32 id, flags = 0x2b;

	begin();
	id = tcp(1);
	memcpy(c.opt + 16, to.ip, 16);
	c.opt[8 + 48] = 7; /* traffic class */
	c.opt[8 + 47] = 9; /* hop limit */
	c.opt[8 + 54] = 0x80 | 3; /* MTU: exactly */
	c.opt[8 + 56] = 0x80 | 12; /* lifetime */
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_SET_OPTION, id, &c), -EINVAL);
	emu_resolve(m, 0, id, NULL, "192.0.2.2", 7000);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_SET_OPTION, id, &c), -EINVAL);
	memcpy(c.opt, &flags, 4);
	c.optlen = 71;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_SET_OPTION, id, &c), -EINVAL);
	c.optlen = 72;
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_SET_OPTION, id, &c), 0);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_SET_OPTION, id, &c), -EINVAL);
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_RESOLVED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ROUTE_RESOLVED, 1, 0));
	c = query(id);
	CU_ASSERT_EQUAL(c.route.mtu, 3);
	CU_ASSERT_EQUAL(c.route.packet_lifetime, 12);
	CU_ASSERT_EQUAL(c.route.hop_limit, 9);
	CU_ASSERT_EQUAL(c.route.traffic_class, 7);
	CU_ASSERT_EQUAL(m->hca->cmid[id].av.dst_dev, 1);
	end();
}

/* Each takes another number, and when one end is known, more may have the same. */
static void test_ephemeral(void)
{
	u32 id, n = 0;

	begin();
	for (u32 i = 0; i < 28232; i++)
		n += !!emu_bind(m, 0, tcp(1), "192.0.2.1", 0);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_EQUAL(emu_bind(m, 0, tcp(1), "192.0.2.1", 0), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(emu_bind(m, 0, tcp(1), "0.0.0.0", 0), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(emu_bind(m, 0, tcp(1), "198.51.100.7", 0), 0);
	id = tcp(1);
	CU_ASSERT_EQUAL(emu_bind(m, 0, id, "192.0.2.1", 7000), 0);
	end();
}

static int join(u32 id, const char *group, u64 context, u32 flags)
{
	struct cmd_cm c = { .dst = emu_ip(group, 0), .context = context, .flags = flags };

	return emu_do(m, 0, CMD_CM_JOIN, id, &c);
}

static int leave(u32 id, const char *group, u64 context, struct cmd_cm *c)
{
	*c = (struct cmd_cm){ .dst = emu_ip(group, 0), .context = context };
	return emu_do(m, 0, CMD_CM_LEAVE, id, c);
}

static void test_mcast(void)
{
	struct cm_event ev;
	struct cmd_cm c;
	u32 id, t;

	begin();
	id = emu_id_new(m, 0, ch, CM_PS_UDP, 1);
	t = tcp(2);
	CU_ASSERT_EQUAL(join(id, "239.1.2.3", 7, 0), -EINVAL);
	emu_bind(m, 0, id, "192.0.2.1", 0);
	emu_bind(m, 0, t, "192.0.2.1", 0);
	CU_ASSERT_EQUAL(join(t, "239.1.2.3", 7, 0), -EINVAL);
	CU_ASSERT_EQUAL(join(id, "192.0.2.2", 7, 0), -EINVAL);
	CU_ASSERT_EQUAL(join(id, "239.1.2.3", 7, 2), -EINVAL);
	CU_ASSERT_EQUAL(join(id, "239.1.2.3", 7, 0), 0);
	CU_ASSERT_EQUAL(join(id, "ff0e::1234", 8, 1), 0);
	CU_ASSERT_EQUAL(emu_get(m, 0, ch, &ev), 0);
	CU_ASSERT_TRUE(ev.type == CM_EV_MULTICAST_JOIN && ev.uid == 1 && ev.context == 7 && ev.ud);
	CU_ASSERT_TRUE(ev.param.qpn == 0xffffff && ev.param.qkey == UDP_QKEY);
	CU_ASSERT_TRUE(ev.av.is_global && ev.av.port_num == 1 && ev.av.hop_limit == 64);
	CU_ASSERT_FALSE(memcmp(ev.av.dgid, emu_ip("239.1.2.3", 0).ip, 16));
	CU_ASSERT_EQUAL(leave(id, "239.1.2.3", 7, &c), 0);
	CU_ASSERT_TRUE(c.reported == 1 && c.dropped == 0);
	CU_ASSERT_EQUAL(leave(id, "239.1.2.3", 7, &c), -EADDRNOTAVAIL);
	/* Unread events are dropped with the membership. */
	CU_ASSERT_EQUAL(leave(id, "ff0e::1234", 8, &c), 0);
	CU_ASSERT_TRUE(c.reported == 0 && c.dropped == 1);
	CU_ASSERT_EQUAL(emu_get(m, 0, ch, &ev), -EAGAIN);
	CU_ASSERT_EQUAL(join(id, "ff0e::1", 9, 0), 0);
	CU_ASSERT_EQUAL(emu_do(m, 0, CMD_CM_DESTROY_ID, id, &c), 0);
	CU_ASSERT_TRUE(c.reported == 1 && c.dropped == 1);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_CMMC].n, 0);
	end();
}

/* InfiniBand: IPoIB's names for groups, and the subnet manager's LIDs. */
static void test_mlid(void)
{
	static const u8 want[16] = { 0xff, 0x12, 0x40, 0x01, 0xff, 0xff, [12] = 0x0f, 1, 2, 3 };
	struct cm_event ev[4];
	u32 a, b;

	begin();
	m->hca->dev[0].link_layer = LINK_INFINIBAND;
	m->hca->dev[0].port[1].lid = 2;
	hca_nodes_index(m->hca);
	a = emu_id_new(m, 0, ch, CM_PS_UDP, 1);
	b = emu_id_new(m, 0, ch, CM_PS_UDP, 2);
	CU_ASSERT_EQUAL(emu_bind(m, 0, a, "203.0.113.1", 0), -ENODEV);
	CU_ASSERT_EQUAL(emu_resolve(m, 0, a, NULL, "127.0.0.1", 1), 0);
	CU_ASSERT_EQUAL(emu_resolve(m, 0, b, NULL, "127.0.0.1", 1), 0);
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_RESOLVED, 1, 0));
	CU_ASSERT_TRUE(emu_got(m, 0, ch, CM_EV_ADDR_RESOLVED, 2, 0));
	CU_ASSERT_TRUE(!m->hca->cmid[a].av.is_global && m->hca->cmid[a].av.dlid == 2);
	CU_ASSERT_EQUAL(join(a, "239.1.2.3", 1, 0), 0);
	CU_ASSERT_EQUAL(join(b, "239.1.2.4", 2, 0), 0);
	CU_ASSERT_EQUAL(join(b, "239.1.2.3", 3, 0), 0);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(emu_get(m, 0, ch, &ev[i]), 0);
	CU_ASSERT_FALSE(memcmp(ev[0].av.dgid, want, 16));
	CU_ASSERT_EQUAL(ev[0].av.dlid, 0xc001);
	CU_ASSERT_EQUAL(ev[1].av.dlid, 0xc002);
	CU_ASSERT_EQUAL(ev[2].av.dlid, 0xc001);
	end();
}

/* InfiniBand: addresses of interfaces are no GIDs, but lead to the port's. */
static void test_ipoib(void)
{
	const struct hca_cmid *id;
	struct hca_port *p;
	u32 i;

	begin();
	p = &m->hca->dev[0].port[1];
	m->hca->dev[0].link_layer = LINK_INFINIBAND;
	p->ip[3] = (struct hca_gid){ .raw = { [10] = 0xff, 0xff, 9, 0, 0, 1 }, .valid = 1 };
	hca_nodes_index(m->hca);
	i = emu_id_new(m, 0, ch, CM_PS_TCP, 1);
	id = &m->hca->cmid[i];
	CU_ASSERT_EQUAL(emu_bind(m, 0, i, "9.0.0.9", 0), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(emu_resolve(m, 0, i, NULL, "9.0.0.1", 1), 0);
	CU_ASSERT_TRUE(id->bound == 1 && !memcmp(id->src.ip, p->ip[3].raw, 16));
	CU_ASSERT_TRUE(!id->av.is_global && !memcmp(id->av.dgid, p->gid[0].raw, 16));
	end();
}

static const struct cu_test tests[] = {
	{ "port spaces and QP types", test_create },
	{ "addresses to bind to", test_bind },
	{ "who may share a port number", test_conflicts },
	{ "listening", test_listen },
	{ "options", test_options },
	{ "address resolution", test_resolve },
	{ "route resolution", test_route },
	{ "a path of the program's own", test_path },
	{ "numbers for those who want any", test_ephemeral },
	{ "multicast on RoCE", test_mcast },
	{ "multicast on InfiniBand", test_mlid },
	{ "addresses on InfiniBand", test_ipoib },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("identifiers", tests);
}
