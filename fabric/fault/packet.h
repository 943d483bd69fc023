/* SPDX-License-Identifier: MIT */
/**
 * DOC: from bursts to packets as rules see them: opcode, connection, PSN, retransmission round.
 */
#ifndef FABRIC_FAULT_PACKET_H
#define FABRIC_FAULT_PACKET_H

#include "emulator/transport/burst.h"
#include "fabric/fault/fault.h"

#define ROUND_RUNS 8u

/**
 * struct pkt_rounds - how often the packets of one direction of a connection were sent.
 *
 * PSNs from @base on, in runs of those that were sent equally often: run i ends before run[i].end. What a
 * retransmission goes back to and through becomes a run of its own. Where there are too many the two oldest
 * become one.
 */
struct pkt_rounds {
	u32 qpn, conn; /* whose they are; others': begin anew */
	u32 base;
	u32 n;
	struct {
		u32 end;
		u32 times;
	} run[ROUND_RUNS];
};

/** fault_rounds_next() - packet @psn is sent. Return: its round, 1: for the first time. */
u32 fault_rounds_next(struct pkt_rounds *r, u32 psn);

/** fault_pkt_op() - the wire opcode of a burst of one packet. */
u32 fault_pkt_op(const struct burst *b);
/** fault_pkt_ack_op() - of an acknowledge with that syndrome. */
u32 fault_pkt_ack_op(u8 aeth);
/** fault_pkt_set_ends() - what all packets of a burst have in common. @first: the connection's first PSN */
void fault_pkt_set_ends(const struct hca *hca, const struct burst *b, struct fault_pkt *p,
			u32 *first);
/** fault_pkt_set_one() - what only this burst of one packet has, but for its round. */
void fault_pkt_set_one(const struct burst *b, u32 first, struct fault_pkt *p);

#endif
