/* SPDX-License-Identifier: MIT */
/*
 * Flow steering: which rule gets a frame, the fields that rules match, actions, counters, errors.
 */
#include "tests/lib/c/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static struct ibv_context *ctx;
static struct raw_end a, b, c;
static const uint8_t uni[6] = { 2, 0, 0, 0, 2, 1 }, multi[6] = { 1, 0, 0x5e, 1, 2, 3 };

static struct raw_pkt packet(const uint8_t mac[6])
{
	return raw_udp4(mac, 1000, 2000, 100);
}

/* How many copies come to a QP; its receives are renewed. */
static int copies(struct raw_end *r)
{
	struct ibv_wc wc;
	int n = 0;

	while (raw_poll(r->rcq, &wc, false))
		n++;
	if (n)
		raw_recvs(r, (uint32_t)n, RAW_SLOT);
	return n;
}

/* Send it, and say who got it: 1 for @a, 2 for @b, 4 for @c; 8 for more than one copy. */
static int who(const struct raw_pkt *k)
{
	struct raw_end *r[] = { &a, &b, &c };
	int i, n, got = 0;

	/* The engine delivers before the send completes. */
	if (raw_send(&a, raw_build(a.out, k, 1), 0) != IBV_WC_SUCCESS)
		return -1;
	for (i = 0; i < 3; i++) {
		n = copies(r[i]);
		got |= (n ? 1 << i : 0) | (n > 1 ? 8 : 0);
	}
	return got;
}

static struct ibv_flow *flow(struct raw_end *r, struct raw_rule *rule)
{
	struct ibv_flow *f = ibv_create_flow(r->qp, &rule->attr);

	if (!f)
		die("flow: %s", strerror(errno));
	return f;
}

static struct ibv_flow *simple(struct raw_end *r, enum ibv_flow_attr_type type, uint16_t priority,
			       const uint8_t *mac)
{
	struct raw_rule rule;

	raw_rule(&rule, type, priority);
	if (mac)
		raw_spec_dmac(&rule, mac);
	return flow(r, &rule);
}

static void test_who_gets(void)
{
	struct raw_pkt u = packet(uni), m = packet(multi);
	struct ibv_flow *f[4];
	bool once = true;

	ok(who(&u) == 0, "without a rule nobody gets anything");
	f[0] = simple(&b, IBV_FLOW_ATTR_NORMAL, 0, uni);
	ok(who(&u) == 2 && who(&m) == 0, "a rule for an address");
	f[1] = simple(&a, IBV_FLOW_ATTR_NORMAL, 0, uni);
	ok(who(&u) == 3, "equal rules share, the sender's own among them");
	f[2] = simple(&b, IBV_FLOW_ATTR_NORMAL, 0, uni);
	ok(who(&u) == 3, "twice the same rule is one copy");
	f[3] = simple(&c, IBV_FLOW_ATTR_NORMAL, 1, uni);
	ok(who(&u) == 3, "a later priority gets nothing");
	ibv_destroy_flow(f[0]);
	ok(who(&u) == 3, "of two equal rules one is left");
	ibv_destroy_flow(f[1]);
	ibv_destroy_flow(f[2]);
	ok(who(&u) == 4, "until the others have gone");
	ibv_destroy_flow(f[3]);

	/*
	 * Places are given out in turn: many times, and the younger one has been before the other.
	 */
	f[0] = simple(&b, IBV_FLOW_ATTR_NORMAL, 0, uni);
	for (int i = 0; i < 1100 && once; i++) {
		f[1] = simple(&b, IBV_FLOW_ATTR_NORMAL, 0, uni);
		once = who(&u) == 2;
		ibv_destroy_flow(f[1]);
	}
	ok(once, "twice the same rule is one copy, whatever their places");
	ibv_destroy_flow(f[0]);

	f[0] = simple(&b, IBV_FLOW_ATTR_NORMAL, 0, multi);
	f[1] = simple(&c, IBV_FLOW_ATTR_NORMAL, 0, multi);
	ok(who(&m) == 6 && who(&u) == 0, "a multicast address: a copy for each");
	ibv_destroy_flow(f[0]);
	ibv_destroy_flow(f[1]);
}

