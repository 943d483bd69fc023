/* SPDX-License-Identifier: MIT */
/** DOC: the wires that --roce names, and the hosts that --roce-peers names. */
#ifndef FABRIC_COMMON_WIRE_LIST_H
#define FABRIC_COMMON_WIRE_LIST_H

#include "emulator/peer.h"

#include <netinet/in.h>

#define WIRE_LIST_EXPECTED                                                                         \
	"IP addresses or network interfaces of this host, at most 4, with commas between"

/** struct wire_list - addresses or interfaces, as they were written. */
struct wire_list {
	char name[HCA_WIRES][INET6_ADDRSTRLEN];
	u32 n;
};

/** wire_list_parse() - Return: whether @text is such a list. */
bool wire_list_parse(struct wire_list *l, const char *text);

#define WIRE_PEERS_MAX 16u
#define WIRE_PEERS_EXPECTED                                                                        \
	"IP addresses or networks (192.0.2.0/24), at most 16, with commas between"

/** struct wire_peers - networks: GIDs with the first @bits of @gid. */
struct wire_peers {
	struct {
		u8 gid[16];
		u32 bits;
	} net[WIRE_PEERS_MAX];
	u32 n;
};

/** wire_peers_parse() - Return: whether @text is such a list. */
bool wire_peers_parse(struct wire_peers *p, const char *text);
/**
 * wire_peers_has() - whether a host's address is in one of the networks. Those of IPv6 have no IPv4
 * address, however few bits they have.
 */
bool wire_peers_has(const struct wire_peers *p, const u8 gid[16]);

#endif
