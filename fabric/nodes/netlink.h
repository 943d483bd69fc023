/* SPDX-License-Identifier: MIT */
/** DOC: the addresses of the host's network interfaces, as GIDs of its ports. See netlink.c. */
#ifndef FABRIC_NODES_NETLINK_H
#define FABRIC_NODES_NETLINK_H

#include "fabric/nodes/nodes.h"

/** netlink_gid_make() - a GID of a subnet prefix and an interface id. */
void netlink_gid_make(struct hca_gid *g, u64 prefix, u64 guid);
/**
 * netlink_node_gid() - the link-local GID of a RoCE port with that GUID, on the host's interface.
 */
void netlink_node_gid(struct fabric *f, u64 guid, struct hca_gid *g);
/** netlink_mtu_code() - the path MTU (enum ibv_mtu) that fits an interface's, at most @max. */
u32 netlink_mtu_code(const char *ndev, u32 max);
/** netlink_port_gids() - the GID table of an Ethernet port as the host's interfaces are now. */
void netlink_port_gids(struct fabric *f, u32 dev, u32 port, struct hca_gid gid[HCA_GIDS]);
/** netlink_port_ips() - the same for the IP addresses of an InfiniBand port, without entry 0. */
void netlink_port_ips(struct fabric *f, u32 dev, u32 port, struct hca_gid ip[HCA_GIDS]);

#endif
