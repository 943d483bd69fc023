/* SPDX-License-Identifier: MIT */
/* Builds frames from packets. See roce.h. */
#include "traces/formats/roce_model.h"

/** struct lens - bytes of a frame's parts. @l3: IP header or GRH; @bth: with extended headers */
struct lens {
	u32 l2, l3, udp, bth, payload, pad;
};

static void build_lens(const struct roce_pkt *p, struct lens *n)
{
	u32 i;

	*n = (struct lens){ .l2 = net_is_ib(p->net) ? LRH_LEN : ETH_LEN,
			    .udp = net_is_udp(p->net) ? UDP_LEN : 0,
			    .bth = BTH_LEN + roce_hdr_len(roce_headers(p->opcode)),
			    .payload = p->payload_len,
			    .pad = -p->payload_len & 3u };
	if (p->net == ROCE_IP4)
		n->l3 = IP4_LEN;
	else if (p->net != ROCE_IB)
		n->l3 = IP6_LEN;
	for (i = 0; i < ARRAY_SIZE(p->vlan) && !net_is_ib(p->net); i++)
		n->l2 += p->vlan[i] ? VLAN_LEN : 0;
}

static u32 build_headers_len(const struct lens *n)
{
	return n->l2 + n->l3 + n->udp + n->bth;
}

/* From the BTH to the ICRC. */
static u32 build_transport_len(const struct lens *n)
{
	return n->bth + n->payload + n->pad + ICRC_LEN;
}

static u32 build_wire_len(const struct roce_pkt *p, const struct lens *n)
{
	return build_headers_len(n) - n->bth + build_transport_len(n) +
	       (net_is_ib(p->net) ? VCRC_LEN : 0);
}

u32 roce_link_of(u32 net)
{
	return net_is_ib(net) ? ROCE_LINK_IB : ROCE_LINK_ETHERNET;
}

u32 roce_frame_len(const struct roce_pkt *p)
{
	struct lens n;

	build_lens(p, &n);
	return build_wire_len(p, &n);
}

static u32 build_payload_needed(const struct lens *n, u32 snap)
{
	u32 at = build_headers_len(n);

	if (snap > at + n->payload + n->pad)
		return n->payload;
	return snap > at ? min_u32(snap - at, n->payload) : 0;
}

u32 roce_payload_needed(const struct roce_pkt *p, u32 snap)
{
	struct lens n;

	build_lens(p, &n);
	return build_payload_needed(&n, snap);
}

/* --- headers --- */

static u8 *build_put_eth(u8 *at, const struct roce_pkt *p)
{
	static const u16 types[] = {
		[ROCE_IP4] = ETH_IP4, [ROCE_IP6] = ETH_IP6, [ROCE_V1] = ETH_ROCE
	};
	u32 i;

	memcpy(at, p->eth_dst, 6);
	memcpy(at + 6, p->eth_src, 6);
	at += 12;
	for (i = 0; i < ARRAY_SIZE(p->vlan); i++) {
		if (!p->vlan[i])
			continue;
		be_put(at, VLAN_LEN, p->vlan[i]);
		at += VLAN_LEN;
	}
	be_put(at, 2, types[p->net]);
	return at + 2;
}

static u8 *build_put_lrh(u8 *at, const struct roce_pkt *p, u32 pktlen)
{
	at[0] = (u8)(p->vl << 4);
	at[1] = (u8)(p->sl << 4 | (p->net == ROCE_IB_GRH ? LNH_GRH : LNH_BTH));
	be_put(at + 2, 2, p->dlid);
	be_put(at + 4, 2, pktlen / 4);
	be_put(at + 6, 2, p->slid);
	return at + LRH_LEN;
}

static u8 *build_put_ip4(u8 *at, const struct roce_pkt *p, u32 len)
{
	at[0] = 4 << 4 | IP4_LEN / 4;
	at[1] = p->tclass;
	be_put(at + 2, 2, IP4_LEN + len);
	be_put(at + 4, 2, p->ip_id);
	be_put(at + 6, 2, p->ip_frag);
	at[8] = p->hop_limit;
	at[9] = PROTO_UDP;
	be_put(at + 10, 2, 0);
	memcpy(at + 12, p->sgid + 12, 4);
	memcpy(at + 16, p->dgid + 12, 4);
	be_put(at + 10, 2, roce_csum_fold(roce_csum_add(0, at, IP4_LEN)));
	return at + IP4_LEN;
}

static u8 *build_put_ip6(u8 *at, const struct roce_pkt *p, u32 len, u8 next)
{
	be_put(at, 4, 6u << 28 | (u32)p->tclass << 20 | p->flow_label);
	be_put(at + 4, 2, len);
	at[6] = next;
	at[7] = p->hop_limit;
	memcpy(at + 8, p->sgid, 16);
	memcpy(at + 24, p->dgid, 16);
	return at + IP6_LEN;
}

