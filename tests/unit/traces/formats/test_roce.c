/* SPDX-License-Identifier: MIT */
/*
 * Frames: each packet encoded and decoded, checksums compared with published and captured ones.
 */
#include "tests/lib/c/cu.h"
#include "tests/unit/traces/formats/roce_any.h"
#include "tests/lib/c/roce_same.h"

#include <dirent.h>
#include <pcap/pcap.h>
#include <stdlib.h>

static u8 frame[ROCE_FRAME_MAX + 16], again[ROCE_FRAME_MAX + 16];

static void there_and_back(u32 net, u8 opcode, u32 len)
{
	struct roce_pkt p, q;
	u32 wire = 0, hdrs = roce_headers(opcode), wrong = 0;
	int n;

	p = roce_any(net, opcode, len);
	n = roce_build(&p, frame, sizeof(frame), &wire);
	CU_ASSERT_EQUAL(n, (int)wire);
	CU_ASSERT_EQUAL(wire, roce_frame_len(&p));
	if (!hdrs)
		wrong = ROCE_BAD_OPCODE;
	else if (len && !(hdrs & ROCE_PAYLOAD))
		wrong = ROCE_BAD_PAYLOAD;
	CU_ASSERT_EQUAL(roce_parse(roce_link_of(net), frame, wire, wire, &q), 0);
	CU_ASSERT_EQUAL(q.wrong, wrong);
	CU_ASSERT_EQUAL(q.pad, -len & 3u);
	CU_ASSERT(roce_same(&p, &q));
	CU_ASSERT_EQUAL(roce_build(&q, again, sizeof(again), &wire), n);
	CU_ASSERT_EQUAL(memcmp(frame, again, (size_t)n), 0);
}

static void test_round_trip(void)
{
	static const u32 lens[] = { 0, 1, 2, 3, 4, 5, 8, 63, 256, 1023, 4096 };
	u32 net, op, i, known = 0;

	for (op = 0; op < 256; op++) {
		known += roce_headers((u8)op) != 0;
		for (net = 0; net < ROCE_NETS; net++)
			for (i = 0; i < ARRAY_SIZE(lens); i++)
				there_and_back(net, (u8)op, lens[i]);
	}
	/* RC, UC, RD, UD, XRC, CNP. */
	CU_ASSERT_EQUAL(known, 25 + 12 + 22 + 2 + 25 + 1);
}

static void test_vlan(void)
{
	u32 i, n, wire;
	struct roce_pkt p, q;

	for (i = 1; i <= 2; i++) {
		p = roce_any(ROCE_IP4, ROCE_SEND_ONLY, 5);
		p.vlan[0] = i == 1 ? ROCE_VLAN(7) : 0x88a8u << 16 | 1;
		p.vlan[1] = i == 1 ? 0 : ROCE_VLAN(0x6123);
		n = (u32)roce_build(&p, frame, sizeof(frame), &wire);
		CU_ASSERT_EQUAL(n, 14 + 20 + 8 + 12 + 8 + 4 + i * 4);
		CU_ASSERT_EQUAL(roce_parse(ROCE_LINK_ETHERNET, frame, wire, wire, &q), 0);
		CU_ASSERT_EQUAL(q.wrong, 0);
		CU_ASSERT(roce_same(&p, &q));
	}
}