static void test_defaults(void)
{
	struct raw_pkt u = packet(uni), m = packet(multi);
	struct ibv_flow *all = simple(&b, IBV_FLOW_ATTR_ALL_DEFAULT, 0, NULL);
	struct ibv_flow *f, *mc, *sniffer;

	ok(who(&u) == 2 && who(&m) == 2, "ALL_DEFAULT gets what nobody else does");
	f = simple(&c, IBV_FLOW_ATTR_NORMAL, 7, uni);
	ok(who(&u) == 4 && who(&m) == 2, "no other QP gets the frame");
	mc = simple(&c, IBV_FLOW_ATTR_MC_DEFAULT, 0, NULL);
	ok(who(&u) == 4 && who(&m) == 6, "MC_DEFAULT gets multicast");
	ibv_destroy_flow(all);
	ibv_destroy_flow(f);
	ok(who(&u) == 0 && who(&m) == 4, "only");
	sniffer = simple(&b, IBV_FLOW_ATTR_SNIFFER, 0, NULL);
	ok(who(&u) == 2 && who(&m) == 6, "a sniffer sees all, and takes nothing away");
	ibv_destroy_flow(sniffer);
	ibv_destroy_flow(mc);
}

static void test_dont_trap(void)
{
	struct raw_pkt u = packet(uni);
	struct ibv_flow *f, *g;
	struct raw_rule r;

	f = simple(&b, IBV_FLOW_ATTR_NORMAL, 5, uni);
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 3);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	raw_spec_dmac(&r, uni);
	g = flow(&c, &r);
	ok(who(&u) == 6, "DONT_TRAP: both get it");
	ibv_destroy_flow(g);
	r.attr.priority = 6;
	g = flow(&c, &r);
	ok(who(&u) == 2, "unless the other one comes first");
	ibv_destroy_flow(f);
	ok(who(&u) == 4, "alone");
	ibv_destroy_flow(g);
	r.attr.type = IBV_FLOW_ATTR_SNIFFER;
	ok(!ibv_create_flow(c.qp, &r.attr) && errno == EINVAL, "a sniffer traps nothing: EINVAL");
}

/* Whether a rule of one specification takes the first packet and not the second. */
static bool tells(const void *spec, size_t size, const struct raw_pkt *yes,
		  const struct raw_pkt *no)
{
	struct ibv_flow *f;
	struct raw_rule r;
	bool good;

	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec(&r, spec, size);
	f = flow(&b, &r);
	good = who(yes) == 2 && who(no) == 0;
	ibv_destroy_flow(f);
	return good;
}

#define SPEC(name, kind) struct ibv_flow_spec_##name s = { .type = (kind), .size = sizeof(s) }

static void test_eth(void)
{
	SPEC(eth, IBV_FLOW_SPEC_ETH);
	struct raw_pkt yes = packet(uni), no = packet(uni);

	yes.vlan = 0x6005;
	no.vlan = 0x6006;
	s.val.vlan_tag = htons(5);
	s.mask.vlan_tag = htons(0xfff);
	ok(tells(&s, sizeof(s), &yes, &no), "a VLAN, by number");
	no.vlan = 0;
	s.val.vlan_tag = 0;
	s.mask.vlan_tag = htons(0x8000);
	ok(tells(&s, sizeof(s), &yes, &no), "a VLAN, whichever");
	memset(&s.mask, 0, sizeof(s.mask));
	s.val.ether_type = htons(0x0800);
	s.mask.ether_type = 0xffff;
	no.ip = 6;
	no.src = no.dst = "2001:db8::1";
	ok(tells(&s, sizeof(s), &yes, &no), "an ethertype behind a tag");
	memset(&s.mask, 0, sizeof(s.mask));
	s.val.dst_mac[5] = 0xff;
	s.mask.dst_mac[5] = 0x01;
	no = packet(multi);
	no.dmac[5] = 2;
	ok(tells(&s, sizeof(s), &yes, &no), "single bits of an address");
}

