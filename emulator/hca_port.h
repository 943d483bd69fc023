/* SPDX-License-Identifier: MIT */
/**
 * DOC: devices and ports, as they lie in HCA memory.
 */
#ifndef EMULATOR_HCA_PORT_H
#define EMULATOR_HCA_PORT_H

#include "emulator/cm/cm.h"

/** struct hca_gid - one GID table entry. */
struct hca_gid {
	u8 raw[16];
	u8 type; /* 2: RoCE v2 */
	u8 valid;
	u8 pad[2];
	u32 ifindex;
	char ndev[16];
};

/** enum hca_counter - what a port counts. The first ones count with each packet. */
enum hca_counter {
	CNT_XMIT_PKTS,
	CNT_XMIT_BYTES, /* payload */
	CNT_RCV_PKTS,
	CNT_RCV_BYTES,
	CNT_RDMA_SENDS, /* SENDs completed */
	CNT_RDMA_RECVS,
	CNT_MCAST_XMIT, /* packets, also counted above */
	CNT_MCAST_RCV,
	CNT_DUP_REQUEST,
	CNT_OUT_OF_SEQ, /* requests ahead of what was expected */
	CNT_SEQ_ERR, /* sequence NAKs received */
	CNT_RNR_SENT, /* send_rnr_err */
	CNT_RNR_RCVD, /* rcvd_rnr_err */
	CNT_RETRY_EXC,
	CNT_RNR_RETRY_EXC,
	CNT_TIMEOUT,
	CNT_RETRY, /* retransmissions, after timeouts and sequence NAKs */
	CNT_DROPPED,
	CNT_NAK_SENT,
	CNT_BAD_QKEY,
	CNT_SEND_ERR, /* packets that could not leave: the port is down */
	CNT_DEFERRED, /* QPs left to the fabric process */
	CNT_LINK_DOWNED,
	CNT_RCV_ERRORS, /* packets that came damaged */
	CNT_COUNT,
};

/** enum hca_port_state - IBV_PORT_*. */
enum hca_port_state {
	PORT_DOWN = 1,
	PORT_ACTIVE = 4,
};

/** enum hca_width - ibv_port_attr.active_width. */
enum hca_width {
	WIDTH_1X = 1,
	WIDTH_4X = 2,
	WIDTH_8X = 4,
	WIDTH_12X = 8,
	WIDTH_2X = 16,
};

/**
 * struct hca_uplink - the link between a port and the fabric's switch, the same in both directions.
 * @delay_ns: propagation, one way
 * @jitter_ns: up to so much more, at random; packets keep their order
 * @rate_bps: payload bits per second; 0: no limit
 * @mtu: enum ibv_mtu that the port's active_mtu is bounded by; 0: none
 */
struct hca_uplink {
	u64 delay_ns;
	u64 jitter_ns;
	u64 rate_bps;
	u32 mtu;
	u32 pad;
};

/** rate_slower() - the lower of two rates; 0 is no limit. */
static inline u64 rate_slower(u64 a, u64 b)
{
	return a && b ? min_u64(a, b) : a + b;
}

/**
 * struct hca_port - a port. What each packet needs is on its first line.
 * @ip: InfiniBand: the IP addresses of its interfaces, as of IPoIB's, in the form of GIDs; GID 0 is
 *	where they are. On Ethernet addresses are GIDs.
 * @fault: somebody in the fabric process looks at each of its packets: they all pass there
 * @capture: captures that look at its packets, a bit each: see capture_ring.h
 * @capture_via: and they take the links' queue: hca_capture.far
 * @own_mtu: enum ibv_mtu: what @active_mtu is when the link does not bound it; 0: @active_mtu
 */
struct hca_port {
	u32 state; /* enum hca_port_state */
	u32 lid; /* InfiniBand link layer; 0 on Ethernet */
	u64 counters[CNT_COUNT] cacheline_aligned; /* enum hca_counter; see struct hca_fresh */
	u32 active_mtu cacheline_aligned; /* enum ibv_mtu */
	u32 max_mtu;
	u32 sm_lid; /* of the subnet manager */
	u32 gsi_psn; /* that QP 1 sends with next */
	u32 own_mtu;
	u32 fault;
	u32 capture;
	u32 capture_via;
	struct hca_uplink link;
	u64 guid; /* interface id of GID 0 */
	u16 pkey[LIM_PKEYS]; /* host order; 0: empty */
	struct hca_gid gid[HCA_GIDS];
	struct hca_gid ip[HCA_GIDS];
} cacheline_aligned;

/**
 * struct hca_dev - a device.
 * @member: 0: of this fabric; else which of those that it is joined with (fabric/join/mesh.c)
 * @port: by number, 1 to @n_ports. Number 0 is that of a QP without a port: it has no P_Keys.
 */
struct hca_dev {
	u32 valid;
	u32 node;
	u32 index; /* in hca->dev[] */
	u32 number; /* among the node's; ibv_get_device_index() */
	u32 n_ports;
	u64 guid; /* host order */
	char name[32];
	char fw[32]; /* firmware version */
	char board[32];
	u32 pci_vendor;
	u32 speed; /* bit of a lane's speed: ibv_port_attr.active_speed */
	u32 width; /* enum hca_width */
	u32 n[TAB_COUNT]; /* objects that exist on it */
	u32 link_layer; /* enum hca_link */
	u32 n_mw; /* of the objects in TAB_MR, those that are windows */
	u32 member;
	struct hca_limits lim;
	struct hca_port port[HCA_MAX_PORTS + 1];
};

#endif
