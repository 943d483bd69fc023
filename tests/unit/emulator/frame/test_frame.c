/* SPDX-License-Identifier: MIT */
/* Frames: the parser, checksums, segments, the check sequence, and the hash of RSS. */
#include "emulator/frame/frame.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <arpa/inet.h>

/* Microsoft, "Verifying the RSS hash calculation": its key and all of its vectors. */
static const u8 ms_key[RSS_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct {
	int family;
	const char *dst;
	u16 dport;
	const char *src;
	u16 sport;
	u32 addresses, ports;
} ms_vectors[] = {
	{ AF_INET, "161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178 },
	{ AF_INET, "65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea },
	{ AF_INET, "12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a },
	{ AF_INET, "209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f },
	{ AF_INET, "202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2 },
	{ AF_INET6, "3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5,
	  0x40207d3d },
	{ AF_INET6, "ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c,
	  0xdde51bbf },
	{ AF_INET6, "fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251,
	  0x4b61e985, 0x02d1feef },
};

static void test_toeplitz(void)
{
	struct frame f;
	u32 i, ip, tcp = RXH_SRC_PORT_TCP | RXH_DST_PORT_TCP;

	for (i = 0; i < ARRAY_SIZE(ms_vectors); i++) {
		bool v6 = ms_vectors[i].family == AF_INET6;
		struct flow_match *m = &f.outer.m;

		memset(&f, 0, sizeof(f));
		inet_pton(ms_vectors[i].family, ms_vectors[i].src, v6 ? m->src6 : (u8 *)&m->src4);
		inet_pton(ms_vectors[i].family, ms_vectors[i].dst, v6 ? m->dst6 : (u8 *)&m->dst4);
		m->sport = htons(ms_vectors[i].sport);
		m->dport = htons(ms_vectors[i].dport);
		m->l3 = v6 ? 6 : 4;
		m->l4 = 6;
		ip = v6 ? RXH_SRC_IPV6 | RXH_DST_IPV6 : RXH_SRC_IPV4 | RXH_DST_IPV4;
		CU_ASSERT_EQUAL(rss_hash(ms_key, ip, &f), ms_vectors[i].addresses);
		CU_ASSERT_EQUAL(rss_hash(ms_key, ip | tcp, &f), ms_vectors[i].ports);
		/* Frames that it does not hash. */
		m->l4 = 17;
		CU_ASSERT_EQUAL(rss_hash(ms_key, ip | tcp, &f), 0);
		CU_ASSERT_EQUAL(rss_hash(ms_key, ip | RXH_INNER, &f), 0);
	}
}

/* Builders: each appends a header and returns the new length. */

static u32 add(u8 *p, u32 at, const void *data, u32 len)
{
	memcpy(p + at, data, len);
	return at + len;
}

static u32 add_eth(u8 *p, u32 at, u16 type)
{
	static const u8 macs[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };
	u16 t = htons(type);

	return add(p, add(p, at, macs, 12), &t, 2);
}

static u32 add_tag(u8 *p, u32 at, u16 tci, u16 type)
{
	u16 v[2] = { htons(tci), htons(type) };

	return add(p, at, v, 4);
}

static u32 add_ip4(u8 *p, u32 at, u8 proto, u32 options, u32 payload)
{
	u8 h[60] = { (u8)(0x45 + options / 4),
		     0xb8,
		     0,
		     0,
		     0x12,
		     0x34,
		     0x40,
		     0,
		     64,
		     proto,
		     0,
		     0,
		     10,
		     1,
		     2,
		     3,
		     10,
		     4,
		     5,
		     6 };
	u32 total = 20 + options + payload;

	h[2] = (u8)(total >> 8);
	h[3] = (u8)total;
	return add(p, at, h, 20 + options);
}

static u32 add_ip6(u8 *p, u32 at, u8 proto, u32 payload)
{
	u8 h[40] = { 0x6a, 0xb1, 0x23, 0x45, 0, 0, proto, 63, 0x20, 0x01 };

	h[4] = (u8)(payload >> 8);
	h[5] = (u8)payload;
	h[23] = 1;
	h[24] = 0xfd;
	h[39] = 2;
	return add(p, at, h, 40);
}

static u32 add_udp(u8 *p, u32 at, u16 sport, u16 dport, u32 payload)
{
	u16 h[4] = { htons(sport), htons(dport), htons((u16)(8 + payload)), 0 };

	return add(p, at, h, 8);
}

static u32 add_tcp(u8 *p, u32 at, u8 flags)
{
	u8 h[20] = { 0x11, 0x22, 0x33, 0x44, 0, 1, 0, 0, 0, 0, 0, 0, 0x50 };

	h[13] = flags;
	return add(p, at, h, 20);
}

static u32 add_data(u8 *p, u32 at, u32 n)
{
	emu_fill(p + at, n, n);
	return at + n;
}

static struct frame parsed(const u8 *p, u32 len)
{
	u8 hdrs[FRAME_HDRS];
	struct frame f;

	memcpy(hdrs, p, min_u32(len, FRAME_HDRS));
	frame_parse(hdrs, len, &f);
	return f;
}

static void test_plain(void)
{
	u8 p[2048];
	u32 n = add_eth(p, 0, 0x0800);
	struct frame f;

	n = add_ip4(p, n, 17, 8, 8 + 100);
	n = add_udp(p, n, 1000, 2000, 100);
	n = add_data(p, n, 100);
	f = parsed(p, n);
	CU_ASSERT_EQUAL(f.outer.m.l2, 1);
	CU_ASSERT_EQUAL(f.outer.m.dmac[5], 1);
	CU_ASSERT_EQUAL(f.outer.m.smac[5], 2);
	CU_ASSERT_EQUAL(f.outer.m.ethertype, htons(0x0800));
	CU_ASSERT_EQUAL(f.outer.m.tagged, 0);
	CU_ASSERT_EQUAL(f.outer.m.l3, 4);
	CU_ASSERT_EQUAL(f.outer.m.src4, inet_addr("10.1.2.3"));
	CU_ASSERT_EQUAL(f.outer.m.dst4, inet_addr("10.4.5.6"));
	CU_ASSERT_EQUAL(f.outer.m.tos, 0xb8);
	CU_ASSERT_EQUAL(f.outer.m.ttl, 64);
	CU_ASSERT_EQUAL(f.outer.m.ip_flags, 2);
	CU_ASSERT_EQUAL(f.outer.m.l4, 17);
	CU_ASSERT_EQUAL(f.outer.m.sport, htons(1000));
	CU_ASSERT_EQUAL(f.outer.m.dport, htons(2000));
	CU_ASSERT_EQUAL(f.outer.l4_off, 14 + 28);
	CU_ASSERT_EQUAL(f.outer.l4_len, 108);
	CU_ASSERT_EQUAL(f.inner.m.l2, 0);
	/* A fragment has no ports. */
	p[14 + 6] = 0x20;
	f = parsed(p, n);
	CU_ASSERT_EQUAL(f.outer.m.l4, 0);
	CU_ASSERT_EQUAL(f.outer.m.ip_flags, 4);
}

static void test_tags_and_ip6(void)
{
	static const u8 hop[16] = { 60, 0, 1, 4 }, dst[8] = { 6, 0, 1, 4 };
	u8 p[2048];
	u32 n = add_eth(p, 0, 0x88a8);
	struct frame f;

	n = add_tag(p, n, 0x6005, 0x8100);
	n = add_tag(p, n, 0x0007, 0x86dd);
	n = add_ip6(p, n, 0, 16 + 20 + 50);
	n = add(p, n, hop, 8);
	n = add(p, n, dst, 8);
	n = add_tcp(p, n, 0x10);
	n = add_data(p, n, 50);
	f = parsed(p, n);
	CU_ASSERT_EQUAL(f.outer.m.tagged, 1);
	CU_ASSERT_EQUAL(f.outer.m.vlan, htons(0x6005));
	CU_ASSERT_EQUAL(f.outer.m.ethertype, htons(0x86dd));
	CU_ASSERT_EQUAL(f.outer.m.l3, 6);
	CU_ASSERT_EQUAL(f.outer.m.tos, 0xab);
	CU_ASSERT_EQUAL(f.outer.m.flow_label, htonl(0x12345));
	CU_ASSERT_EQUAL(f.outer.m.ttl, 63);
	CU_ASSERT_EQUAL(f.outer.m.proto, 6);
	CU_ASSERT_EQUAL(f.outer.m.src6[15], 1);
	CU_ASSERT_EQUAL(f.outer.m.dst6[0], 0xfd);
	CU_ASSERT_EQUAL(f.outer.m.l4, 6);
	CU_ASSERT_EQUAL(f.outer.l3_len, 56);
	CU_ASSERT_EQUAL(f.outer.l4_len, 70);
	CU_ASSERT_EQUAL(f.outer.m.dport, htons(0x3344));
}

static void test_tunnels(void)
{
	static const u8 vxlan[8] = { 8, 0, 0, 0, 0x12, 0x34, 0x56 };
	static const u8 gre[8] = { 0x20, 0, 0x08, 0, 0xde, 0xad, 0xbe, 0xef };
	static const u8 mpls[8] = { 0, 1, 0x20, 64, 0, 2, 0x21, 64 };
	static const u8 esp[8] = { 0, 0, 0, 9, 0, 0, 0, 7 };
	u8 p[2048];
	struct frame f;
	u32 n;

	n = add_ip4(p, add_eth(p, 0, 0x0800), 17, 0, 8 + 8 + 14 + 20 + 20);
	n = add(p, add_udp(p, n, 5, 4789, 62), vxlan, 8);
	n = add_ip4(p, add_eth(p, n, 0x0800), 6, 0, 20);
	f = parsed(p, add_tcp(p, n, 0));
	CU_ASSERT_EQUAL(f.outer.m.tunnel, TUN_VXLAN);
	CU_ASSERT_EQUAL(f.outer.m.vni, htonl(0x123456));
	CU_ASSERT_EQUAL(f.inner.m.l2, 1);
	CU_ASSERT_EQUAL(f.inner.m.l4, 6);
	CU_ASSERT_EQUAL(f.inner.m.sport, htons(0x1122));

	n = add(p, add_ip4(p, add_eth(p, 0, 0x0800), 47, 0, 8 + 28), gre, 8);
	f = parsed(p, add_udp(p, add_ip4(p, n, 17, 0, 8), 7, 8, 0));
	CU_ASSERT_EQUAL(f.outer.m.tunnel, TUN_GRE);
	CU_ASSERT_EQUAL(f.outer.m.gre_key, htonl(0xdeadbeef));
	CU_ASSERT_EQUAL(f.outer.m.gre_proto, htons(0x0800));
	CU_ASSERT_EQUAL(f.inner.m.l2, 0);
	CU_ASSERT_EQUAL(f.inner.m.dport, htons(8));

	n = add(p, add_eth(p, 0, 0x8847), mpls, 8);
	f = parsed(p, add_udp(p, add_ip6(p, n, 17, 8), 7, 8, 0));
	CU_ASSERT_EQUAL(f.outer.m.tunnel, TUN_MPLS);
	CU_ASSERT_EQUAL(f.outer.m.mpls, htonl(0x00012040));
	CU_ASSERT_EQUAL(f.outer.m.l3, 0);
	CU_ASSERT_EQUAL(f.inner.m.l3, 6);
	CU_ASSERT_EQUAL(f.inner.m.sport, htons(7));

	n = add_ip4(p, add_eth(p, 0, 0x0800), 50, 0, 8);
	f = parsed(p, add(p, n, esp, 8));
	CU_ASSERT_EQUAL(f.outer.m.tunnel, TUN_ESP);
	CU_ASSERT_EQUAL(f.outer.m.spi, htonl(9));
	CU_ASSERT_EQUAL(f.outer.m.esp_seq, htonl(7));
}

static void test_checksum(void)
{
	/* The header that Wikipedia's "Internet checksum" works out: b861. */
	static const u8 ip[20] = { 0x45, 0, 0,	  0x73, 0, 0, 0x40, 0,	  0x40, 0x11,
				   0,	 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,	0xc7 };
	u8 p[256];
	struct frame f;
	u32 n = add(p, add_eth(p, 0, 0x0800), ip, 20);

	n = add_data(p, add_udp(p, n, 1, 2, 0x73 - 28), 0x73 - 28);
	f = parsed(p, n);
	CU_ASSERT_FALSE(frame_csum_ok(p, &f));
	frame_checksum(p, &f);
	CU_ASSERT_EQUAL(p[14 + 10] << 8 | p[14 + 11], 0xb861);
	CU_ASSERT_TRUE(frame_csum_ok(p, &f));
	p[n - 1] ^= 1;
	CU_ASSERT_FALSE(frame_csum_ok(p, &f));
	/* UDP without a checksum is as good. */
	p[14 + 20 + 6] = p[14 + 20 + 7] = 0;
	CU_ASSERT_TRUE(frame_csum_ok(p, &f));
	p[14 + 8]--;
	CU_ASSERT_FALSE(frame_csum_ok(p, &f));
	/* Less than the header promises. */
	f = parsed(p, n - 1);
	frame_checksum(p, &f);
	CU_ASSERT_FALSE(frame_csum_ok(p, &f));
}

static void test_segments(void)
{
	struct frame_tcp t = { .nth = 2, .mss = 1000, .payload = 500 };
	u8 p[2048];
	struct frame f;
	u32 n = add_tcp(p, add_ip4(p, add_eth(p, 0, 0x0800), 6, 0, 20), 0x99), hdr = n;

	n = add_data(p, n, 500);
	f = parsed(p, n);
	CU_ASSERT_EQUAL(frame_tcp_headers(p, &f), hdr);
	frame_segment(p, &f, hdr, &t);
	f = parsed(p, n);
	frame_checksum(p, &f);
	CU_ASSERT_TRUE(frame_csum_ok(p, &f));
	CU_ASSERT_EQUAL(p[16] << 8 | p[17], 540);
	CU_ASSERT_EQUAL(p[18] << 8 | p[19], 0x1236);
	CU_ASSERT_EQUAL(p[34 + 4] << 24 | p[34 + 5] << 16 | p[34 + 6] << 8 | p[34 + 7],
			0x10000 + 2000);
	CU_ASSERT_EQUAL(p[34 + 13], 0x10); /* neither CWR nor PSH nor FIN in the middle */
	p[34 + 12] = 0x40;
	CU_ASSERT_EQUAL(frame_tcp_headers(p, &f), 0);
}

static void test_fcs(void)
{
	CU_ASSERT_EQUAL(frame_fcs((const u8 *)"123456789", 9), 0xcbf43926);
}

/* Whatever comes: what was found lies within the frame. */
static void check_bounds(const struct frame_layer *l, u32 len)
{
	if (l->m.l3)
		CU_ASSERT_TRUE(l->l3_off + l->l3_len <= len);
	if (l->m.l4)
		CU_ASSERT_TRUE(l->l4_off + l->l4_len <= len &&
			       l->l4_off + (l->m.l4 == 6 ? 20 : 8) <= len);
}

static void test_garbage(void)
{
	static const u16 types[] = { 0x0800, 0x86dd, 0x8847, 0x8100, 0x88a8 };
	static const u8 protos[] = { 6, 17, 47, 4, 41, 0, 43, 44, 51, 60, 137, 50 };
	u64 seed = 7;
	u32 round, i, n;

	for (round = 0; round < 200000; round++) {
		u8 p[512];
		struct frame f;
		u64 r = emu_rnd(&seed);

		for (i = 0; i < sizeof(p); i += 8) {
			u64 dense = emu_rnd(&seed), x = dense & emu_rnd(&seed);

			memcpy(p + i, &x, 8);
		}
		add_eth(p, 0, types[r % ARRAY_SIZE(types)]);
		if (r & 1 << 20)
			p[14] = r & 1 << 21 ? 0x45 : 0x60;
		p[14 + (r & 1 << 21 ? 9 : 6)] = protos[(r >> 8) % ARRAY_SIZE(protos)];
		n = (u32)(r >> 32) % sizeof(p);
		f = parsed(p, n);
		check_bounds(&f.outer, n);
		check_bounds(&f.inner, n);
		frame_checksum(p, &f);
		frame_csum_ok(p, &f);
		rss_hash(ms_key, RXH_SRC_IPV6 | RXH_SRC_PORT_TCP, &f);
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "Toeplitz: Microsoft's vectors", test_toeplitz },
		{ "IPv4, options, UDP, fragments", test_plain },
		{ "two tags, IPv6 with extension headers, TCP", test_tags_and_ip6 },
		{ "VXLAN, GRE, MPLS, ESP", test_tunnels },
		{ "checksums", test_checksum },
		{ "segments of a large send", test_segments },
		{ "the check sequence", test_fcs },
		{ "random bytes", test_garbage },
		{ NULL, NULL },
	};

	return cu_run("frame", tests);
}
