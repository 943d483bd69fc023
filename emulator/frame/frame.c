/* SPDX-License-Identifier: MIT */
/**
 * DOC: parsing of frames, see frame.h.
 *
 * Theory of operation
 * -------------------
 * A cursor moves over the headers; whatever does not fit in the bytes that are there ends the
 * parsing, and the fields found so far stand. Ethernet with up to two VLAN tags, IPv4 with options,
 * IPv6 with its extension headers, TCP, UDP, ESP. What carries another stack of headers (VXLAN,
 * GRE, MPLS, IP in IP) has that parsed as the inner layer, once: a tunnel within is not looked
 * into.
 */
#include "emulator/frame/frame.h"

#define ETH_VLAN       0x8100u
#define ETH_QINQ       0x88a8u
#define ETH_QINQ_OLD   0x9100u
#define ETH_IPV4       0x0800u
#define ETH_IPV6       0x86ddu
#define ETH_MPLS       0x8847u
#define ETH_MPLS_MCAST 0x8848u
#define ETH_BRIDGE     0x6558u /* GRE: a frame follows */
#define PROTO_HOPOPT   0u
#define PROTO_IPIP     4u
#define PROTO_IPV6     41u
#define PROTO_ROUTING  43u
#define PROTO_FRAGMENT 44u
#define PROTO_GRE      47u
#define PROTO_ESP      50u
#define PROTO_AH       51u
#define PROTO_DSTOPT   60u
#define PROTO_MPLS     137u
#define UDP_VXLAN      4789u
#define UDP_MPLS       6635u
#define MAX_EXTENSIONS 8u
#define MAX_LABELS     8u

/** enum carried - what comes next. */
enum carried {
	NOTHING,
	A_FRAME,
	AN_IPV4,
	AN_IPV6,
	LABELS,
};

/** struct cursor - the next byte to look at, of @have at @p. @len: of the whole frame. */
struct cursor {
	const u8 *p;
	u32 have;
	u32 at;
	u32 len;
};

/* The next @n bytes, or NULL. */
static const u8 *frame_take_header(struct cursor *c, u32 n)
{
	const u8 *p = c->p + c->at;

	if (n > c->have - c->at)
		return NULL;
	c->at += n;
	return p;
}

static u32 frame_be16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static enum carried parse_ethertype(u32 type)
{
	switch (type) {
	case ETH_IPV4:
		return AN_IPV4;
	case ETH_IPV6:
		return AN_IPV6;
	case ETH_MPLS:
	case ETH_MPLS_MCAST:
		return LABELS;
	default:
		return NOTHING;
	}
}

static enum carried parse_eth(struct cursor *c, struct flow_match *m)
{
	const u8 *p = frame_take_header(c, FRAME_ETH);
	const u8 *type;
	u32 tags = 0;

	if (!p)
		return NOTHING;
	m->l2 = 1;
	memcpy(m->dmac, p, sizeof(m->dmac));
	memcpy(m->smac, p + 6, sizeof(m->smac));
	for (type = p + 12; tags < 2; tags++, type = p + 2) {
		u32 t = frame_be16(type);

		if (t != ETH_VLAN && t != ETH_QINQ && t != ETH_QINQ_OLD)
			break;
		p = frame_take_header(c, FRAME_VLAN);
		if (!p)
			return NOTHING;
		if (!m->tagged)
			memcpy(&m->vlan, p, sizeof(m->vlan));
		m->tagged = 1;
	}
	memcpy(&m->ethertype, type, sizeof(m->ethertype));
	return parse_ethertype(frame_be16(type));
}

static enum carried parse_labels(struct cursor *c, struct flow_match *m)
{
	const u8 *p = NULL;
	u32 i;

	for (i = 0; i < MAX_LABELS; i++) {
		p = frame_take_header(c, 4);
		if (!p)
			return NOTHING;
		if (!i)
			memcpy(&m->mpls, p, sizeof(m->mpls));
		m->tunnel |= TUN_MPLS;
		if (p[2] & 1) /* bottom of the stack */
			break;
	}
	if (i == MAX_LABELS || c->at == c->have)
		return NOTHING;
	/* Nothing says what follows but its first bits (RFC 4928). */
	switch (c->p[c->at] >> 4) {
	case 4:
		return AN_IPV4;
	case 6:
		return AN_IPV6;
	default:
		return NOTHING;
	}
}

static bool parse_ipv4(struct cursor *c, struct frame_layer *l)
{
	u32 off = c->at, total, hdr;
	const u8 *p = frame_take_header(c, 20);

	if (!p || p[0] >> 4 != 4 || (p[0] & 15) < 5)
		return false;
	hdr = (p[0] & 15u) * 4;
	if (!frame_take_header(c, hdr - 20))
		return false;
	total = frame_be16(p + 2);
	l->l3_off = off;
	l->l3_len = hdr;
	l->m.l3 = 4;
	l->m.tos = p[1];
	l->m.ttl = p[8];
	l->m.proto = p[9];
	l->m.ip_flags = (u8)((p[6] & 0x40 ? 2 : 0) | (p[6] & 0x20 ? 4 : 0));
	memcpy(&l->m.src4, p + 12, 4);
	memcpy(&l->m.dst4, p + 16, 4);
	l->frag = frame_be16(p + 6) & 0x3fff;
	if (total >= hdr && total <= c->len - off)
		l->l4_len = total - hdr;
	return true;
}

