/* SPDX-License-Identifier: MIT */
/* Parses frames into packets. See roce.h. */
#include "traces/formats/roce_model.h"

#define IP6_EXTS 8u

/**
 * struct view - the rest of a frame: @cap bytes are present at @p, of @len that were on the wire.
 * The parser takes headers off its front.
 * @bad: a header was not completely present; the rest is empty then
 * @head: the first header of the network layer, where the ICRC begins
 * @behind: captured bytes after the packet, which may be its VCRC
 */
struct view {
	const u8 *p;
	u32 cap, len;
	bool bad;
	const u8 *head;
	u32 behind;
};

static const u8 *view_take(struct view *v, u32 n)
{
	static const u8 nothing[64];
	const u8 *p = v->p;

	if (v->bad || n > v->cap || n > v->len) {
		v->bad = true;
		v->cap = v->len = 0;
		return nothing;
	}
	v->p += n;
	v->cap -= n;
	v->len -= n;
	return p;
}

/* An inner length ends the packet; the bytes after it are padding, or belong to the link. */
static int view_clip(struct view *v, u32 len, struct roce_pkt *p)
{
	if (v->bad)
		return 0;
	if (len > v->len) {
		p->wrong |= ROCE_BAD_LEN;
		return -EBADMSG;
	}
	v->behind = v->cap > len ? v->cap - len : 0;
	v->len = len;
	v->cap = min_u32(v->cap, len);
	return 0;
}

static u16 le16_get(const u8 *p)
{
	return (u16)(p[1] << 8 | p[0]);
}

static u32 le32_get(const u8 *p)
{
	return (u32)le16_get(p + 2) << 16 | le16_get(p);
}

/* --- the transport --- */

static void frame_parse_bth(struct view *v, struct roce_pkt *p)
{
	const u8 *bth = view_take(v, BTH_LEN);

	p->opcode = bth[0];
	p->solicited = bth[1] >> 7;
	p->mig = bth[1] >> 6 & 1;
	p->pad = bth[1] >> 4 & 3;
	p->tver = bth[1] & 15;
	p->pkey = (u16)be_get(bth + 2, 2);
	p->ecn = bth[4];
	p->dqpn = (u32)be_get(bth + 5, 3);
	p->ack_req = bth[8] >> 7;
	p->resv7 = bth[8] & 0x7f;
	p->psn = (u32)be_get(bth + 9, 3);
	if (p->tver)
		p->wrong |= ROCE_BAD_TVER;
}

/* @bth: the packet's BTH; @v: the rest after its headers. The whole packet was captured. */
static void frame_parse_check_crcs(const struct view *v, const u8 *bth, struct roce_pkt *p)
{
	const u8 *end = v->p + v->len - ICRC_LEN;

	p->icrc = le32_get(end);
	if (p->icrc != roce_icrc(p->net, v->head, bth, end))
		p->wrong |= ROCE_BAD_ICRC;
	if (!net_is_ib(p->net) || v->behind < VCRC_LEN)
		return;
	end += ICRC_LEN;
	p->vcrc = le16_get(end);
	if (p->vcrc != roce_vcrc(v->head, (u32)(end - v->head)))
		p->wrong |= ROCE_BAD_VCRC;
}

/* Parses from the BTH to the ICRC. */
static int frame_parse_transport(struct view *v, struct roce_pkt *p)
{
	const u8 *bth = v->p, *hdr;
	u32 hdrs, len;

	frame_parse_bth(v, p);
	hdrs = roce_headers(p->opcode);
	if (!hdrs)
		p->wrong |= ROCE_BAD_OPCODE;
	len = roce_hdr_len(hdrs);
	hdr = view_take(v, len);
	if (!v->bad)
		roce_hdr_get(hdrs, hdr, p);
	if (v->bad || v->len < ICRC_LEN) {
		p->wrong |= ROCE_BAD_SHORT;
		return -EBADMSG;
	}
	if (v->len < ICRC_LEN + p->pad) {
		p->wrong |= ROCE_BAD_PAD;
		return -EBADMSG;
	}
	if (v->len & 3)
		p->wrong |= ROCE_BAD_PAD;
	p->payload = v->p;
	p->payload_len = v->len - ICRC_LEN - p->pad;
	p->payload_cap = min_u32(p->payload_len, v->cap);
	if (hdrs && !(hdrs & ROCE_PAYLOAD) && v->len > ICRC_LEN)
		p->wrong |= ROCE_BAD_PAYLOAD;
	if (v->cap == v->len)
		frame_parse_check_crcs(v, bth, p);
	return 0;
}

/* --- network layer --- */

