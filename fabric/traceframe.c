/* SPDX-License-Identifier: MIT */
/* See traceframe.h. */
#include "fabric/traceframe.h"
#include "emulator/cm_mad.h"

#define ETH_VLAN  0x8100u
#define ETH_QINQ  0x88a8u
#define ETH_IP4	  0x0800u
#define ETH_IP6	  0x86ddu
#define ETH_ROCE  0x8915u /* version 1: a GRH behind it */
#define PORT_ROCE 4791u
#define NEXT_BTH  0x1bu /* of a GRH */
#define ERF_ETH	  2u
#define ERF_IB	  21u
#define IP6_EXTS  8u
#define ICRC_LEN  4u

/**
 * struct view - the rest of a frame: from @p on there are @cap bytes, of @len that were on the wire.
 * Headers are taken from its front. @bad: one was not all there; the rest is empty then.
 */
struct view {
	const u8 *p;
	u32 cap, len;
	bool bad;
};

static const u8 *take(struct view *v, u32 n)
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

/* An inner length says where the frame ends; what is behind is padding. */
static void clip(struct view *v, u32 len)
{
	if (len > v->len)
		v->bad = true;
	else
		v->len = len;
	v->cap = min_u32(v->cap, v->len);
}

static u32 be16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static u32 be24(const u8 *p)
{
	return (u32)p[0] << 16 | be16(p + 1);
}

static enum trace_verdict verdict(const struct view *v)
{
	return v->bad ? TRACE_BAD : TRACE_RDMA;
}

/* --- the transport -------------------------------------------------------------------------------- */

static void take_mad(const struct view *v, struct trace_pkt *p)
{
	u8 mad[MAD_SIZE] = { 0 };

	memcpy(mad, v->p, min_u32(v->cap, sizeof(mad)));
	if (v->cap < sizeof(mad) || mad_get(mad, F_CLASS) != MAD_CLASS_CM)
		return;
	p->cm.attr = (u32)mad_get(mad, F_ATTR);
	p->cm.local_id = (u32)mad_get(mad, F_LOCAL_ID);
	if (p->cm.attr != MAD_REQ)
		p->cm.remote_id = (u32)mad_get(mad, F_REMOTE_ID);
	if (p->cm.attr == MAD_REQ) {
		p->cm.qpn = (u32)mad_get(mad, F_REQ_QPN);
		p->cm.psn = (u32)mad_get(mad, F_REQ_PSN);
	} else if (p->cm.attr == MAD_REP) {
		p->cm.qpn = (u32)mad_get(mad, F_REP_QPN);
		p->cm.psn = (u32)mad_get(mad, F_REP_PSN);
	}
}

/* Bytes of the headers behind BTH, XRCETH and DETH, by opcode; IBTA volume 1, table 38. */
static u32 more_headers(u32 opcode)
{
	static const u8 len[32] = {
		[3] = 4,   [5] = 4, /* sends with immediate data */
		[6] = 16,  [9] = 4,   [10] = 16, [11] = 20, /* writes: RETH, ImmDt */
		[12] = 16, [13] = 4,  [15] = 4,	 [16] = 4, /* reads: RETH, AETH */
		[17] = 4,  [18] = 12, /* AETH, AtomicAckETH */
		[19] = 28, [20] = 28, /* AtomicETH */
		[22] = 4,  [23] = 4, /* IETH */
		[29] = 16, /* atomic write: RETH */
	};

	return len[opcode & 31];
}

static bool opcode_known(u32 transport, u32 opcode)
{
	switch (transport) {
	case TRACE_RC:
	case TRACE_XRC:
		return opcode <= 20 || opcode == 22 || opcode == 23 || opcode == 29;
	case TRACE_UC:
		return opcode <= 11;
	case TRACE_UD:
		return opcode == 4 || opcode == 5;
	default:
		return false;
	}
}

static bool is_answer(u32 opcode)
{
	return opcode >= 13 && opcode <= 18;
}

/* From the BTH on, the ICRC being the end. */
static enum trace_verdict take_bth(struct view *v, struct trace_pkt *p)
{
	const u8 *bth = take(v, 12), *h;
	u32 pad = bth[1] >> 4 & 3, hdr;

	if (v->bad)
		return TRACE_BAD;
	p->transport = bth[0] >> 5;
	p->opcode = bth[0] & 31;
	p->dst_qpn = be24(bth + 5);
	p->psn = be24(bth + 9);
	if (!opcode_known(p->transport, p->opcode))
		return TRACE_OTHER;
	if (p->transport == TRACE_XRC && !is_answer(p->opcode))
		take(v, 4);
	if (p->transport == TRACE_UD)
		p->src_qpn = be24(take(v, 8) + 5);
	hdr = more_headers(p->opcode);
	h = take(v, hdr);
	if (hdr && is_answer(p->opcode))
		p->aeth = h[0];
	if (v->bad || v->len < ICRC_LEN + pad)
		return TRACE_BAD;
	p->size = v->len - ICRC_LEN - pad;
	if (p->transport == TRACE_UD && p->dst_qpn == 1 && p->src_qpn == 1)
		take_mad(v, p);
	return TRACE_RDMA;
}

/* --- what is below it ----------------------------------------------------------------------------- */

static enum trace_verdict take_udp(struct view *v, struct trace_pkt *p)
{
	const u8 *udp = take(v, 8);
	u32 len = be16(udp + 4);

	if (be16(udp + 2) != PORT_ROCE)
		return TRACE_OTHER;
	if (len < 8)
		return TRACE_BAD;
	clip(v, len - 8);
	return take_bth(v, p);
}