/* A snap length: a prefix of the frame, made of no more payload than it needs. */
static void test_snap(void)
{
	static const u8 ops[] = { ROCE_SEND_ONLY, ROCE_WRITE_ONLY_IMM, ROCE_CMP_SWAP,
				  ROCE_OPCODE(ROCE_UD, ROCE_SEND_ONLY) };
	u32 net, i, snap, wire, wire2, need;
	struct roce_pkt p, q, cut;
	u8 *some, *out;
	int n, ret;

	for (net = 0; net < ROCE_NETS; net++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			p = roce_any(net, ops[i], ops[i] == ROCE_CMP_SWAP ? 0 : 61);
			n = roce_build(&p, frame, sizeof(frame), &wire);
			for (snap = 0; snap <= wire; snap++) {
				/*
				 * Memory of just that size: what is beyond it shows in sanitizers.
				 */
				need = roce_payload_needed(&p, snap);
				cut = p;
				cut.payload = some = malloc(need ? need : 1);
				cut.payload_cap = need;
				memcpy(some, p.payload, need);
				out = malloc(snap ? snap : 1);
				CU_ASSERT_EQUAL(roce_build(&cut, out, snap, &wire2), (int)snap);
				CU_ASSERT_EQUAL(wire2, (u32)n);
				CU_ASSERT_EQUAL(memcmp(out, frame, snap), 0);
				ret = roce_parse(roce_link_of(net), out, snap, wire, &q);
				CU_ASSERT(ret == 0 || ret == -EBADMSG || ret == -ENOMSG);
				CU_ASSERT_EQUAL(q.wrong & ROCE_CUT, snap < wire ? ROCE_CUT : 0);
				if (!ret)
					CU_ASSERT(roce_same(&p, &q) && !(q.wrong & ~ROCE_CUT));
				/* All headers are in the first ROCE_HDR_MAX bytes. */
				CU_ASSERT(!ret || snap < ROCE_HDR_MAX);
				if (need) {
					cut.payload_cap--;
					CU_ASSERT_EQUAL(roce_build(&cut, out, snap, &wire2),
							-EINVAL);
				}
				free(some);
				free(out);
			}
		}
	}
}

/*
 * The frame of the packet behind one, made of its frame: as if made anew, whatever is captured of
 * it.
 */
static void test_next(void)
{
	static u8 next[ROCE_FRAME_MAX];
	static u8 other[61];
	u32 net, op, snap, wire, wire2, ids;
	struct roce_pkt p, q;
	int n;

	for (net = 0; net < ROCE_NETS; net++) {
		for (op = 0; op < 256; op++) {
			if (!roce_headers((u8)op))
				continue;
			p = roce_any(net, (u8)op, roce_headers((u8)op) & ROCE_PAYLOAD ? 61 : 0);
			q = p;
			roce_any_bytes(other, sizeof(other));
			q.payload = other;
			for (snap = 0; snap <= roce_frame_len(&p); snap++) {
				/*
				 * Each step from and to the ends of what a 16-bit checksum carries.
				 */
				ids = (u32)roce_any_number();
				p.ip_id = snap % 3 ? (u16)ids : 0;
				q.ip_id = snap % 5 ? (u16)(ids >> 16) : 0xffff;
				q.psn = roce_any_number() & 0xffffff;
				roce_build(&p, next, snap, &wire);
				n = roce_build(&q, frame, snap, &wire);
				CU_ASSERT_EQUAL(roce_build_next(&q, next, snap, &wire2), n);
				CU_ASSERT_EQUAL(wire, wire2);
				CU_ASSERT_EQUAL(memcmp(next, frame, snap), 0);
			}
			q.payload_cap = 0;
			if (q.payload_len)
				CU_ASSERT_EQUAL(roce_build_next(&q, next, sizeof(next), &wire2),
						-EINVAL);
		}
	}
}

