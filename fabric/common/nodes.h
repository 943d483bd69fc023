/* SPDX-License-Identifier: MIT */
/**
 * DOC: nodes as the fabric process makes them: devices by a profile, and addresses.
 *
 * Node 0 is the host itself, with the addresses of its interfaces (fabric/nodes/netlink.c). All
 * others get theirs from a subnet for each family, or from a topology.
 */
#ifndef FABRIC_COMMON_NODES_H
#define FABRIC_COMMON_NODES_H

#include "fabric/common/profile.h"
#include "fabric/proto/proto.h"

/*
 * Set by `rdmaemu replay` for the fabric process that it starts: the user id from which GUIDs are
 * made.
 */
#define NODES_UID_ENV "RDMAEMU_GUID_UID"

/* The host itself. */
#define NODE_NAME "node0"

#define NODE_MAX_PORTS (PROFILE_MAX_DEVS * HCA_MAX_PORTS)

/* The form of names of fabrics and nodes, and of subnets, for messages. */
#define NAME_EXPECTED "1 to 40 of A-Z a-z 0-9 . _ -, the first a letter, digit or _"
#define SUBNETS_EXPECTED                                                                           \
	"a subnet as 10.77.0.0/16 (8 to 29 bits) or fd77::/64 (64 to 112), or both with a comma "  \
	"between"

/** struct subnets - the subnets from which nodes get their addresses. */
struct subnets {
	u32 ip4; /* host order */
	u32 bits4;
	u8 ip6[16];
	u32 bits6;
};

/**
 * struct node_spec - a node to make.
 * @profile: NULL: the fabric's
 * @n_devs, @n_ports: 0: as the profile says
 * @ip4, @ip6: addresses of its ports in their order, as GIDs; other ports get one from the subnets
 */
struct node_spec {
	char name[NODE_NAME_MAX + 1];
	const struct profile *profile;
	u32 n_devs;
	u32 n_ports;
	u32 n_ip4, n_ip6;
	u8 ip4[NODE_MAX_PORTS][16];
	u8 ip6[NODE_MAX_PORTS][16];
};

/** subnets_default() - 10.77.0.0/16 and fd77::/64. */
void subnets_default(struct subnets *s);
/** subnets_hash() - to compare two of them. */
u64 subnets_hash(const struct subnets *s);
/**
 * subnets_parse() - read "ADDRESS/BITS", or two separated by a comma. Return: whether the text is
 * that.
 */
bool subnets_parse(struct subnets *s, const char *text);
/** ip_parse() - read an IPv4 or IPv6 address that a port may have, as a GID. */
bool ip_parse(const char *text, u8 raw[16]);

#endif
