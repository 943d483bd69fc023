/* SPDX-License-Identifier: MIT */
/**
 * DOC: Ethernet frames: what their headers say, checksums, and the hash that spreads them.
 *
 * Pure functions over bytes. The bytes may lie in memory that a client changes meanwhile: the
 * parser is given a copy of the headers, and everything after it goes by the offsets that it found,
 * all of which are within the frame.
 */
#ifndef EMULATOR_FRAME_FRAME_H
#define EMULATOR_FRAME_FRAME_H

#include "emulator/obj.h"

#define FRAME_HDRS	256u /* the parser looks no further */
#define FRAME_ETH	14u
#define FRAME_VLAN	4u
#define FRAME_FCS	4u
#define FRAME_TCP_PROTO 6u
#define FRAME_UDP_PROTO 17u

/**
 * struct frame_layer - one stack of headers, Ethernet to TCP or UDP.
 * @m: their fields
 * @l3_off: offset of the IP header in the frame, when m.l3 is not 0; @l3_len: bytes of it with
 *     options
 * @l4_off: offset of what follows it, when m.l4 is not 0; @l4_len: its bytes as the IP header
 *         counts them, 0 when they are not all there
 * @frag: it is a fragment of a datagram
 */
struct frame_layer {
	struct flow_match m;
	u32 l3_off, l3_len;
	u32 l4_off, l4_len;
	bool frag;
};

/**
 * struct frame - a frame and what is in its headers; @inner: of what a tunnel carries, if it does.
 */
struct frame {
	u32 len;
	struct frame_layer outer, inner;
};

/**
 * struct frame_tcp - how one segment of a large send differs from the headers that it was given.
 */
struct frame_tcp {
	u32 nth;
	u32 mss;
	u32 payload; /* bytes in this one */
	bool last;
};

/**
 * frame_parse() - look at the headers of a frame of @len bytes.
 * @hdrs: a private copy of its first bytes, min(@len, FRAME_HDRS) of them
 */
void frame_parse(const u8 *hdrs, u32 len, struct frame *f);
/** frame_checksum() - fill in the checksums of IPv4 and of TCP or UDP (outer headers). */
void frame_checksum(u8 *p, const struct frame *f);
/**
 * frame_csum_ok() - whether an IPv4 header's checksum and that of the TCP or UDP behind are right.
 */
bool frame_csum_ok(const u8 *p, const struct frame *f);
/** frame_segment() - turn the headers of a large TCP send, @hdr bytes, into those of a segment. */
void frame_segment(u8 *p, const struct frame *f, u32 hdr, const struct frame_tcp *t);
/** frame_tcp_headers() - bytes of headers up to the end of TCP's; 0: it is not TCP. */
u32 frame_tcp_headers(const u8 *p, const struct frame *f);
/** frame_fcs() - the frame check sequence, as it goes on the wire when stored little-endian. */
u32 frame_fcs(const u8 *p, u32 len);

/* --- toeplitz.c --- */

/**
 * rss_hash() - the hash of the fields (enum hca_rx_hash) of a frame; 0 when it has not all of them.
 */
u32 rss_hash(const u8 key[RSS_KEY], u32 fields, const struct frame *f);

/** store_be16() - store in network order. */
static inline void store_be16(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

/* --- csum.c --- */

/** frame_ip_csum() - the Internet checksum (RFC 1071) of @len bytes, an even number. */
u32 frame_ip_csum(const u8 *p, u32 len);

#endif
