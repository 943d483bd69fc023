/* SPDX-License-Identifier: MIT */
/** DOC: shared by building and parsing frames. */
#ifndef TRACES_FORMATS_ROCE_MODEL_H
#define TRACES_FORMATS_ROCE_MODEL_H

#include "traces/formats/roce.h"

#include <endian.h>

#define ETH_LEN	   14u
#define VLAN_LEN   4u
#define LRH_LEN	   8u
#define IP4_LEN	   20u
#define IP6_LEN	   40u /* also of a GRH */
#define UDP_LEN	   8u
#define BTH_LEN	   12u
#define ICRC_LEN   4u
#define VCRC_LEN   2u
#define ETH_VLAN   0x8100u
#define ETH_QINQ   0x88a8u
#define ETH_IP4	   0x0800u
#define ETH_IP6	   0x86ddu
#define ETH_ROCE   0x8915u /* RoCE v1: a GRH follows */
#define PROTO_UDP  17u
#define ERF_ETH	   2u
#define ERF_IB	   21u
#define NEXT_BTH   0x1bu /* of a GRH */
#define LNH_BTH	   2u /* of an LRH */
#define LNH_GRH	   3u
#define PKTLEN_MAX 0x7ffu /* of an LRH, in words */

/* 1 to 8 bytes, big-endian. */
static inline u64 be_get(const u8 *p, u32 bytes)
{
	u64 v = 0;

	memcpy(&v, p, bytes);
	return be64toh(v) >> (64 - 8 * bytes);
}

static inline void be_put(u8 *p, u32 bytes, u64 v)
{
	v = htobe64(v << (64 - 8 * bytes));
	memcpy(p, &v, bytes);
}

/* @net: enum roce_net */
static inline bool net_is_ib(u32 net)
{
	return net == ROCE_IB || net == ROCE_IB_GRH;
}

static inline bool net_is_udp(u32 net)
{
	return net == ROCE_IP4 || net == ROCE_IP6;
}

/* --- roce_hdr.c --- */

/** roce_hdr_len() - bytes of the extended headers @hdrs (enum roce_hdr). */
u32 roce_hdr_len(u32 hdrs);
/** roce_hdr_put(), roce_hdr_get() - write and read all of @hdrs, roce_hdr_len() bytes. */
void roce_hdr_put(u32 hdrs, const struct roce_pkt *p, u8 *out);
void roce_hdr_get(u32 hdrs, const u8 *in, struct roce_pkt *p);

/* --- roce_crc32.c --- */

/** roce_crc32() - add bytes to a CRC-32, as zlib's crc32(). */
u32 roce_crc32(u32 crc, const u8 *p, size_t len);
/**
 * roce_crc32_copy() - the same, and copy them to @to, which does not overlap them. The CRC is of
 * the copy, also while another process writes to @p.
 */
u32 roce_crc32_copy(u32 crc, u8 *to, const u8 *p, size_t len);

/* --- roce_crc32_table.c --- */

/** roce_crc32_by_table() - the same without special instructions. */
u32 roce_crc32_by_table(u32 crc, const u8 *p, size_t len);

/* --- roce_crc.c --- */

/**
 * roce_icrc() - the ICRC of a packet; its lowest byte goes first (IBTA volume 1, 7.8.1, A17.3.2).
 * @net: enum roce_net; @head: its first header, LRH, GRH or IP; @bth: its BTH
 * @end: the end of payload and pad, where the ICRC stands
 */
u32 roce_icrc(u32 net, const u8 *head, const u8 *bth, const u8 *end);
/** roce_icrc_begin() - the same up to the BTH: what follows it is added by roce_crc32(). */
u32 roce_icrc_begin(u32 net, const u8 *head, const u8 *bth);
/** roce_vcrc() - the VCRC of the @len bytes from the LRH to the ICRC (7.8.2), lowest byte first. */
u16 roce_vcrc(const u8 *lrh, u32 len);
/** roce_csum_add() - add @len bytes to an IP checksum that is not folded yet. */
u64 roce_csum_add(u64 sum, const u8 *p, u32 len);
/** roce_csum_fold() - make the checksum of such a sum. */
u16 roce_csum_fold(u64 sum);
/**
 * roce_csum_udp() - the checksum of @len bytes from the UDP header on, with the pseudo header of
 * p->sgid and p->dgid. 0: the checksum among these bytes is right.
 */
u16 roce_csum_udp(const u8 *udp, u32 len, const struct roce_pkt *p);

#endif
