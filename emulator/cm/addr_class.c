/* SPDX-License-Identifier: MIT */
/**
 * DOC: addresses of connection management: which kind one is, and whether two are the same.
 */
#include "emulator/cm/model.h"

/* The bytes in which addresses of one family differ. */
static const u8 *cm_addr_ip(const struct cm_addr *a, u32 *len)
{
	*len = a->family == CM_AF_INET ? 4 : 16;
	return a->ip + 16 - *len;
}

bool cm_addr_is_any(const struct cm_addr *a)
{
	static const u8 loop6[16] = { [15] = 1 }, zero[16];
	u32 len;
	const u8 *ip = cm_addr_ip(a, &len);

	if (a->family == CM_AF_INET && ip[0] == 127)
		return true;
	return !memcmp(ip, zero, len) || !memcmp(a->ip, loop6, sizeof(loop6));
}

bool cm_addr_is_linklocal(const struct cm_addr *a)
{
	return a->family == CM_AF_INET6 && a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

bool cm_addr_is_mcast(const struct cm_addr *a)
{
	u32 len;
	const u8 *ip = cm_addr_ip(a, &len);

	return a->family == CM_AF_INET ? (ip[0] & 0xf0) == 0xe0 : ip[0] == 0xff;
}

bool cm_addr_is_same(const struct cm_addr *a, const struct cm_addr *b)
{
	if (a->family != b->family || memcmp(a->ip, b->ip, sizeof(a->ip)) != 0)
		return false;
	return !cm_addr_is_linklocal(a) || a->scope == b->scope;
}
