/* SPDX-License-Identifier: MIT */
/**
 * DOC: nodes: hosts that the fabric joins, each with devices, addresses and a name of its own.
 *
 * A node is never removed, and its devices follow each other in hca->dev[]. It is filled behind the
 * counts (hca_node_begin()) and becomes visible as a whole (hca_node_publish()), so that those who
 * look names and addresses up need not have the engine token.
 *
 * Addresses are found by hash: each entry of a port's tables is a link in a chain of its hash. Only
 * the fabric process changes them.
 */
#ifndef EMULATOR_NODE_H
#define EMULATOR_NODE_H

#include "emulator/hca_port.h"

#define NODE_NAME_MAX 40u

/**
 * struct hca_node - a node.
 * @member: 0: of this fabric; else of the member of that number that has joined it
 * @next: of the nodes whose names have the same hash, + 1
 * @ip4, @ip6: the first addresses that it was given, as GIDs; zeros: none
 * @bits4, @bits6: prefix lengths of the subnets that it is in; not told of a member's
 */
struct hca_node {
	char name[NODE_NAME_MAX + 8]; /* NUL-terminated */
	u32 member;
	u32 first_dev;
	u32 n_devs;
	u32 next;
	u8 ip4[16];
	u8 ip6[16];
	u32 bits4;
	u32 bits6;
};

/* An entry of an address table by number: those of a port's @gid, then those of its @ip. */
#define ADDRS_PER_PORT (2u * HCA_GIDS)
#define ADDRS_PER_DEV  (HCA_MAX_PORTS * ADDRS_PER_PORT)

struct hca;

/**
 * hca_node_name_ok() - whether it is 1 to 40 of A-Z a-z 0-9 . _ -, the first a letter, digit or _.
 */
bool hca_node_name_ok(const char *name);
/** hca_node_find() - the node of that name. No token needed. Return: index or -ENOENT. */
int hca_node_find(const struct hca *hca, const char *name);
/**
 * hca_node_begin() - a new node with room for @n_devs devices, which are to be filled; nobody sees
 * them.
 * Return: index; -EINVAL: its name; -EEXIST; -ENOSPC.
 */
int hca_node_begin(struct hca *hca, const char *name, u32 n_devs);
/** hca_node_publish() - the node that was begun last has all that it is to have. */
void hca_node_publish(struct hca *hca, u32 node);
/** hca_nodes_index() - make the hashes of names, addresses and LIDs anew. */
void hca_nodes_index(struct hca *hca);

/** hca_addr_number() - the number of entry @index of a port's @gid or, with @ip, of its @ip. */
u32 hca_addr_number(u32 dev, u32 port, bool ip, u32 index);
/**
 * hca_addr_next() - the next entry with that address.
 * @at: where the last one was, 0 at first; becomes a link's number + 1
 * Return: the entry with its device and port, or NULL. @ip: it is one of the port's @ip.
 */
const struct hca_gid *hca_addr_next(const struct hca *hca, const u8 raw[16], u32 *at, u32 *dev,
				    u32 *port, u32 *index, bool *ip);

/**
 * hca_port_set_gid() - change entry @index of a port's GIDs, or of its IP addresses (@ip), with the
 * token.
 * Return: whether it was another one.
 */
bool hca_port_set_gid(struct hca *hca, u32 dev, u32 port, bool ip, u32 index,
		      const struct hca_gid *gid);
/** hca_lid_index() - a port's LID leads to it. The port that had the LID before has none now. */
void hca_lid_index(struct hca *hca, u32 dev, u32 port);
/** hca_lid_release() - a port's LID no longer leads to it. The caller changes the port. */
void hca_lid_release(struct hca *hca, u32 dev, u32 port);

#endif