static u8 *build_put_udp(u8 *at, const struct roce_pkt *p, u32 len)
{
	be_put(at, 2, p->udp_src);
	be_put(at + 2, 2, ROCE_UDP_PORT);
	be_put(at + 4, 2, len);
	be_put(at + 6, 2, p->udp_csum);
	return at + UDP_LEN;
}

static void build_put_bth(u8 *at, const struct roce_pkt *p, u32 pad)
{
	at[0] = p->opcode;
	at[1] = (u8)(p->solicited << 7 | p->mig << 6 | pad << 4 | p->tver);
	be_put(at + 2, 2, p->pkey);
	at[4] = p->ecn;
	be_put(at + 5, 3, p->dqpn);
	at[8] = (u8)(p->ack_req << 7 | p->resv7);
	be_put(at + 9, 3, p->psn);
}

/* Return: the offset of the BTH. */
static u32 build_put_headers(u8 *hdr, const struct roce_pkt *p, const struct lens *n)
{
	u32 len = build_transport_len(n);
	u8 *at;

	at = net_is_ib(p->net) ? build_put_lrh(hdr, p, n->l2 + n->l3 + len) : build_put_eth(hdr, p);
	if (p->net == ROCE_IP4)
		at = build_put_ip4(at, p, n->udp + len);
	else if (p->net != ROCE_IB)
		at = build_put_ip6(at, p, n->udp + len, net_is_udp(p->net) ? PROTO_UDP : NEXT_BTH);
	if (net_is_udp(p->net))
		at = build_put_udp(at, p, n->udp + len);
	build_put_bth(at, p, n->pad);
	roce_hdr_put(roce_headers(p->opcode), p, at + BTH_LEN);
	return (u32)(at - hdr);
}

/* --- the frame --- */

/* The UDP checksum, last: the ICRC does not cover it, but it covers the ICRC. */
static void build_put_udp_sum(u8 *frame, const struct roce_pkt *p, const struct lens *n)
{
	u8 *udp = frame + n->l2 + n->l3;
	u16 sum;

	if (!p->udp_sum || !net_is_udp(p->net))
		return;
	be_put(udp + 6, 2, 0);
	sum = roce_csum_udp(udp, n->udp + build_transport_len(n), p);
	be_put(udp + 6, 2, sum ? sum : 0xffff);
}

/* Checks that fields whose members are wider than their bits fit. */
static bool build_fields_fit(const struct roce_pkt *p)
{
	u32 three = p->dqpn | p->psn | p->eec | p->sqpn | p->srqn | p->msn;

	return p->net <= ROCE_IB_GRH && p->vl < 16 && p->sl < 16 && p->tver < 16 &&
	       p->resv7 < 128 && p->flow_label < 1u << 20 && three < 1u << 24;
}

/*
 * Writes what follows the payload: padding, ICRC, and for InfiniBand the VCRC, as far as the first
 * @snap bytes of @frame contain them.
 */
static void build_put_tail(u8 *frame, const struct roce_pkt *p, const struct lens *n, u32 bth,
			   u32 snap)
{
	u32 end = build_headers_len(n) + n->payload, l2 = net_is_ib(p->net) ? 0 : n->l2;
	u8 tail[3 + ICRC_LEN + VCRC_LEN] = { 0 }, *whole;
	u32 icrc;

	if (snap <= end)
		return;
	whole = frame + end;
	memset(whole, 0, min_u32(n->pad, snap - end));
	if (snap <= end + n->pad)
		return;
	icrc = roce_icrc(p->net, frame + l2, frame + bth, whole + n->pad) ^ p->icrc_xor;
	icrc = __builtin_bswap32(icrc);
	be_put(tail, ICRC_LEN, icrc);
	memcpy(whole + n->pad, tail, min_u32(ICRC_LEN, snap - end - n->pad));
	end += n->pad + ICRC_LEN;
	if (snap <= end)
		return;
	be_put(tail, VCRC_LEN, __builtin_bswap16(roce_vcrc(frame, end)));
	memcpy(frame + end, tail, min_u32(VCRC_LEN, snap - end));
}

/*
 * Sets @n, @wire_len, and @payload: the bytes of payload in the first @snap.
 * Return: 0, or -errno as roce_build().
 */
static int build_measure(const struct roce_pkt *p, struct lens *n, u32 *snap, u32 *payload,
			 u32 *wire_len)
{
	if (!build_fields_fit(p))
		return -EINVAL;
	/* Bounds the sums below. */
	if (p->payload_len > 65535)
		return -EMSGSIZE;
	build_lens(p, n);
	if (n->l3 + n->udp + build_transport_len(n) >
	    (net_is_ib(p->net) ? PKTLEN_MAX * 4 - LRH_LEN : 65535))
		return -EMSGSIZE;
	*wire_len = build_wire_len(p, n);
	*snap = min_u32(*snap, *wire_len);
	*payload = build_payload_needed(n, *snap);
	return *payload > p->payload_cap ? -EINVAL : 0;
}

