/* SPDX-License-Identifier: MIT */
/** DOC: GIDs of Ethernet ports, which are IP addresses. It needs nothing of the emulator. */
#ifndef EMULATOR_GID_H
#define EMULATOR_GID_H

#include "emulator/types.h"

/** gid_is_v4() - an IPv4 address as RoCE v2 maps it. */
static inline bool gid_is_v4(const u8 gid[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

/** gid_is_loopback() - a loopback address, IPv4 as gid_is_v4() has it. */
static inline bool gid_is_loopback(const u8 gid[16])
{
	static const u8 v6[16] = { [15] = 1 };

	return gid_is_v4(gid) ? gid[12] == 127 : !memcmp(gid, v6, sizeof(v6));
}

/**
 * gid_is_unicast() - an address that one port can have: neither multicast nor reserved (IPv4:
 * 0.0.0.0/8, 224.0.0.0/3) nor unspecified.
 */
static inline bool gid_is_unicast(const u8 gid[16])
{
	static const u8 none[16];

	if (gid_is_v4(gid))
		return gid[12] && gid[12] < 224;
	return gid[0] != 0xff && memcmp(gid, none, sizeof(none)) != 0;
}

/** gid_map_v4() - map an IPv4 address, 4 bytes in network order. */
static inline void gid_map_v4(u8 gid[16], const void *ip)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, ip, 4);
}

#endif