/* Move over the extension headers. Return: whether they are all there. */
static bool parse_extensions(struct cursor *c, struct frame_layer *l, u32 proto)
{
	const u8 *p;
	u32 i, n;

	for (i = 0; i < MAX_EXTENSIONS; i++) {
		l->m.proto = (u8)proto;
		if (proto != PROTO_HOPOPT && proto != PROTO_ROUTING && proto != PROTO_FRAGMENT &&
		    proto != PROTO_DSTOPT && proto != PROTO_AH)
			return true;
		p = frame_take_header(c, 8);
		if (!p)
			return false;
		n = proto == PROTO_FRAGMENT ? 0
		    : proto == PROTO_AH	    ? ((u32)p[1] + 2) * 4 - 8
					    : p[1] * 8u;
		if (proto == PROTO_AH && p[1] < 1)
			return false;
		if (!frame_take_header(c, n))
			return false;
		l->l3_len += 8 + n;
		l->l4_len = l->l4_len > 8 + n ? l->l4_len - 8 - n : 0;
		if (proto == PROTO_FRAGMENT) {
			l->frag = true;
			l->m.proto = p[0];
			return true;
		}
		proto = p[0];
	}
	return false;
}

static bool parse_ipv6(struct cursor *c, struct frame_layer *l)
{
	u32 off = c->at, label;
	const u8 *p = frame_take_header(c, 40);

	if (!p || p[0] >> 4 != 6)
		return false;
	l->l3_off = off;
	l->l3_len = 40;
	l->m.l3 = 6;
	l->m.tos = (u8)(p[0] << 4 | p[1] >> 4);
	memcpy(&label, p, sizeof(label));
	((u8 *)&label)[0] = 0;
	((u8 *)&label)[1] &= 0xf;
	l->m.flow_label = label;
	l->m.ttl = p[7];
	memcpy(l->m.src6, p + 8, 16);
	memcpy(l->m.dst6, p + 24, 16);
	if (frame_be16(p + 4) <= c->len - off - 40)
		l->l4_len = frame_be16(p + 4);
	return parse_extensions(c, l, p[6]);
}

static enum carried parse_vxlan(struct cursor *c, struct flow_match *m)
{
	const u8 *p = frame_take_header(c, 8);

	if (!p || !(p[0] & 8)) /* no VNI (RFC 7348) */
		return NOTHING;
	memcpy((u8 *)&m->vni + 1, p + 4, 3);
	m->tunnel |= TUN_VXLAN;
	return A_FRAME;
}

static enum carried parse_gre(struct cursor *c, struct flow_match *m)
{
	const u8 *p = frame_take_header(c, 4), *opt;

	if (!p)
		return NOTHING;
	m->tunnel |= TUN_GRE;
	memcpy(&m->gre_flags, p, 2);
	memcpy(&m->gre_proto, p + 2, 2);
	if ((p[0] & 0x80) && !frame_take_header(c, 4)) /* checksum */
		return NOTHING;
	if (p[0] & 0x20) {
		opt = frame_take_header(c, 4);
		if (!opt)
			return NOTHING;
		memcpy(&m->gre_key, opt, 4);
	}
	if ((p[0] & 0x10) && !frame_take_header(c, 4)) /* sequence number */
		return NOTHING;
	return frame_be16(p + 2) == ETH_BRIDGE ? A_FRAME : parse_ethertype(frame_be16(p + 2));
}

static enum carried parse_ports(struct cursor *c, struct frame_layer *l, u32 hdr)
{
	u32 off = c->at;
	const u8 *p = frame_take_header(c, hdr);

	if (!p)
		return NOTHING;
	l->l4_off = off;
	l->m.l4 = l->m.proto;
	memcpy(&l->m.sport, p, 2);
	memcpy(&l->m.dport, p + 2, 2);
	if (l->m.l4 != FRAME_UDP_PROTO)
		return NOTHING;
	if (frame_be16(p + 2) == UDP_VXLAN)
		return parse_vxlan(c, &l->m);
	return frame_be16(p + 2) == UDP_MPLS ? LABELS : NOTHING;
}

static enum carried parse_l4(struct cursor *c, struct frame_layer *l)
{
	const u8 *p;

	if (l->frag)
		return NOTHING;
	switch (l->m.proto) {
	case FRAME_TCP_PROTO:
		return parse_ports(c, l, 20);
	case FRAME_UDP_PROTO:
		return parse_ports(c, l, 8);
	case PROTO_ESP:
		p = frame_take_header(c, 8);
		if (!p)
			return NOTHING;
		memcpy(&l->m.spi, p, 4);
		memcpy(&l->m.esp_seq, p + 4, 4);
		l->m.tunnel |= TUN_ESP;
		return NOTHING;
	case PROTO_GRE:
		return parse_gre(c, &l->m);
	case PROTO_IPIP:
		return AN_IPV4;
	case PROTO_IPV6:
		return AN_IPV6;
	case PROTO_MPLS:
		return LABELS;
	default:
		return NOTHING;
	}
}

/* One layer, which begins with a @first. Return: what it carries. */
static enum carried parse_layer(struct cursor *c, struct frame_layer *l, enum carried first)
{
	enum carried next = first;

	if (next == A_FRAME)
		next = parse_eth(c, &l->m);
	if (next == AN_IPV4)
		next = parse_ipv4(c, l) ? parse_l4(c, l) : NOTHING;
	else if (next == AN_IPV6)
		next = parse_ipv6(c, l) ? parse_l4(c, l) : NOTHING;
	/* Data after the labels counts as carried by them. */
	return next == LABELS ? parse_labels(c, &l->m) : next;
}

void frame_parse(const u8 *hdrs, u32 len, struct frame *f)
{
	struct cursor c = { .p = hdrs, .have = min_u32(len, FRAME_HDRS), .len = len };
	enum carried next;

	memset(f, 0, sizeof(*f));
	f->len = len;
	next = parse_layer(&c, &f->outer, A_FRAME);
	if (next != NOTHING)
		parse_layer(&c, &f->inner, next);
}