static int frame_parse_udp(struct view *v, struct roce_pkt *p)
{
	const u8 *udp = view_take(v, UDP_LEN);
	u32 len = (u32)be_get(udp + 4, 2);

	if (be_get(udp + 2, 2) != ROCE_UDP_PORT)
		return -ENOMSG;
	p->udp_src = (u16)be_get(udp, 2);
	p->udp_csum = (u16)be_get(udp + 6, 2);
	if (len < UDP_LEN || view_clip(v, len - UDP_LEN, p)) {
		p->wrong |= ROCE_BAD_LEN;
		return -EBADMSG;
	}
	if (v->behind)
		p->wrong |= ROCE_BAD_LEN;
	if (p->udp_csum && v->cap == v->len && roce_csum_udp(udp, len, p))
		p->wrong |= ROCE_BAD_UDP_CSUM;
	return frame_parse_transport(v, p);
}

static void gid_set_ip4(u8 gid[16], const u8 *ip)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, ip, 4);
}

static int frame_parse_ip4(struct view *v, struct roce_pkt *p)
{
	const u8 *ip = v->head = view_take(v, IP4_LEN);
	u32 hdr = (ip[0] & 15) * 4u, len = (u32)be_get(ip + 2, 2);

	p->net = ROCE_IP4;
	p->tclass = ip[1];
	p->ip_id = (u16)be_get(ip + 4, 2);
	p->ip_frag = (u16)be_get(ip + 6, 2);
	p->hop_limit = ip[8];
	gid_set_ip4(p->sgid, ip + 12);
	gid_set_ip4(p->dgid, ip + 16);
	/* Not UDP, or a later fragment, which has no headers. */
	if (v->bad || ip[0] >> 4 != 4 || ip[9] != PROTO_UDP || p->ip_frag & 0x1fff)
		return -ENOMSG;
	if (hdr < IP4_LEN || len < hdr || view_clip(v, len - IP4_LEN, p)) {
		p->wrong |= ROCE_BAD_LEN;
		return -EBADMSG;
	}
	view_take(v, hdr - IP4_LEN);
	if (!v->bad && roce_csum_fold(roce_csum_add(0, ip, hdr)))
		p->wrong |= ROCE_BAD_IP_CSUM;
	v->behind = 0;
	return frame_parse_udp(v, p);
}

/* The common part of IPv6 headers and GRHs. Return: 0 or -EBADMSG. */
static int frame_parse_ip6_header(struct view *v, struct roce_pkt *p, u8 *next)
{
	const u8 *ip = view_take(v, IP6_LEN);

	p->tclass = (u8)(be_get(ip, 2) >> 4);
	p->flow_label = be_get(ip, 4) & 0xfffff;
	*next = ip[6];
	p->hop_limit = ip[7];
	memcpy(p->sgid, ip + 8, 16);
	memcpy(p->dgid, ip + 24, 16);
	if (!v->bad && ip[0] >> 4 != 6)
		p->wrong |= ROCE_BAD_GRH;
	if (v->bad)
		p->wrong |= ROCE_BAD_SHORT;
	if (p->wrong & (ROCE_BAD_GRH | ROCE_BAD_SHORT))
		return -EBADMSG;
	return view_clip(v, (u32)be_get(ip + 4, 2), p);
}

static int frame_parse_ip6(struct view *v, struct roce_pkt *p)
{
	const u8 *ext;
	u8 next;
	u32 i;

	v->head = v->p;
	p->net = ROCE_IP6;
	if (frame_parse_ip6_header(v, p, &next))
		return p->wrong & ROCE_BAD_LEN ? -EBADMSG : -ENOMSG;
	/* Skip hop-by-hop options, destination options and routing headers. */
	for (i = 0; i < IP6_EXTS && (next == 0 || next == 43 || next == 60) && !v->bad; i++) {
		ext = view_take(v, 8);
		next = ext[0];
		view_take(v, ext[1] * 8u);
	}
	v->behind = 0;
	return next == PROTO_UDP ? frame_parse_udp(v, p) : -ENOMSG;
}

static int frame_parse_grh(struct view *v, struct roce_pkt *p)
{
	u32 outside = v->behind;
	u8 next;

	if (frame_parse_ip6_header(v, p, &next))
		return -EBADMSG;
	if (next != NEXT_BTH)
		return -ENOMSG;
	if (net_is_ib(p->net)) {
		/* LRH and GRH both contain a length. */
		if (v->behind)
			p->wrong |= ROCE_BAD_LEN;
		v->behind = v->behind ? 0 : outside;
	}
	return frame_parse_transport(v, p);
}

static int frame_parse_ether(struct view *v, u32 type, struct roce_pkt *p)
{
	const u8 *tag;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->vlan) && (type == ETH_VLAN || type == ETH_QINQ); i++) {
		tag = view_take(v, VLAN_LEN);
		p->vlan[i] = type << 16 | (u32)be_get(tag, 2);
		type = (u32)be_get(tag + 2, 2);
	}
	switch (type) {
	case ETH_IP4:
		return frame_parse_ip4(v, p);
	case ETH_IP6:
		return frame_parse_ip6(v, p);
	case ETH_ROCE:
		p->net = ROCE_V1;
		v->head = v->p;
		return frame_parse_grh(v, p);
	default:
		return -ENOMSG;
	}
}

