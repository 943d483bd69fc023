/* SPDX-License-Identifier: MIT */
/**
 * DOC: the objects of raw Ethernet, as they lie in HCA memory: work queues and what spreads over
 * them, flow rules, counters. Included by obj.h.
 */
#ifndef EMULATOR_OBJ_ETH_H
#define EMULATOR_OBJ_ETH_H

#include "emulator/limits.h"

/** struct hca_wq - a receive work queue, ibv_create_wq(3). Its ring is as that of a QP's RQ. */
struct hca_wq {
	u32 client;
	u32 dev;
	u32 pd;
	u32 cq;
	u64 ring;
	u32 depth;
	u32 stride;
	u32 max_sge;
	u32 state; /* enum ib_wq_state */
	u32 cons; /* receives taken, free running */
	u32 refs; /* indirection tables */
	u32 flags; /* enum hca_wq_flags */
	u32 async_chan;
	u32 gen;
	u32 wqn; /* number in completions, WQN_MARK set */
} cacheline_aligned;

/* Marks the number of a WQ: no QP has it. */
#define WQN_MARK (1u << 31)

/** struct hca_ind - an indirection table of WQs, ibv_create_rwq_ind_table(3). */
struct hca_ind {
	u32 client;
	u32 dev;
	u32 refs; /* QPs */
	u32 n; /* power of two */
	u32 wq[LIM_IND];
};

/** enum frame_tunnel - headers that carry others, or hide them: bits of struct flow_match. */
enum frame_tunnel {
	TUN_VXLAN = 1 << 0,
	TUN_GRE = 1 << 1,
	TUN_MPLS = 1 << 2,
	TUN_ESP = 1 << 3,
};

/**
 * struct flow_match - a frame's fields, or the mask for them; network order where they have one.
 * @vlan: TCI of the first tag, when @tagged
 * @vni: VXLAN, in the low 24 bits
 * @ip_flags: 2: do not fragment, 4: more fragments
 * @l2: 1: there is an Ethernet header; @l3: 0, 4, 6; @l4: 0, 6 TCP, 17 UDP
 * @tunnel: enum frame_tunnel, of what follows this header
 */
struct flow_match {
	u8 dmac[6], smac[6];
	u16 ethertype;
	u16 vlan;
	u32 src4, dst4;
	u8 src6[16], dst6[16];
	u32 flow_label;
	u16 sport, dport;
	u32 vni;
	u32 spi, esp_seq;
	u32 gre_key;
	u32 mpls; /* first label stack entry */
	u16 gre_flags, gre_proto;
	u8 proto;
	u8 tos; /* or traffic class */
	u8 ttl; /* or hop limit */
	u8 ip_flags;
	u8 l2;
	u8 l3;
	u8 l4;
	u8 tunnel;
	u8 tagged;
	u8 pad[7];
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct flow_match) == 104, "whole words, no holes");

/**
 * struct hca_flow - a steering rule, ibv_create_flow(3).
 * @order: what decides between rules of a port, the smallest first: kind, priority, age
 * @inner: the masks for what a tunnel carries are not empty
 */
struct hca_flow {
	u32 client;
	u32 dev;
	u32 qpn;
	u32 type; /* enum hca_flow_type */
	u32 priority; /* 0 first */
	u32 flags; /* enum hca_flow_flags */
	u32 counters; /* index + 1 */
	u32 tag;
	u32 has_tag;
	u32 drop;
	u32 inner;
	u32 port; /* of @dev */
	u64 order;
	struct flow_match value, mask;
	struct flow_match inner_value, inner_mask;
};

/** enum hca_flow_type - enum ibv_flow_attr_type. */
enum hca_flow_type {
	FLOW_NORMAL,
	FLOW_ALL_DEFAULT,
	FLOW_MC_DEFAULT,
	FLOW_SNIFFER,
};

/** enum hca_flow_flags - enum ibv_flow_flags. */
enum hca_flow_flags {
	FLOW_DONT_TRAP = 1 << 1,
};

/** enum hca_wq_flags - enum ibv_wq_flags. */
enum hca_wq_flags {
	WQF_CVLAN_STRIPPING = 1 << 0,
	WQF_SCATTER_FCS = 1 << 1,
	WQF_PCI_WRITE_END_PADDING = 1 << 3,
};

/** enum hca_counter_desc - enum ibv_counter_description. */
enum hca_counter_desc {
	CTR_PACKETS,
	CTR_BYTES,
};

/** enum hca_rx_hash - enum ibv_rx_hash_fields. */
enum hca_rx_hash {
	RXH_SRC_IPV4 = 1 << 0,
	RXH_DST_IPV4 = 1 << 1,
	RXH_SRC_IPV6 = 1 << 2,
	RXH_DST_IPV6 = 1 << 3,
	RXH_SRC_PORT_TCP = 1 << 4,
	RXH_DST_PORT_TCP = 1 << 5,
	RXH_SRC_PORT_UDP = 1 << 6,
	RXH_DST_PORT_UDP = 1 << 7,
	RXH_IPSEC_SPI = 1 << 8,
};
#define RXH_INNER (1u << 31)
#define RSS_KEY	  40u

#define CTR_POINTS 16u

/** struct hca_ctr - a counters object, ibv_create_counters(3): what is counted at each index. */
struct hca_ctr {
	u32 client;
	u32 dev;
	u32 refs; /* flows */
	u32 n;
	u32 what[CTR_POINTS]; /* enum hca_counter_desc */
	u32 index[CTR_POINTS];
	u64 packets, bytes;
};

#endif