static void test_ip(void)
{
	struct raw_pkt yes = packet(uni), no = packet(uni);

	{
		SPEC(ipv4, IBV_FLOW_SPEC_IPV4);
		s.val.src_ip = inet_addr("192.0.2.1");
		s.mask.src_ip = ~0u;
		no.src = "192.0.2.9";
		ok(tells(&s, sizeof(s), &yes, &no), "an IPv4 address");
	}
	{
		SPEC(ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT);
		s.val.proto = IPPROTO_UDP;
		s.mask.proto = 0xff;
		s.val.ttl = 64;
		s.mask.ttl = 0xff;
		no = packet(uni);
		no.proto = IPPROTO_TCP;
		ok(tells(&s, sizeof(s), &yes, &no), "IPv4's protocol");
	}
	{
		SPEC(ipv6, IBV_FLOW_SPEC_IPV6);
		struct raw_pkt v6 = { .ip = 6, .proto = IPPROTO_UDP, .src = "::1", .dst = "::2" };
		struct raw_pkt other = v6;

		other.dst = "::3";
		ok(tells(&s, sizeof(s), &v6, &yes), "IPv6 of any kind");
		s.val.dst_ip[15] = 2;
		memset(s.mask.dst_ip, 0xff, 16);
		ok(tells(&s, sizeof(s), &v6, &other), "an IPv6 address");
	}
	{
		SPEC(tcp_udp, IBV_FLOW_SPEC_UDP);
		s.val.dst_port = htons(2000);
		s.mask.dst_port = 0xffff;
		no = packet(uni);
		no.dport = 2001;
		ok(tells(&s, sizeof(s), &yes, &no), "a UDP port");
		no = packet(uni);
		no.proto = IPPROTO_TCP;
		ok(tells(&s, sizeof(s), &yes, &no), "TCP's is another");
	}
}

static void test_tunnel(void)
{
	struct raw_pkt outer = packet(uni), inner = packet(multi);
	struct ibv_flow_spec_tunnel v = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(v) };
	struct ibv_flow_spec_eth e = { .type = IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH,
				       .size = sizeof(e) };
	struct ibv_flow *f;
	struct raw_rule r;
	uint32_t hdr, len;

	v.val.tunnel_id = htonl(0x1234);
	v.mask.tunnel_id = htonl(0xffffff);
	memcpy(e.val.dst_mac, multi, 6);
	memset(e.mask.dst_mac, 0xff, 6);
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec(&r, &v, sizeof(v));
	raw_spec(&r, &e, sizeof(e));
	f = flow(&b, &r);
	inner.payload = 50;
	outer.dport = 4789;
	outer.payload = 8 + raw_headers(&inner) + 50;
	hdr = raw_headers(&outer);
	len = raw_build(a.out, &outer, 1);
	memcpy(a.out + hdr, "\x08\0\0\0\0\x12\x34\0", 8);
	raw_build(a.out + hdr + 8, &inner, 1);
	ok(!raw_send(&a, len, 0) && copies(&b) == 1, "VXLAN: network and inner address");
	a.out[hdr + 6]++;
	ok(!raw_send(&a, len, 0) && !copies(&b), "another network");
	a.out[hdr + 6]--;
	a.out[hdr + 8 + 5]++;
	ok(!raw_send(&a, len, 0) && !copies(&b), "another inner address");
	ibv_destroy_flow(f);
}

