/* SPDX-License-Identifier: MIT */
/** DOC: the subnets from which nodes get their addresses, and addresses as text. */
#include "fabric/common/nodes.h"
#include "fabric/common/opts.h"
#include "fabric/common/parse.h"

#include <arpa/inet.h>
#include <stdio.h>

void subnets_default(struct subnets *s)
{
	subnets_parse(s, "10.77.0.0/16,fd77::/64");
}

static bool ip_is_mcast_or_loop(const u8 raw[16])
{
	static const u8 loop6[16] = { [15] = 1 }, zero[16];

	if (gid_is_v4(raw))
		return raw[12] == 0 || raw[12] == 127 || raw[12] >= 224;
	return raw[0] == 0xff || !memcmp(raw, loop6, 16) || !memcmp(raw, zero, 16) ||
	       (raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80);
}

bool ip_parse(const char *text, u8 raw[16])
{
	u8 ip4[4];

	if (inet_pton(AF_INET, text, ip4) == 1)
		gid_map_v4(raw, ip4);
	else if (inet_pton(AF_INET6, text, raw) != 1)
		return false;
	return !ip_is_mcast_or_loop(raw);
}

/* Whether no bit of the address is set after its first @bits. */
static bool subnet_ends_at(const u8 *ip, u32 bits, u32 all)
{
	u32 i;

	for (i = bits; i < all; i++)
		if (ip[i / 8] >> (7 - i % 8) & 1)
			return false;
	return true;
}

static bool subnet_parse(struct subnets *s, char *text)
{
	char *slash = strchr(text, '/');
	u8 raw[16];
	u64 bits;

	if (!slash)
		return false;
	*slash = '\0';
	if (!ip_parse(text, raw) || !parse_number(slash + 1, 128, &bits))
		return false;
	if (gid_is_v4(raw)) {
		s->ip4 = (u32)raw[12] << 24 | (u32)raw[13] << 16 | (u32)raw[14] << 8 | raw[15];
		s->bits4 = (u32)bits;
		return bits >= 8 && bits <= 29 && subnet_ends_at(raw + 12, s->bits4, 32);
	}
	memcpy(s->ip6, raw, 16);
	s->bits6 = (u32)bits;
	return bits >= 64 && bits <= 112 && subnet_ends_at(raw, s->bits6, 128);
}

bool subnets_parse(struct subnets *s, const char *text)
{
	char copy[96], *rest = copy, *next;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	while ((next = strsep(&rest, ",")))
		if (!subnet_parse(s, next))
			return false;
	return true;
}

u64 subnets_hash(const struct subnets *s)
{
	u64 h = fnv1a(FNV1A_BASIS, &s->ip4, sizeof(s->ip4));

	h = fnv1a(h, &s->bits4, sizeof(s->bits4));
	h = fnv1a(h, s->ip6, sizeof(s->ip6));
	return fnv1a(h, &s->bits6, sizeof(s->bits6));
}
