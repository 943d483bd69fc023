/* SPDX-License-Identifier: MIT */
/** DOC: the commands of connection management: arguments and answers. */
#ifndef EMULATOR_CM_CMD_H
#define EMULATOR_CM_CMD_H

#include "emulator/hca.h"

/* All commands use struct cmd_cm. hca_cmd.handle is the identifier's unless noted. */

/**
 * struct cm_route - the path that rdma_resolve_route() has found, with the content of struct
 * ibv_path_data.
 */
struct cm_route {
	u8 sgid[16], dgid[16];
	u16 slid, dlid;
	u16 pkey;
	u8 sl, mtu, rate, packet_lifetime; /* enum ibv_mtu, enum ibv_rate, 4.096 us * 2^n */
	u8 hop_limit, traffic_class, sgid_index;
	u32 flow_label;
};

#define CM_FIND_REAL_TOO 1u /* a real device has the address as well, and is used: say so */

#define CM_PATH_DATA 72u /* struct ibv_path_data */
#define CM_OPT_MAX   (4 * CM_PATH_DATA)

/**
 * struct cmd_cm - argument and answer of the CMD_CM_* commands.
 * Errors are the errno values of the rdma_cm calls.
 */
struct cmd_cm {
	u32 ch; /* handle of a channel */
	u32 chan; /* CM_OPEN_CHAN: event channel number in the segment */
	u64 uid; /* CREATE_ID, ACCEPT */
	u32 ps, qp_type; /* CREATE_ID */
	u32 backlog; /* LISTEN; <= 0: the maximum */
	u32 timeout_ms; /* RESOLVE_* */
	s32 fail; /* RESOLVE_*, JOIN: injected error of its event, -errno; 0: none */
	u32 level, optname, optlen; /* SET_OPTION, numbers of rdma_cma.h */
	u32 event; /* NOTIFY: enum ibv_event_type */
	u32 reason; /* REJECT */
	u32 flags; /* JOIN: enum rdma_cm_join_mc_attr_flags: 1 send only; FIND_ADDR: CM_FIND_* */
	u32 reported; /* out: DESTROY_ID, MIGRATE_ID, LEAVE: events that were taken */
	u32 dropped; /* out: the same: counted events that left the channel unread */
	u32 has_param; /* @param was given */
	struct cm_addr src, dst; /* BIND: src; RESOLVE_ADDR: both; QUERY: out; others: dst */
	u64 context; /* JOIN, LEAVE */
	u32 qp_state; /* INIT_QP_ATTR: wanted */
	u32 attr_mask; /* out */
	u32 dev; /* out: QUERY: device + 1, 0 when not bound */
	u32 port; /* out */
	u32 n_paths; /* out */
	union {
		struct hca_qp_attr attr; /* out: INIT_QP_ATTR */
		struct cm_param param; /* CONNECT, ACCEPT, REJECT */
		struct cm_event ev; /* out: GET_EVENT */
		struct cm_route route; /* out: QUERY */
		u8 opt[CM_OPT_MAX]; /* SET_OPTION */
		u8 mgid[16]; /* JOIN with AF_IB; otherwise unused */
	};
};

#endif