static void set_addr(struct trace_addr *a, u8 kind, const u8 *b, u32 n)
{
	*a = (struct trace_addr){ .kind = kind };
	memcpy(a->b, b, n);
}

static enum trace_verdict take_ip4(struct view *v, struct trace_pkt *p)
{
	const u8 *ip = take(v, 20);
	u32 hdr = (ip[0] & 15) * 4u, len = be16(ip + 2);

	/* UDP, and no later fragment: of these nothing can be told. */
	if (v->bad || ip[0] >> 4 != 4 || ip[9] != 17 || be16(ip + 6) & 0x1fff)
		return TRACE_OTHER;
	if (hdr < 20 || len < hdr)
		return TRACE_BAD;
	set_addr(&p->src, '4', ip + 12, 4);
	set_addr(&p->dst, '4', ip + 16, 4);
	clip(v, len - 20);
	take(v, hdr - 20);
	return take_udp(v, p);
}

/* Also a GRH, which has the same fields. @roce: the BTH is right behind it. */
static enum trace_verdict take_ip6(struct view *v, struct trace_pkt *p, bool roce)
{
	const u8 *ip = take(v, 40), *ext;
	u32 next = ip[6], i;

	if (v->bad || ip[0] >> 4 != 6)
		return roce ? TRACE_BAD : TRACE_OTHER;
	set_addr(&p->src, '6', ip + 8, 16);
	set_addr(&p->dst, '6', ip + 24, 16);
	clip(v, be16(ip + 4));
	if (roce)
		return next == NEXT_BTH ? take_bth(v, p) : TRACE_OTHER;
	/* Hop-by-hop and destination options, routing. */
	for (i = 0; i < IP6_EXTS && (next == 0 || next == 43 || next == 60) && !v->bad; i++) {
		ext = take(v, 8);
		next = ext[0];
		take(v, ext[1] * 8u);
	}
	return next == 17 ? take_udp(v, p) : TRACE_OTHER;
}

static enum trace_verdict take_ether(struct view *v, u32 type, struct trace_pkt *p)
{
	u32 i;

	for (i = 0; i < 2 && (type == ETH_VLAN || type == ETH_QINQ); i++)
		type = be16(take(v, 4) + 2);
	switch (type) {
	case ETH_IP4:
		return take_ip4(v, p);
	case ETH_IP6:
		return take_ip6(v, p, false);
	case ETH_ROCE:
		return take_ip6(v, p, true);
	default:
		return TRACE_OTHER;
	}
}

static enum trace_verdict take_ip(struct view *v, struct trace_pkt *p)
{
	if (!v->cap)
		return TRACE_OTHER;
	return v->p[0] >> 4 == 4 ? take_ip4(v, p) : take_ip6(v, p, false);
}

/* InfiniBand: LRH, maybe GRH. */
static enum trace_verdict take_ib(struct view *v, struct trace_pkt *p)
{
	const u8 *lrh = take(v, 8);
	u32 next = lrh[1] & 3, words = be16(lrh + 4) & 0x7ff;

	if (v->bad || next < 2)
		return v->bad ? TRACE_BAD : TRACE_OTHER;
	if (words < 2)
		return TRACE_BAD;
	set_addr(&p->dst, 'L', lrh + 2, 2);
	set_addr(&p->src, 'L', lrh + 6, 2);
	clip(v, words * 4 - 8);
	return next == 3 ? take_ip6(v, p, true) : take_bth(v, p);
}

static enum trace_verdict take_erf(struct view *v, struct trace_pkt *p)
{
	const u8 *erf = take(v, 16);
	u32 type = erf[8] & 0x7f, i;
	u8 more = erf[8] & 0x80;

	for (i = 0; more && i < 16; i++)
		more = take(v, 8)[0] & 0x80;
	if (type == ERF_IB)
		return take_ib(v, p);
	if (type != ERF_ETH)
		return TRACE_OTHER;
	take(v, 2);
	return take_ether(v, be16(take(v, 14) + 12), p);
}

bool trace_link_known(u32 link)
{
	switch (link) {
	case TRACE_LINK_ETHERNET:
	case TRACE_LINK_RAW_OLD:
	case TRACE_LINK_RAW:
	case TRACE_LINK_SLL:
	case TRACE_LINK_ERF:
	case TRACE_LINK_IPV4:
	case TRACE_LINK_IPV6:
	case TRACE_LINK_IB:
	case TRACE_LINK_SLL2:
		return true;
	default:
		return false;
	}
}

static enum trace_verdict take_frame(u32 link, struct view *v, struct trace_pkt *p)
{
	switch (link) {
	case TRACE_LINK_ETHERNET:
		return take_ether(v, be16(take(v, 14) + 12), p);
	case TRACE_LINK_SLL:
		return take_ether(v, be16(take(v, 16) + 14), p);
	case TRACE_LINK_SLL2:
		return take_ether(v, be16(take(v, 20)), p);
	case TRACE_LINK_IB:
		return take_ib(v, p);
	case TRACE_LINK_ERF:
		return take_erf(v, p);
	default:
		return take_ip(v, p);
	}
}

enum trace_verdict trace_frame(u32 link, const u8 *bytes, u32 caplen, u32 len, struct trace_pkt *p)
{
	struct view v = { .p = bytes, .cap = min_u32(caplen, len), .len = len };
	enum trace_verdict ret;

	memset(p, 0, sizeof(*p));
	if (!trace_link_known(link))
		return TRACE_OTHER;
	ret = take_frame(link, &v, p);
	return ret == TRACE_RDMA ? verdict(&v) : ret;
}
