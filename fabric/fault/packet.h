/* SPDX-License-Identifier: MIT */
/** DOC: from bursts to packets as rules see them: opcode, connection, PSN, retransmission round. */
#ifndef FABRIC_FAULT_PACKET_H
#define FABRIC_FAULT_PACKET_H

#include "emulator/burst.h"
#include "fabric/fault/rule.h"

/** struct fault_end - one end of a packet. @client: index + 1; 0: unknown, or on another fabric */
struct fault_end {
	u32 node;
	u32 dev;
	u32 port;
	u32 qpn;
	u32 client;
};

/**
 * struct fault_pkt - a packet as rules see it.
 * @op: enum fault_op; @mad: enum cm_attr if @op is OP_MAD
 * @types: a bit for the type of each end's QP
 * @conn: 0: not part of a connection
 * @rel: PSN relative to the connection's first, in the packet's direction (a response has the PSN
 *	of its request)
 * @round: 1: the first transmission
 */
struct fault_pkt {
	struct fault_end src, dst;
	u32 op;
	u32 mad;
	u32 types;
	u32 conn;
	u32 psn, rel;
	u32 round;
	u64 size;
};

#define ROUND_RUNS 8u

/**
 * struct pkt_rounds - how often the packets of one direction of a connection, or of an SRD flow,
 * were sent.
 *
 * PSNs from @base on are grouped in runs that were sent equally often: run i ends before
 * run[i].end. Retransmitted packets become a run of their own. When there are too many runs, the
 * two oldest are merged.
 */
struct pkt_rounds {
	u32 qpn, conn; /* the owner; for another one counting starts over */
	u32 base;
	u32 n;
	struct {
		u32 end;
		u32 times;
	} run[ROUND_RUNS];
};

/** fault_rounds_next() - packet @psn is sent. Return: its round, 1 for the first transmission. */
u32 fault_rounds_next(struct pkt_rounds *r, u32 psn);

/** fault_pkt_op() - the wire opcode of a burst of one packet. */
u32 fault_pkt_op(const struct burst *b);
/** fault_pkt_ack_op() - the wire opcode of an ACK packet with that syndrome. */
u32 fault_pkt_ack_op(u8 aeth);
/**
 * fault_pkt_set_ends() - set what all packets of a burst share. @first: the connection's first PSN
 */
void fault_pkt_set_ends(const struct hca *hca, const struct burst *b, struct fault_pkt *p,
			u32 *first);
/** fault_pkt_set_one() - set what is specific to this burst of one packet, except its round. */
void fault_pkt_set_one(const struct burst *b, u32 first, struct fault_pkt *p);

#endif
