/* SPDX-License-Identifier: MIT */
/* Checksums of frames: ICRC, VCRC and the IP checksum. */
#include "traces/formats/roce_model.h"

/*
 * Copies an IPv4, IPv6 or GRH header with the fields that routers change set to ones. Return: its
 * length.
 */
static u32 icrc_mask_ip(u32 net, const u8 *ip, u8 *out)
{
	if (net == ROCE_IP4) {
		memcpy(out, ip, IP4_LEN);
		out[1] = 0xff; /* type of service */
		out[8] = 0xff; /* TTL */
		out[10] = out[11] = 0xff; /* checksum */
		return IP4_LEN;
	}
	memcpy(out, ip, IP6_LEN);
	out[0] |= 0x0f; /* traffic class, flow label */
	out[1] = out[2] = out[3] = 0xff;
	out[7] = 0xff; /* hop limit */
	return IP6_LEN;
}

u32 roce_icrc_begin(u32 net, const u8 *head, const u8 *bth)
{
	u8 masked[LRH_LEN + IP6_LEN + UDP_LEN + BTH_LEN];
	u32 sum = 0, n = LRH_LEN, ip;

	/* Frames without an LRH are summed as if they had one of all ones. */
	memset(masked, 0xff, LRH_LEN);
	if (net_is_ib(net)) {
		memcpy(masked, head, LRH_LEN);
		masked[0] |= 0xf0; /* virtual lane */
		head += LRH_LEN;
	}
	if (net != ROCE_IB) {
		ip = icrc_mask_ip(net, head, masked + n);
		head += ip;
		n += ip;
	}
	if (net_is_udp(net)) {
		if (head != bth - UDP_LEN) {
			/* IP options and extension headers are summed unchanged. */
			sum = roce_crc32(sum, masked, n);
			sum = roce_crc32(sum, head, (size_t)(bth - UDP_LEN - head));
			n = 0;
		}
		memcpy(masked + n, bth - UDP_LEN, UDP_LEN);
		masked[n + 6] = masked[n + 7] = 0xff; /* checksum */
		n += UDP_LEN;
	}
	memcpy(masked + n, bth, BTH_LEN);
	masked[n + 4] = 0xff; /* FECN, BECN, reserved */
	return roce_crc32(sum, masked, n + BTH_LEN);
}

u32 roce_icrc(u32 net, const u8 *head, const u8 *bth, const u8 *end)
{
	return roce_crc32(roce_icrc_begin(net, head, bth), bth + BTH_LEN,
			  (size_t)(end - bth - BTH_LEN));
}

/* --- the identification that a receiver does not see --- */

#define CRC_POLYNOMIAL 0xedb88320u
#define CRC_ONE	       0x80000000u /* x^0: polynomials have their lowest power on top */
#define IP_ID_AT       4u

/* The product of two polynomials, modulo that of the CRC. */
static u32 crc_multiply(u32 a, u32 b)
{
	u32 product = 0;

	for (; a; a <<= 1) {
		if (a & CRC_ONE)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? CRC_POLYNOMIAL : 0);
	}
	return product;
}

/* A CRC before the last @bytes, which are zeros, were added. */
static u32 crc_remove_zeros(u32 crc, u32 bytes)
{
	/* x^-1, x^-2, x^-4, x^-8 ... */
	static const u32 inverse[] = {
		0xdb710641, 0x6d930ac3, 0x6d3d2d4d, 0x6567cb95, 0xd7125358, 0x5b358fd3,
		0x2e9bb40b, 0x12a59a49, 0x8df9403d, 0x5139de12, 0xba340226, 0x29c45641,
		0x12fbc105, 0xecd30c55, 0x3755ebd8, 0x24ee460c,
	};
	u32 bits = bytes * 8, i;

	for (i = 0; i < ARRAY_SIZE(inverse); i++)
		if (bits >> i & 1)
			crc = crc_multiply(inverse[i], crc);
	return crc;
}

/*
 * A CRC is linear: the difference of the sent one to that with the identification at hand is the
 * CRC of the difference of both identifications and zeros. To add two bytes to a CRC of 0 is to add
 * two zeros to a CRC that has these bytes in its lower half. So without all zeros the difference is
 * that of the identifications, or has bits in its upper half, and then no identification explains
 * it.
 */
bool roce_find_ip_id(const u8 *ip, u32 len, u16 *id)
{
	const u8 *end = ip + len - ICRC_LEN;
	u32 sum;

	if (len < IP4_LEN + UDP_LEN + BTH_LEN + ICRC_LEN || len * 8 > 0xffff)
		return false;
	sum = roce_icrc(ROCE_IP4, ip, ip + IP4_LEN + UDP_LEN, end) ^
	      ((u32)end[3] << 24 | (u32)end[2] << 16 | (u32)end[1] << 8 | end[0]);
	sum = crc_remove_zeros(sum, len - ICRC_LEN - IP_ID_AT);
	*id = (u16)be_get(ip + IP_ID_AT, 2) ^ (u16)((sum & 0xff) << 8 | (sum >> 8 & 0xff));
	return !(sum >> 16);
}

/* --- other sums --- */

/* x^16 + x^12 + x^3 + x + 1, lowest bit first, four bits at a time. */
u16 roce_vcrc(const u8 *lrh, u32 len)
{
	static const u16 table[16] = {
		0x0000, 0x1a01, 0x3402, 0x2e03, 0x6804, 0x7205, 0x5c06, 0x4607,
		0xd008, 0xca09, 0xe40a, 0xfe0b, 0xb80c, 0xa20d, 0x8c0e, 0x960f,
	};
	u32 sum = 0xffff, i;

	for (i = 0; i < len; i++) {
		sum = sum >> 4 ^ table[(sum ^ lrh[i]) & 15];
		sum = sum >> 4 ^ table[(sum ^ lrh[i] >> 4) & 15];
	}
	return (u16)~sum;
}

u64 roce_csum_add(u64 sum, const u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i + 1 < len; i += 2)
		sum += be_get(p + i, 2);
	if (len & 1)
		sum += (u64)p[len - 1] << 8;
	return sum;
}

u16 roce_csum_fold(u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}

u16 roce_csum_udp(const u8 *udp, u32 len, const struct roce_pkt *p)
{
	u32 from = p->net == ROCE_IP4 ? 12 : 0;
	u64 sum = PROTO_UDP + (u64)len;

	sum = roce_csum_add(sum, p->sgid + from, 16 - from);
	sum = roce_csum_add(sum, p->dgid + from, 16 - from);
	return roce_csum_fold(roce_csum_add(sum, udp, len));
}