static void test_actions(void)
{
	struct ibv_flow_spec_action_drop drop = { IBV_FLOW_SPEC_ACTION_DROP, sizeof(drop) };
	struct ibv_flow_spec_action_tag tag = { IBV_FLOW_SPEC_ACTION_TAG, sizeof(tag), 1u << 24 };
	struct raw_pkt u = packet(uni);
	struct ibv_flow *f, *g;
	struct raw_rule r;

	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&r, uni);
	raw_spec(&r, &drop, sizeof(drop));
	f = flow(&b, &r);
	g = simple(&c, IBV_FLOW_ATTR_NORMAL, 1, uni);
	ok(who(&u) == 0, "a rule that drops takes the frame from later ones");
	ibv_destroy_flow(f);
	ok(who(&u) == 4, "until it goes");
	ibv_destroy_flow(g);
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec(&r, &tag, sizeof(tag));
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EINVAL,
	   "a tag of more than 24 bits: EINVAL");
	tag.tag_id--;
	raw_rule(&r, IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	raw_spec(&r, &tag, sizeof(tag));
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EINVAL, "a tag of a default rule: EINVAL");
}

static void test_tag(void)
{
	struct ibv_flow_spec_action_tag tag = { IBV_FLOW_SPEC_ACTION_TAG, sizeof(tag), 0xabcdef };
	struct ibv_cq_init_attr_ex cqx = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cqx);
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq *plain = b.rcq;
	struct raw_pkt u = packet(uni);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 8, 1, 1, 0 } };
	struct raw_end t = b;
	struct ibv_flow *f;
	struct raw_rule r;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	if (!cq)
		die("CQ with flow tags: %s", strerror(errno));
	init.send_cq = plain;
	init.recv_cq = ibv_cq_ex_to_cq(cq);
	t.qp = ibv_create_qp(b.pd, &init);
	if (!t.qp || ibv_modify_qp(t.qp, &attr, IBV_QP_STATE | IBV_QP_PORT))
		die("QP for tags");
	attr.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(t.qp, &attr, IBV_QP_STATE);
	raw_recvs(&t, 1, RAW_SLOT);
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&r, uni);
	raw_spec(&r, &tag, sizeof(tag));
	f = flow(&t, &r);
	ok(raw_send(&a, raw_build(a.out, &u, 1), 0) == IBV_WC_SUCCESS &&
		   !ibv_start_poll(cq, &none) && ibv_wc_read_flow_tag(cq) == 0xabcdef,
	   "the tag of the rule is in the completion, and RTR receives");
	ibv_end_poll(cq);
	ibv_destroy_flow(f);
	ibv_destroy_qp(t.qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

static struct ibv_counters *counters_new(void)
{
	struct ibv_counters_init_attr attr = { 0 };
	struct ibv_counters *k = ibv_create_counters(ctx, &attr);

	if (!k)
		die("counters: %s", strerror(errno));
	return k;
}

static int attach(struct ibv_counters *k, uint32_t what, uint32_t index, struct ibv_flow *f)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = what, .index = index };

	return ibv_attach_counters_point_flow(k, &attr, f);
}

static void test_counters(void)
{
	struct ibv_flow_spec_counter_action count = { IBV_FLOW_SPEC_ACTION_COUNT, sizeof(count),
						      counters_new() };
	struct ibv_counters *k = count.counters;
	struct raw_pkt u = packet(uni);
	uint64_t v[4] = { 9, 9, 9, 9 };
	struct ibv_flow *f;
	struct raw_rule r;

	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&r, uni);
	raw_spec(&r, &count, sizeof(count));
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EINVAL, "counters without a point: EINVAL");
	ok(!attach(k, IBV_COUNTER_BYTES, 0, NULL) && !attach(k, IBV_COUNTER_PACKETS, 2, NULL),
	   "points are attached");
	ok(attach(k, 7, 1, NULL) == ENOTSUP, "an unknown one: ENOTSUP");
	ok(ibv_read_counters(k, v, 4, 0) == EINVAL, "nothing to be read before a flow counts");
	f = flow(&b, &r);
	ok(attach(k, IBV_COUNTER_BYTES, 1, f) == ENOTSUP, "an existing flow: ENOTSUP");
	ok(attach(k, IBV_COUNTER_BYTES, 1, NULL) == EBUSY, "a counting one: EBUSY");
	ok(ibv_destroy_counters(k) == EBUSY, "counters that a flow uses: EBUSY");
	who(&u);
	who(&u);
	ok(!ibv_read_counters(k, v, 4, 0) && v[0] == 2 * 142 && !v[1] && v[2] == 2 && !v[3],
	   "bytes and packets");
	ok(ibv_read_counters(k, v, 2, 0) == EINVAL, "too little room: EINVAL");
	ibv_destroy_flow(f);
	ok(!ibv_destroy_counters(k), "unused counters are destroyed");
}