/* What stands around a payload makes the same frame, also after that of another packet. */
static void test_around(void)
{
	static const u32 lens[] = { 0, 1, 61, 64, 4096 }, nets[] = { ROCE_IP4, ROCE_IP6 };
	static u8 room[4096];
	struct roce_frame before, f;
	struct roce_pkt p, q;
	u32 op, i, wire;

	for (op = 0; op < 256 * ARRAY_SIZE(nets) * ARRAY_SIZE(lens); op++) {
		p = roce_any(nets[op / 256 % ARRAY_SIZE(nets)], (u8)op,
			     lens[op / 256 / ARRAY_SIZE(nets)]);
		q = p;
		q.ip_id ^= 0x8001;
		q.psn ^= 0x800001;
		CU_ASSERT_EQUAL(roce_build_around(&q, NULL, NULL, &before), 0);
		for (i = 0; i < 4; i++) {
			CU_ASSERT_EQUAL(roce_build_around(&p, i & 1 ? &before : NULL,
							  i & 2 ? room : NULL, &f),
					0);
			CU_ASSERT_PTR_EQUAL(f.payload, i & 2 ? room : p.payload);
			roce_build(&p, frame, sizeof(frame), &wire);
			CU_ASSERT_FATAL(f.head_len + f.payload_len + f.tail_len == wire);
			CU_ASSERT(!memcmp(f.head, frame, f.head_len));
			CU_ASSERT(!memcmp(f.payload, frame + f.head_len, f.payload_len));
			CU_ASSERT(!memcmp(f.tail, frame + wire - f.tail_len, f.tail_len));
		}
	}
	p.udp_sum = true;
	CU_ASSERT_EQUAL(roce_build_around(&p, NULL, NULL, &f), -EINVAL);
	p = roce_any(ROCE_IB, ROCE_SEND_ONLY, 4);
	CU_ASSERT_EQUAL(roce_build_around(&p, NULL, NULL, &f), -EINVAL);
	p = roce_any(ROCE_IP4, ROCE_SEND_ONLY, 4);
	p.payload_cap = 3;
	CU_ASSERT_EQUAL(roce_build_around(&p, NULL, NULL, &f), -EINVAL);
}

/* --- checksums --- */

/* IBTA volume 1, 7.8.2: the sample of a local packet, with its ICRC and VCRC. */
static void test_sample(void)
{
	static const u8 sample[] = {
		0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87,
		0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c,
		0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
		0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69,
		0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
	};
	struct roce_pkt p;
	u32 wire;

	CU_ASSERT_EQUAL(roce_parse(ROCE_LINK_IB, sample, sizeof(sample), sizeof(sample), &p), 0);
	CU_ASSERT_EQUAL(p.wrong, 0);
	CU_ASSERT_EQUAL(p.net, ROCE_IB);
	CU_ASSERT_EQUAL(p.vl, 7);
	CU_ASSERT_EQUAL(p.sl, 1);
	CU_ASSERT_EQUAL(p.dlid, 0x375c);
	CU_ASSERT_EQUAL(p.slid, 0x17d2);
	CU_ASSERT_EQUAL(p.opcode, ROCE_WRITE_ONLY);
	CU_ASSERT_EQUAL(p.pkey, 0x2487);
	CU_ASSERT_EQUAL(p.dqpn, 0x87b1b3);
	CU_ASSERT_EQUAL(p.psn, 0x0dec2a);
	CU_ASSERT_EQUAL(p.va, 0x01710a1c015d4002);
	CU_ASSERT_EQUAL(p.rkey, 0x38f27a05);
	CU_ASSERT_EQUAL(p.dma_len, 14);
	CU_ASSERT_EQUAL(p.payload_len, 14);
	CU_ASSERT_EQUAL(roce_build(&p, frame, sizeof(frame), &wire), sizeof(sample));
	CU_ASSERT_EQUAL(memcmp(frame, sample, sizeof(sample)), 0);
}

/* The fields that the ICRC masks, as bits of bytes from @head on; the BTH begins at @bth. */
static bool variant(u32 net, u32 bth, u32 at, u32 bit)
{
	u32 ip = net == ROCE_IB_GRH ? 8 : 0;

	if (at == bth + 4)
		return true;
	if (net == ROCE_IB || net == ROCE_IB_GRH) {
		if (at == 0)
			return bit >= 4;
		if (net == ROCE_IB || at < 8)
			return false;
	}
	at -= ip;
	bth -= ip;
	if (net == ROCE_IP4)
		return at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27;
	if (at >= bth || (net == ROCE_IP6 && at >= 46))
		return net == ROCE_IP6 && at < 48;
	return (at == 0 && bit < 4) || (at > 0 && at < 4) || at == 7;
}