static int frame_parse_macs(struct view *v, struct roce_pkt *p)
{
	const u8 *eth = view_take(v, ETH_LEN);

	memcpy(p->eth_dst, eth, 6);
	memcpy(p->eth_src, eth + 6, 6);
	return frame_parse_ether(v, (u32)be_get(eth + 12, 2), p);
}

static int frame_parse_ip(struct view *v, struct roce_pkt *p)
{
	if (!v->cap)
		return -ENOMSG;
	return v->p[0] >> 4 == 4 ? frame_parse_ip4(v, p) : frame_parse_ip6(v, p);
}

/* InfiniBand: LRH, and a GRH if LNH says so. */
static int frame_parse_ib(struct view *v, struct roce_pkt *p)
{
	const u8 *lrh = v->head = view_take(v, LRH_LEN);
	u32 next = lrh[1] & 3, words = be_get(lrh + 4, 2) & PKTLEN_MAX;

	if (v->bad)
		p->wrong |= ROCE_BAD_SHORT;
	else if (next < LNH_BTH)
		return -ENOMSG;
	else if (words * 4 < LRH_LEN || view_clip(v, words * 4 - LRH_LEN, p))
		p->wrong |= ROCE_BAD_LEN;
	if (p->wrong & (ROCE_BAD_SHORT | ROCE_BAD_LEN))
		return -EBADMSG;
	p->net = next == LNH_GRH ? ROCE_IB_GRH : ROCE_IB;
	p->vl = lrh[0] >> 4;
	p->sl = lrh[1] >> 4;
	p->dlid = (u16)be_get(lrh + 2, 2);
	p->slid = (u16)be_get(lrh + 6, 2);
	if (lrh[0] & 15)
		p->wrong |= ROCE_BAD_GRH;
	return next == LNH_GRH ? frame_parse_grh(v, p) : frame_parse_transport(v, p);
}

static int frame_parse_erf(struct view *v, struct roce_pkt *p)
{
	const u8 *erf = view_take(v, ROCE_ERF_LEN);
	u32 type = erf[8] & 0x7f, i;
	u8 more = erf[8] & 0x80;

	for (i = 0; more && i < 16; i++)
		more = view_take(v, 8)[0] & 0x80;
	if (type == ERF_IB)
		return frame_parse_ib(v, p);
	if (type != ERF_ETH)
		return -ENOMSG;
	view_take(v, 2);
	return frame_parse_macs(v, p);
}

/* --- the frame --- */

bool roce_link_known(u32 link)
{
	switch (link) {
	case ROCE_LINK_ETHERNET:
	case ROCE_LINK_RAW_OLD:
	case ROCE_LINK_RAW:
	case ROCE_LINK_SLL:
	case ROCE_LINK_ERF:
	case ROCE_LINK_IPV4:
	case ROCE_LINK_IPV6:
	case ROCE_LINK_IB:
	case ROCE_LINK_SLL2:
		return true;
	default:
		return false;
	}
}

static int frame_parse_frame(u32 link, struct view *v, struct roce_pkt *p)
{
	switch (link) {
	case ROCE_LINK_ETHERNET:
		return frame_parse_macs(v, p);
	case ROCE_LINK_SLL:
		return frame_parse_ether(v, (u32)be_get(view_take(v, 16) + 14, 2), p);
	case ROCE_LINK_SLL2:
		return frame_parse_ether(v, (u32)be_get(view_take(v, 20), 2), p);
	case ROCE_LINK_IB:
		return frame_parse_ib(v, p);
	case ROCE_LINK_ERF:
		return frame_parse_erf(v, p);
	default:
		return frame_parse_ip(v, p);
	}
}

int roce_parse(u32 link, const u8 *frame, u32 caplen, u32 len, struct roce_pkt *p)
{
	struct view v = { .p = frame, .cap = min_u32(caplen, len), .len = len };

	memset(p, 0, sizeof(*p));
	if (!roce_link_known(link))
		return -ENOMSG;
	if (caplen < len)
		p->wrong = ROCE_CUT;
	return frame_parse_frame(link, &v, p);
}

const char *roce_wrong_text(u32 wrong)
{
	static const char *const text[] = {
		"too short for its headers",
		"lengths that contradict each other",
		"bad IP checksum",
		"bad UDP checksum",
		"bad version or next header of GRH or LRH",
		"bad transport header version",
		"unknown opcode",
		"bad pad count",
		"payload where its opcode has none",
		"bad ICRC",
		"bad VCRC",
		"not all of it was captured",
	};
	u32 i = wrong ? (u32)__builtin_ctz(wrong) : ARRAY_SIZE(text);

	return i < ARRAY_SIZE(text) ? text[i] : "";
}