static bool refused(const void *spec, size_t size, int err)
{
	struct raw_rule r;

	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&r, uni);
	raw_spec(&r, spec, size);
	errno = 0;
	return !ibv_create_flow(b.qp, &r.attr) && errno == err;
}

static void test_errors(void)
{
	struct ibv_flow_spec_ipv4 s4 = { .type = IBV_FLOW_SPEC_IPV4, .size = sizeof(s4) };
	struct ibv_flow_spec_eth e = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(e) };
	struct ibv_flow_spec_tunnel v = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(v) };
	struct ibv_flow_spec_action_handle h = { IBV_FLOW_SPEC_ACTION_HANDLE, sizeof(h), NULL };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }, .send_cq = b.scq, .recv_cq = b.rcq
	};
	struct ibv_qp *rc = ibv_create_qp(b.pd, &init);
	struct raw_rule r;

	s4.size = sizeof(s4) - 1;
	ok(refused(&s4, sizeof(s4), EINVAL), "a specification that is too short");
	s4.size = 0;
	ok(refused(&s4, sizeof(s4), EINVAL), "of no size");
	s4.size = 0xfff0;
	ok(refused(&s4, sizeof(s4), EINVAL), "of any size");
	s4.size = sizeof(s4);
	s4.type = 0x77;
	ok(refused(&s4, sizeof(s4), EINVAL), "of an unknown type");
	ok(refused(&e, sizeof(e), EINVAL), "the same header twice");
	v.mask.tunnel_id = ~0u;
	ok(refused(&v, sizeof(v), EINVAL), "more bits than the field has");
	ok(refused(&h, sizeof(h), EOPNOTSUPP), "an action by handle: EOPNOTSUPP");
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	ok(rc && !ibv_create_flow(rc, &r.attr) && errno == EINVAL, "an RC QP has no flows");
	ibv_destroy_qp(rc);
	r.attr.port = 9;
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EINVAL, "no such port");
	raw_rule(&r, 9, 0);
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EINVAL, "no such type of rule");
	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	ok(!ibv_create_flow(b.qp, &r.attr) && errno == EOPNOTSUPP, "egress: EOPNOTSUPP");
	errno = 0;
	ok(!ibv_create_flow_action_esp(ctx, NULL) && errno == EOPNOTSUPP, "ESP: EOPNOTSUPP");
}

int main(void)
{
	ctx = rc_open_first();
	raw_open(&a, ctx, 0, 0);
	raw_open(&b, ctx, 0, 0);
	raw_open(&c, ctx, 0, 0);
	raw_recvs(&a, 16, RAW_SLOT);
	raw_recvs(&b, 16, RAW_SLOT);
	raw_recvs(&c, 16, RAW_SLOT);
	test_who_gets();
	test_defaults();
	test_dont_trap();
	test_eth();
	test_ip();
	test_tunnel();
	test_actions();
	test_tag();
	test_counters();
	test_errors();
	raw_close(&a);
	raw_close(&b);
	raw_close(&c);
	ibv_close_device(ctx);
	return tap_failed != 0;
}