/* Each bit of a frame is in the ICRC, or is one that routers and switches may change. */
static void test_each_bit(void)
{
	static const u32 bth[] = { 28, 48, 40, 8, 48 };
	u32 net, at, bit, wire, head, crcs;
	struct roce_pkt p, q;
	int ret;
	bool bad;

	for (net = 0; net < ROCE_NETS; net++) {
		p = roce_any(net, ROCE_WRITE_ONLY, 30);
		roce_build(&p, frame, sizeof(frame), &wire);
		head = net == ROCE_IB || net == ROCE_IB_GRH ? 0 : 14;
		for (at = head; at < wire; at++) {
			for (bit = 0; bit < 8; bit++) {
				frame[at] ^= (u8)(1 << bit);
				ret = roce_parse(roce_link_of(net), frame, wire, wire, &q);
				frame[at] ^= (u8)(1 << bit);
				crcs = q.wrong & (ROCE_BAD_ICRC | ROCE_BAD_VCRC);
				if (ret)
					continue; /* a length, a version, what it carries */
				bad = !variant(net, bth[net], at - head, bit);
				if (!head && at >= wire - 2)
					bad = false; /* the VCRC */
				CU_ASSERT_EQUAL(!!(crcs & ROCE_BAD_ICRC), bad);
				CU_ASSERT_EQUAL(!!(crcs & ROCE_BAD_VCRC), !head);
			}
		}
	}
}

/* A packet that is to be corrupt is, and nothing else of it. */
static void test_corrupt(void)
{
	struct roce_pkt p, q;
	u32 net, wire;

	for (net = 0; net < ROCE_NETS; net++) {
		p = roce_any(net, ROCE_SEND_ONLY, 30);
		p.icrc_xor = 0x80000001;
		roce_build(&p, frame, sizeof(frame), &wire);
		CU_ASSERT_EQUAL(roce_parse(roce_link_of(net), frame, wire, wire, &q), 0);
		CU_ASSERT_EQUAL(q.wrong, ROCE_BAD_ICRC);
		p.icrc_xor = 0;
		roce_build(&p, again, sizeof(again), &wire);
		CU_ASSERT_EQUAL(roce_parse(roce_link_of(net), again, wire, wire, &p), 0);
		CU_ASSERT_EQUAL(q.icrc ^ p.icrc, 0x80000001);
	}
}

/* The identification is found from the ICRC, unless another byte is wrong. */
static void test_ip_id(void)
{
	u32 wire, i, len, wrong = 0;
	u8 *ip = frame + 14;
	struct roce_pkt p;
	u16 id;

	for (i = 0; i < 2000; i++) {
		len = i % 4097;
		p = roce_any(ROCE_IP4, ROCE_WRITE_ONLY, len);
		memset(p.vlan, 0, sizeof(p.vlan));
		p.ip_id = (u16)(i * 40503u);
		CU_ASSERT_FATAL(roce_build(&p, frame, sizeof(frame), &wire) > 0);
		memset(ip + 4, 0, 2);
		CU_ASSERT(roce_find_ip_id(ip, wire - 14, &id));
		CU_ASSERT_EQUAL(id, p.ip_id);
		ip[28 + 8 + i % 4] ^= (u8)(1u << i % 8);
		wrong += roce_find_ip_id(ip, wire - 14, &id);
	}
	/* One in 65536 is right by chance. */
	CU_ASSERT(wrong <= 2);
	CU_ASSERT(!roce_find_ip_id(ip, 43, &id));
}

/* --- frames of the kernel's soft device --- */

static u32 read_pcap(const char *path)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(path, err);
	struct pcap_pkthdr *h;
	struct roce_pkt p;
	const u8 *bytes;
	u32 n = 0, wire = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pcap);
	for (; pcap_next_ex(pcap, &h, &bytes) == 1; n++) {
		CU_ASSERT_EQUAL(roce_parse((u32)pcap_datalink(pcap), bytes, h->caplen, h->len, &p),
				0);
		CU_ASSERT_EQUAL(p.wrong, 0);
		CU_ASSERT_EQUAL(roce_build(&p, frame, sizeof(frame), &wire), (int)h->len);
		CU_ASSERT_EQUAL(memcmp(frame, bytes, h->caplen), 0);
	}
	pcap_close(pcap);
	return n;
}

