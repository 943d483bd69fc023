/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw Ethernet among the files of the model: frames at the switch, and the rules for them.
 */
#ifndef EMULATOR_TRANSPORT_ETH_H
#define EMULATOR_TRANSPORT_ETH_H

#include "emulator/hca.h"
#include "emulator/frame/frame.h"

/**
 * struct eth_frame - a finished frame at the switch.
 * @mem: its bytes, in the sender's segment; FRAME_FCS more bytes after them are free
 * @p: the same, mapped here
 * @src_qpn, @nth: who sends it, and which of that one's frames it is
 * @csum: 0: not known yet whether its checksums are right; 1: they are; 2: they are not
 * @fcs: the check sequence was appended
 */
struct eth_frame {
	struct frame f;
	struct hca_mem mem;
	u8 *p;
	u32 src_qpn;
	u32 nth;
	u8 csum;
	bool fcs;
};

/* Which rules of a port are asked first: the upper bits of hca_flow.order. */
enum flow_order {
	ORDER_NORMAL,
	ORDER_MULTICAST, /* NORMAL, with nothing but a multicast address in its mask */
	ORDER_DEFAULT,
};

/* A struct flow_match, 64 bits at a time. */
typedef u64 __attribute__((may_alias)) any64;

/** struct flow_route - which rule of each port decides about a frame, index; 0: none. */
struct flow_route {
	u32 best[HCA_MAX_DEVS][HCA_MAX_PORTS];
};

/** flow_route() - find them. Return: whether anybody may want the frame. */
bool flow_route(const struct hca *hca, const struct frame *f, struct flow_route *r);
/** flow_is_receiver() - whether rule @i gets the frame, to steer or drop it. */
bool flow_is_receiver(const struct hca *hca, const struct frame *f, const struct flow_route *r,
		      u32 i);

#endif
