/* SPDX-License-Identifier: MIT */
/**
 * DOC: the Toeplitz hash of receive side scaling.
 *
 * Microsoft's definition ("RSS hashing functions"): for each set bit of the input, most significant
 * first, the 32 bits of the key that begin at that bit's position are added without carry. The
 * input is source address, destination address, source port, destination port, as far as asked for.
 */
#include "emulator/frame/frame.h"

/* The hash of @len bytes, at most RSS_KEY - 4. */
static u32 toeplitz_hash(const u8 key[RSS_KEY], const u8 *data, u32 len)
{
	u32 window = (u32)key[0] << 24 | (u32)key[1] << 16 | (u32)key[2] << 8 | key[3];
	u32 hash = 0, i, bit;

	for (i = 0; i < len && i + 4 < RSS_KEY; i++) {
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80 >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1);
		}
	}
	return hash;
}

#define L3_FIELDS   (RXH_SRC_IPV4 | RXH_DST_IPV4 | RXH_SRC_IPV6 | RXH_DST_IPV6)
#define IPV6_FIELDS (RXH_SRC_IPV6 | RXH_DST_IPV6)
#define TCP_FIELDS  (RXH_SRC_PORT_TCP | RXH_DST_PORT_TCP)
#define UDP_FIELDS  (RXH_SRC_PORT_UDP | RXH_DST_PORT_UDP)

/* Whether the layer has what the fields are of. */
static bool rss_has_fields(const struct flow_match *m, u32 fields)
{
	if ((fields & L3_FIELDS) && m->l3 != (fields & IPV6_FIELDS ? 6 : 4))
		return false;
	if ((fields & TCP_FIELDS) && m->l4 != FRAME_TCP_PROTO)
		return false;
	if ((fields & UDP_FIELDS) && m->l4 != FRAME_UDP_PROTO)
		return false;
	return !(fields & RXH_IPSEC_SPI) || (m->tunnel & TUN_ESP);
}

u32 rss_hash(const u8 key[RSS_KEY], u32 fields, const struct frame *f)
{
	const struct flow_match *m = fields & RXH_INNER ? &f->inner.m : &f->outer.m;
	const struct {
		u32 field;
		u32 len;
		const void *from;
	} part[] = {
		{ RXH_SRC_IPV4, 4, &m->src4 },
		{ RXH_DST_IPV4, 4, &m->dst4 },
		{ RXH_SRC_IPV6, 16, m->src6 },
		{ RXH_DST_IPV6, 16, m->dst6 },
		{ RXH_SRC_PORT_TCP | RXH_SRC_PORT_UDP, 2, &m->sport },
		{ RXH_DST_PORT_TCP | RXH_DST_PORT_UDP, 2, &m->dport },
		{ RXH_IPSEC_SPI, 4, &m->spi },
	};
	u8 data[RSS_KEY + 8]; /* all of one IP version, with ports or SPI, are 36 */
	u32 len = 0, i;

	if (!rss_has_fields(m, fields))
		return 0;
	for (i = 0; i < ARRAY_SIZE(part); i++) {
		if (!(fields & part[i].field) || len + part[i].len > sizeof(data))
			continue;
		memcpy(data + len, part[i].from, part[i].len);
		len += part[i].len;
	}
	return toeplitz_hash(key, data, len);
}
