/* SPDX-License-Identifier: MIT */
/**
 * DOC: checksums of frames, and the segments of a large send, see frame.h.
 *
 * The offsets come from the parser and lie within the frame.
 */
#include "emulator/frame/frame.h"

#define IP_CSUM	 10u /* offsets in their headers */
#define TCP_CSUM 16u
#define UDP_CSUM 6u

#define TCP_SEQ	  4u
#define TCP_FLAGS 13u
#define TCP_FIN	  0x01u
#define TCP_PSH	  0x08u
#define TCP_CWR	  0x80u

static u32 load_be16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static u32 load_be32(const u8 *p)
{
	return load_be16(p) << 16 | load_be16(p + 2);
}

static void store_be32(u8 *p, u32 v)
{
	store_be16(p, v >> 16);
	store_be16(p + 2, v & 0xffff);
}

/* RFC 1071. Only the last piece of a sum may have an odd length. */
static u64 csum_add(const u8 *p, u32 len, u64 s)
{
	for (; len > 1; len -= 2, p += 2)
		s += load_be16(p);
	return len ? s + ((u32)p[0] << 8) : s;
}

static u32 csum_fold(u64 s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (u32)s;
}

/* TCP or UDP with its pseudo header: 0xffff when its checksum is in it and right. */
static u32 l4_sum(const u8 *p, const struct frame_layer *l)
{
	u64 s = l->m.l4 + (u64)l->l4_len;

	if (l->m.l3 == 4)
		s = csum_add(p + l->l3_off + 12, 8, s);
	else
		s = csum_add(p + l->l3_off + 8, 32, s);
	return csum_fold(csum_add(p + l->l4_off, l->l4_len, s));
}

/* Where the checksum of TCP or UDP is; NULL when there is none, or not all of what it covers. */
static u8 *l4_csum(const u8 *p, const struct frame_layer *l)
{
	if (l->m.l4 == FRAME_TCP_PROTO && l->l4_len >= 20)
		return (u8 *)p + l->l4_off + TCP_CSUM;
	if (l->m.l4 == FRAME_UDP_PROTO && l->l4_len >= 8)
		return (u8 *)p + l->l4_off + UDP_CSUM;
	return NULL;
}

u32 frame_ip_csum(const u8 *p, u32 len)
{
	return ~csum_fold(csum_add(p, len, 0)) & 0xffff;
}

void frame_checksum(u8 *p, const struct frame *f)
{
	const struct frame_layer *l = &f->outer;
	u8 *ip = p + l->l3_off, *at;
	u32 v;

	if (l->m.l3 == 4) {
		store_be16(ip + IP_CSUM, 0);
		store_be16(ip + IP_CSUM, frame_ip_csum(ip, l->l3_len));
	}
	at = l4_csum(p, l);
	if (!at)
		return;
	store_be16(at, 0);
	v = ~l4_sum(p, l) & 0xffff;
	/* For UDP, 0 means no checksum (RFC 768). */
	store_be16(at, v || l->m.l4 != FRAME_UDP_PROTO ? v : 0xffff);
}

bool frame_csum_ok(const u8 *p, const struct frame *f)
{
	const struct frame_layer *l = &f->outer;
	const u8 *at = l4_csum(p, l);

	if (l->m.l3 != 4 || !at || csum_fold(csum_add(p + l->l3_off, l->l3_len, 0)) != 0xffff)
		return false;
	if (l->m.l4 == FRAME_UDP_PROTO && !load_be16(at))
		return true;
	return l4_sum(p, l) == 0xffff;
}

u32 frame_tcp_headers(const u8 *p, const struct frame *f)
{
	const struct frame_layer *l = &f->outer;
	u32 n;

	if (l->m.l4 != FRAME_TCP_PROTO)
		return 0;
	n = (p[l->l4_off + 12] >> 4) * 4u;
	return n >= 20 ? l->l4_off + n : 0;
}

void frame_segment(u8 *p, const struct frame *f, u32 hdr, const struct frame_tcp *t)
{
	const struct frame_layer *l = &f->outer;
	u8 *ip = p + l->l3_off, *tcp = p + l->l4_off;
	u32 total = hdr - l->l3_off + t->payload;

	if (l->m.l3 == 4) {
		store_be16(ip + 2, total);
		store_be16(ip + 4, load_be16(ip + 4) + t->nth);
	} else {
		store_be16(ip + 4, total - 40);
	}
	store_be32(tcp + TCP_SEQ, load_be32(tcp + TCP_SEQ) + t->nth * t->mss);
	if (!t->last)
		tcp[TCP_FLAGS] &= (u8) ~(TCP_FIN | TCP_PSH);
	if (t->nth)
		tcp[TCP_FLAGS] &= (u8)~TCP_CWR;
}

u32 frame_fcs(const u8 *p, u32 len)
{
	/* CRC-32 of IEEE 802.3, four bits at a time. */
	static const u32 crc4[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	u32 crc = ~0u, i;

	for (i = 0; i < len; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ crc4[crc & 15];
		crc = crc >> 4 ^ crc4[crc & 15];
	}
	return ~crc;
}