int roce_build(const struct roce_pkt *p, u8 *buf, u32 snap, u32 *wire_len)
{
	u8 hdr[ROCE_HDR_MAX];
	u32 bth, payload;
	struct lens n;
	int ret = build_measure(p, &n, &snap, &payload, wire_len);

	if (ret)
		return ret;
	bth = build_put_headers(hdr, p, &n);
	memcpy(buf, hdr, min_u32(snap, build_headers_len(&n)));
	if (payload)
		memcpy(buf + build_headers_len(&n), p->payload, payload);
	build_put_tail(buf, p, &n, bth, snap);
	if (snap == *wire_len)
		build_put_udp_sum(buf, p, &n);
	return (int)snap;
}

/* RFC 1624; the header is never all zeros. */
static void build_replace_ip_id(u8 *ip, u16 id)
{
	u32 was = (u32)be_get(ip + 4, 2), sum = ~(u32)be_get(ip + 10, 2) & 0xffff;

	be_put(ip + 4, 2, id);
	be_put(ip + 10, 2, roce_csum_fold((u64)sum + (~was & 0xffff) + id));
}

int roce_build_next(const struct roce_pkt *p, u8 *buf, u32 snap, u32 *wire_len)
{
	u32 bth, payload;
	struct lens n;
	int ret = build_measure(p, &n, &snap, &payload, wire_len);

	if (ret)
		return ret;
	if (snap < build_headers_len(&n))
		return roce_build(p, buf, snap, wire_len);
	bth = build_headers_len(&n) - n.bth;
	if (p->net == ROCE_IP4)
		build_replace_ip_id(buf + n.l2, p->ip_id);
	if (net_is_udp(p->net))
		be_put(buf + n.l2 + n.l3 + 6, 2, p->udp_csum);
	be_put(buf + bth + 9, 3, p->psn);
	if (payload)
		memcpy(buf + build_headers_len(&n), p->payload, payload);
	build_put_tail(buf, p, &n, bth, snap);
	if (snap == *wire_len)
		build_put_udp_sum(buf, p, &n);
	return (int)snap;
}

/*
 * Writes the tail: padding, and the ICRC, which goes on from that of the headers. @room: as for
 * roce_build_around().
 */
static void build_end_around(const struct roce_pkt *p, const struct lens *n, u8 *room,
			     struct roce_frame *f)
{
	const u8 *bth = f->head + f->head_len - n->bth;
	u32 icrc = roce_icrc_begin(p->net, f->head + n->l2, bth);

	icrc = roce_crc32(icrc, bth + BTH_LEN, n->bth - BTH_LEN);
	icrc = room ? roce_crc32_copy(icrc, room, p->payload, n->payload)
		    : roce_crc32(icrc, p->payload, n->payload);
	memset(f->tail, 0, n->pad);
	icrc = roce_crc32(icrc, f->tail, n->pad) ^ p->icrc_xor;
	be_put(f->tail + n->pad, ICRC_LEN, __builtin_bswap32(icrc));
	f->tail_len = n->pad + ICRC_LEN;
	f->payload = room ? room : p->payload;
	f->payload_len = n->payload;
}

int roce_build_around(const struct roce_pkt *p, const struct roce_frame *before, u8 *room,
		      struct roce_frame *f)
{
	u32 snap = ~0u, payload, wire_len;
	struct lens n;
	int ret = build_measure(p, &n, &snap, &payload, &wire_len);

	if (!ret && (!net_is_udp(p->net) || p->udp_sum))
		ret = -EINVAL;
	if (ret)
		return ret;
	f->head_len = build_headers_len(&n);
	if (before) {
		memmove(f->head, before->head, f->head_len);
		if (p->net == ROCE_IP4)
			build_replace_ip_id(f->head + n.l2, p->ip_id);
		be_put(f->head + f->head_len - n.bth + 9, 3, p->psn);
	} else {
		build_put_headers(f->head, p, &n);
	}
	build_end_around(p, &n, room, f);
	return 0;
}

void roce_erf_header(u8 *out, u64 ns, u32 caplen, u32 wire_len)
{
	u64 s = ns / 1000000000, rest = ns % 1000000000;
	u32 i;

	/* Seconds and their fraction in 64 bits. Unlike the rest of the header, little-endian. */
	s = s << 32 | (rest << 32) / 1000000000;
	for (i = 0; i < 8; i++)
		out[i] = (u8)(s >> 8 * i);
	out[8] = ERF_IB;
	out[9] = 1 << 2; /* variable record length */
	be_put(out + 10, 2, ROCE_ERF_LEN + caplen);
	be_put(out + 12, 2, 0);
	be_put(out + 14, 2, wire_len);
}