static void test_rxe(void)
{
	DIR *dir = opendir("tests/data/traces");
	char path[300];
	struct dirent *d;
	u32 files = 0, frames = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	if (!dir)
		return;
	while ((d = readdir(dir))) {
		if (!strstr(d->d_name, ".pcap"))
			continue;
		snprintf(path, sizeof(path), "tests/data/traces/%s", d->d_name);
		files++;
		frames += read_pcap(path);
	}
	closedir(dir);
	CU_ASSERT_EQUAL(files, 10);
	CU_ASSERT(frames > 50);
}

/* --- limits --- */

static void test_limits(void)
{
	static const u32 most[ROCE_NETS] = { 65535 - 20 - 8 - 16, 65535 - 40 - 8 - 16,
					     65535 - 40 - 16, 2047 * 4 - 8 - 16,
					     2047 * 4 - 8 - 40 - 16 };
	struct roce_pkt p;
	u32 net, wire;

	for (net = 0; net < ROCE_NETS; net++) {
		there_and_back(net, ROCE_SEND_ONLY, most[net] & ~3u);
		p = roce_any(net, ROCE_SEND_ONLY, (most[net] & ~3u) + 1);
		CU_ASSERT_EQUAL(roce_build(&p, frame, sizeof(frame), &wire), -EMSGSIZE);
		p.payload_len = ~0u;
		CU_ASSERT_EQUAL(roce_build(&p, frame, sizeof(frame), &wire), -EMSGSIZE);
	}
#define TOO_WIDE(field, v)                                                                         \
	do {                                                                                       \
		p = roce_any(ROCE_IP6, ROCE_SEND_ONLY, 4);                                         \
		p.field = v;                                                                       \
		CU_ASSERT_EQUAL(roce_build(&p, frame, sizeof(frame), &wire), -EINVAL);             \
	} while (0)
	TOO_WIDE(net, ROCE_NETS);
	TOO_WIDE(psn, 1u << 24);
	TOO_WIDE(dqpn, 1u << 24);
	TOO_WIDE(msn, 1u << 24);
	TOO_WIDE(sqpn, 1u << 24);
	TOO_WIDE(srqn, 1u << 24);
	TOO_WIDE(eec, 1u << 24);
	TOO_WIDE(flow_label, 1u << 20);
	TOO_WIDE(sl, 16);
	TOO_WIDE(vl, 16);
	TOO_WIDE(tver, 16);
	TOO_WIDE(resv7, 128);
#undef TOO_WIDE
}

static void test_syndromes(void)
{
	CU_ASSERT_FALSE(roce_is_nak(0x00));
	CU_ASSERT_FALSE(roce_is_nak(0x1f));
	CU_ASSERT_STRING_EQUAL(roce_syndrome_name(0x1f), "ACK");
	CU_ASSERT_TRUE(roce_is_nak(0x2e));
	CU_ASSERT_STRING_EQUAL(roce_syndrome_name(0x2e), "RNR NAK");
	CU_ASSERT_TRUE(roce_is_nak(0x60));
	CU_ASSERT_STRING_EQUAL(roce_syndrome_name(0x60), "NAK sequence");
	CU_ASSERT_STRING_EQUAL(roce_syndrome_name(0x63), "NAK remote operation");
	CU_ASSERT_STRING_EQUAL(roce_syndrome_name(0x64), "NAK");
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "each opcode on each network, there and back", test_round_trip },
		{ "VLAN tags", test_vlan },
		{ "snap lengths", test_snap },
		{ "the next packet's frame", test_next },
		{ "what stands around a payload", test_around },
		{ "the specification's sample packet", test_sample },
		{ "each bit of a frame and the checksums", test_each_bit },
		{ "a corrupt packet", test_corrupt },
		{ "the identification that a socket does not show", test_ip_id },
		{ "the kernel's frames are made again byte for byte", test_rxe },
		{ "limits", test_limits },
		{ "what an AETH says", test_syndromes },
		{ NULL, NULL },
	};

	return cu_run("roce", tests);
}
