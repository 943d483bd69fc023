/* SPDX-License-Identifier: MIT */
/**
 * DOC: the codec between bursts and packets, for captures, injected frames and the wire.
 *
 * A packet is a struct roce_pkt: traces/formats/roce.h makes frames of it and parses them. Pure
 * functions over the HCA's tables.
 */
#ifndef FABRIC_PACKET_PACKET_H
#define FABRIC_PACKET_PACKET_H

#include "emulator/burst.h"
#include "emulator/transport/capture_ring.h"
#include "traces/formats/roce.h"

/**
 * struct packet_run - packets of a burst that leave a wire in one piece (UDP_SEGMENT): @n of them
 * from number @first on, all of the same length but for a shorter last one. The kernel numbers them
 * from 0. @sums: some packets of the burst leave so: all of it have UDP checksums then, since the
 * kernel gives such a piece none without, and a socket gives them to all or none.
 */
struct packet_run {
	u32 first, n;
	bool sums;
};

/* --- frame.c --- */

/**
 * packet_frame_begin() - set the fields that all packets of a record have in common.
 * Return: number of packets; 0: the record is malformed.
 */
u32 packet_frame_begin(const struct hca *hca, const struct cap_view *v, struct roce_pkt *p);
/**
 * packet_frame_next() - set the fields of packet @i, in turn.
 * @run: that of the packet before, at first 0; receives that of packet @i
 * Return: whether roce_build_next() can make its frame of that of the packet before.
 */
bool packet_frame_next(const struct hca *hca, const struct cap_view *v, u32 i, struct roce_pkt *p,
		       struct packet_run *run);
/**
 * packet_frame_gap() - bytes between the payloads of two packets that leave in one piece: what
 * follows that of the first, and the headers of the second.
 */
u32 packet_frame_gap(const struct burst *b);

/**
 * packet_set_macs() - set the Ethernet addresses of a packet. @path: the ports of its ends
 * @dgid: where it goes: a group has an address of its own
 */
void packet_set_macs(const struct hca *hca, const struct hca_path *path, const u8 dgid[16],
		     struct roce_pkt *p);

/* --- burst.c --- */

/**
 * struct packet_burst - a packet as the engine sees it, with the structs to which its burst points.
 */
struct packet_burst {
	struct burst b;
	struct hca_mem mem;
	struct hca_av av;
};

/**
 * packet_to_burst() - the burst of a frame that roce_parse() has read, or refused with -EBADMSG.
 * @r: its payload is referred to, not copied
 * @fault: receives the enum packet_fault for which a port drops it, or PKT_FAULTS
 * Return: 0: p->b has at least the destination; -ENXIO: no port has its source address; -EREMOTE:
 * it is for another fabric.
 */
int packet_to_burst(const struct hca *hca, const struct roce_pkt *r, struct packet_burst *p,
		    u32 *fault);
/**
 * packet_extend_burst() - add the packet that follows in the message, from the same sender.
 * @p: of a connected queue pair; all its packets have p->b.mtu bytes of payload, and so has @r,
 * unless it is the message's last one. Their payloads are adjacent in memory once the caller has
 * moved that of @r there.
 * Return: whether @r is such a packet.
 */
bool packet_extend_burst(const struct roce_pkt *r, struct packet_burst *p);

#endif
