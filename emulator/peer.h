/* SPDX-License-Identifier: MIT */
/**
 * DOC: hosts outside of the fabric, which ports with a wire reach by RoCE v2: fabric/roce/.
 *
 * Each address outside has a device of its own, a *peer*, which never has objects: it is the other
 * end of paths. The fabric process makes the devices at its start, without addresses; a peer gets
 * its address when a program first names it, or when its first datagram arrives. It keeps it while
 * a queue pair, an address handle, an identifier or a packet under way refers to it. The fabric
 * process takes the addresses of others away when places get rare, those first that were used
 * longest ago.
 *
 * In an isolated fabric a place belongs to the client that first refers to it, and a client leaves
 * as many places as it has.
 */
#ifndef EMULATOR_PEER_H
#define EMULATOR_PEER_H

#include "emulator/limits.h"
#include "emulator/types.h"

#define HCA_WIRES	     4u
#define HCA_PEERS	     256u
#define HCA_WIRE_PORTS_TAKEN 16u
#define HCA_WIRE_SPEEDS	     64u
/* struct hca_dev.member of peers. Members that have joined have small numbers. */
#define HCA_MEMBER_WIRE 0xffffu

struct hca;

/**
 * struct hca_wire_speed - what a queue pair sends by a wire. Queue pairs share the places by their
 * numbers.
 * @bytes: since real time @since, in ns
 * @speed: bytes a second, before; 0: it has just begun
 * @limited_until: its peer has told of congestion: until that time the fabric process alone sends
 * for it
 */
struct hca_wire_speed {
	u32 qpn;
	u64 bytes, since, speed;
	u64 limited_until;
};

/**
 * struct hca_wires - the wires of the fabric.
 * @n: wires
 * @bursts: the kernel cuts what they send into datagrams: fabric/packet/packet.h. 0: it does not;
 *	    @bursts_error: errno of the call that showed so, if one did
 * @uid: of the fabric process: only programs of that user send for themselves
 * @netns: its network namespace, as the inode of /proc/self/ns/net; 0: not known
 * @filters: --roce-peers: the fabric process alone knows who may send
 * @looked: when a program last looked for datagrams, in ns of real time; 0: none does
 * @deferred: as long as programs look, the fabric process does not: fabric/roce/defer.c
 * @parked: bursts wait in the fabric process, and what arrives may have to go after them
 * @n_sent, @n_lost: datagrams of each wire that left, and that a socket has refused
 * @n_received, @n_numbered: that arrived, and those of them whose sender sets an IPv4
 * identification
 * @speed: of queue pairs
 * @gid: their addresses, which are GIDs of ports of this fabric
 * @n_taken, @taken: UDP source ports that flows cannot have, since another program of the host has
 * them; of more than fit here, the latest
 * @first_peer, @n_peers: devices that stand for hosts outside; @n_used: those that have an address
 * @used: when each was last used, as a number that grows: @n_uses
 * @owner: in an isolated fabric: number + 1 of the client that each belongs to; 0: to none
 * @tight: a client has, or soon has, as many as it may: the fabric process looks which are idle,
 *	   and who was refused
 * @n_refused: how often a program got no place; @refused: number + 1 of the latest one's client
 */
struct hca_wires {
	u32 n;
	u32 bursts, bursts_error;
	u32 uid;
	u64 netns;
	u32 first_peer, n_peers, n_used;
	u8 gid[HCA_WIRES][16];
	u32 n_taken;
	u16 taken[HCA_WIRE_PORTS_TAKEN];
	u64 n_uses;
	u64 used[HCA_PEERS];
	u32 owner[HCA_PEERS];
	u32 tight;
	u32 refused;
	u64 n_refused;
	u32 filters;
	u32 parked;
	u32 deferred;
	u64 looked;
	u64 n_sent[HCA_WIRES], n_lost[HCA_WIRES];
	u64 n_received[HCA_WIRES], n_numbered[HCA_WIRES];
	struct hca_wire_speed speed[HCA_WIRE_SPEEDS];
};

/** hca_wire_port_is_taken() - whether flows cannot leave from a source port: 4791 is theirs. */
bool hca_wire_port_is_taken(const struct hca_wires *w, u16 port);
/** hca_dev_is_peer() - whether a device stands for a host outside of the fabric. */
bool hca_dev_is_peer(const struct hca *hca, u32 dev);
/**
 * hca_peer_window() - packets of a queue pair to a peer that may be unacknowledged, of at most @mtu
 * bytes: the socket that receives them may have a small buffer. rdma_rxe's limit is 128.
 */
static inline u32 hca_peer_window(u32 mtu)
{
	return mtu > 1024 ? 128 : 256;
}

/** hca_peer_has_address() - false: the device is a peer that stands for no host now. */
bool hca_peer_has_address(const struct hca *hca, u32 dev);
/**
 * hca_peer_add() - give a peer an address that no device has. Token held.
 * Return: its device; -1: all have one.
 */
int hca_peer_add(struct hca *hca, const u8 gid[16]);
/** hca_peer_use() - note that the host of a peer has sent something. Token held. */
void hca_peer_use(struct hca *hca, u32 dev);
/**
 * hca_peer_claim() - a client is about to refer to a device: one that is nobody's peer becomes its.
 * Token held. Return: whether it may.
 */
bool hca_peer_claim(struct hca *hca, u32 client, u32 dev);
/** hca_peers_count_unowned() - how many peers with an address belong to no client. */
u32 hca_peers_count_unowned(const struct hca *hca);
/** hca_peers_disown() - the peers of a client belong to none. Token held. */
void hca_peers_disown(struct hca *hca, u32 client);
/**
 * struct hca_peer_refs - what refers to peers.
 * @bits: a bit for each that something refers to
 * @owner: number + 1 of a client that does, of the present owner if it does; 0: none
 */
struct hca_peer_refs {
	u64 bits[HCA_PEERS / 64];
	u32 owner[HCA_PEERS];
};

/**
 * hca_peer_refer() - note that something refers to a device, if it is a peer.
 * @client: number + 1 of the client that it belongs to; 0: to none
 */
void hca_peer_refer(const struct hca *hca, struct hca_peer_refs *refs, u32 dev, u32 client);
/** hca_peers_refer_all() - note the peers of all objects and of waiting MADs. Token held. */
void hca_peers_refer_all(const struct hca *hca, struct hca_peer_refs *refs);
/**
 * hca_peers_release() - take the addresses of up to @n peers away that nothing refers to, those
 * first that were used longest ago. The others belong to their clients in @refs from now on. Token
 * held. Return: how many.
 */
u32 hca_peers_release(struct hca *hca, const struct hca_peer_refs *refs, u32 n);
/**
 * hca_peer_route() - the peer that a client reaches from a port with the address @sgid at @dgid,
 * which no device of this fabric has. Token held. @port: receives the peer's port
 * Return: its device; -1: no wire has that source address, all peers have another address, or the
 * client has its share of them.
 */
int hca_peer_route(struct hca *hca, u32 client, const u8 sgid[16], const u8 dgid[16], u8 *port);

#endif
