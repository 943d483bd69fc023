/* SPDX-License-Identifier: MIT */
/**
 * DOC: the InfiniBand numbers that the HCA model works with.
 *
 * The values are those of verbs.h, so that nothing is translated at the API; the shim asserts at
 * compile time that they agree. The model itself depends on libc alone.
 */
#ifndef EMULATOR_IB_H
#define EMULATOR_IB_H

#include "emulator/gid.h"
#include "emulator/types.h"

#define IB_PSN_MASK	0xffffffu
#define IB_QPN_MASK	0xffffffu
#define IB_DEFAULT_PKEY 0xffffu
#define IB_MCAST_QPN	0xffffffu
#define IB_GRH_LEN	40u
#define GSI_QPN		1u
#define GSI_QKEY	0x80010000u

/** pkeys_match() - same partition, and one of the two a full member (IBTA 10.9.3). */
static inline bool pkeys_match(u16 a, u16 b)
{
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

/** PSN arithmetic is modulo 2^24 with a half window of 2^23 (IBTA 9.7.2). */
static inline u32 psn_add(u32 psn, u32 n)
{
	return (psn + n) & IB_PSN_MASK;
}

/** psn_diff() - signed distance a - b in the 24-bit circle. */
static inline s32 psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

enum ib_qp_type {
	QPT_RC = 2,
	QPT_UC = 3,
	QPT_UD = 4,
	QPT_SRD = 5, /* verbs.h has no number for it: IBV_QPT_DRIVER, and a driver's own */
	QPT_RAW_PACKET = 8,
	QPT_XRC_SEND = 9,
	QPT_XRC_RECV = 10,
};

/** qpt_is_datagram() - its work requests and its packets name their peer: UD and SRD. */
static inline bool qpt_is_datagram(u32 type)
{
	_Static_assert(QPT_UD >> 1 == QPT_SRD >> 1, "neighbours");
	return type >> 1 == QPT_UD >> 1;
}

enum ib_qp_state {
	QPS_RESET,
	QPS_INIT,
	QPS_RTR,
	QPS_RTS,
	QPS_SQD,
	QPS_SQE,
	QPS_ERR,
	QPS_COUNT,
};

enum ib_wr_opcode {
	WR_RDMA_WRITE,
	WR_RDMA_WRITE_WITH_IMM,
	WR_SEND,
	WR_SEND_WITH_IMM,
	WR_RDMA_READ,
	WR_ATOMIC_CMP_AND_SWP,
	WR_ATOMIC_FETCH_AND_ADD,
	WR_LOCAL_INV,
	WR_BIND_MW,
	WR_SEND_WITH_INV,
	WR_TSO,
	WR_FLUSH = 14,
	WR_ATOMIC_WRITE,
	WR_COUNT,
};

enum ib_send_flags {
	SEND_FENCE = 1 << 0,
	SEND_SIGNALED = 1 << 1,
	SEND_SOLICITED = 1 << 2,
	SEND_INLINE = 1 << 3,
	SEND_IP_CSUM = 1 << 4,
};

enum ib_wc_status {
	WCS_SUCCESS,
	WCS_LOC_LEN_ERR,
	WCS_LOC_QP_OP_ERR,
	WCS_LOC_EEC_OP_ERR,
	WCS_LOC_PROT_ERR,
	WCS_WR_FLUSH_ERR,
	WCS_MW_BIND_ERR,
	WCS_BAD_RESP_ERR,
	WCS_LOC_ACCESS_ERR,
	WCS_REM_INV_REQ_ERR,
	WCS_REM_ACCESS_ERR,
	WCS_REM_OP_ERR,
	WCS_RETRY_EXC_ERR,
	WCS_RNR_RETRY_EXC_ERR,
	WCS_LOC_RDD_VIOL_ERR,
	WCS_REM_INV_RD_REQ_ERR,
	WCS_REM_ABORT_ERR,
	WCS_INV_EECN_ERR,
	WCS_INV_EEC_STATE_ERR,
	WCS_FATAL_ERR,
	WCS_RESP_TIMEOUT_ERR,
	WCS_GENERAL_ERR,
	WCS_TM_ERR,
	WCS_TM_RNDV_INCOMPLETE,
};

enum ib_wc_opcode {
	WCO_SEND,
	WCO_RDMA_WRITE,
	WCO_RDMA_READ,
	WCO_COMP_SWAP,
	WCO_FETCH_ADD,
	WCO_BIND_MW,
	WCO_LOCAL_INV,
	WCO_TSO,
	WCO_FLUSH,
	WCO_ATOMIC_WRITE,
	WCO_RECV = 1 << 7,
	WCO_RECV_RDMA_WITH_IMM,
	WCO_TM_ADD,
	WCO_TM_DEL,
	WCO_TM_SYNC,
	WCO_TM_RECV,
	WCO_TM_NO_TAG,
};

enum ib_wc_flags {
	WCF_GRH = 1 << 0,
	WCF_WITH_IMM = 1 << 1,
	WCF_IP_CSUM_OK = 1 << 2,
	WCF_WITH_INV = 1 << 3,
	WCF_TM_SYNC_REQ = 1 << 4,
	WCF_TM_MATCH = 1 << 5,
	WCF_TM_DATA_VALID = 1 << 6,
};

enum ib_access {
	ACC_LOCAL_WRITE = 1 << 0,
	ACC_REMOTE_WRITE = 1 << 1,
	ACC_REMOTE_READ = 1 << 2,
	ACC_REMOTE_ATOMIC = 1 << 3,
	ACC_MW_BIND = 1 << 4,
	ACC_ZERO_BASED = 1 << 5,
	ACC_ON_DEMAND = 1 << 6,
	ACC_HUGETLB = 1 << 7,
	ACC_FLUSH_GLOBAL = 1 << 8,
	ACC_FLUSH_PERSISTENT = 1 << 9,
	ACC_RELAXED_ORDERING = 1 << 20,
};

#define ACC_FLUSH (ACC_FLUSH_GLOBAL | ACC_FLUSH_PERSISTENT)
/* All that uverbs lets pass, with IBV_ACCESS_OPTIONAL_RANGE. */
#define ACC_KNOWN                                                                                  \
	(ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC | ACC_MW_BIND |  \
	 ACC_ZERO_BASED | ACC_ON_DEMAND | ACC_HUGETLB | ACC_FLUSH | 0x3ff00000u)

/** enum ib_flush - FETH (IBTA annex A19): placement types, selectivity, reserved bits. */
enum ib_flush {
	FLUSH_GLOBAL = 1 << 0, /* enum ibv_placement_type */
	FLUSH_PERSISTENT = 1 << 1,
	FLUSH_TYPES = FLUSH_GLOBAL | FLUSH_PERSISTENT,
	FLUSH_MR = 1 << 4, /* enum ibv_selectivity_level; 0: the range */
	FLUSH_KNOWN = FLUSH_TYPES | FLUSH_MR,
};

#define FLUSH_LEVEL_SHIFT 4

/** Attribute mask of ibv_modify_qp(3). */
enum ib_qp_attr_mask {
	QPA_STATE = 1 << 0,
	QPA_CUR_STATE = 1 << 1,
	QPA_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	QPA_ACCESS_FLAGS = 1 << 3,
	QPA_PKEY_INDEX = 1 << 4,
	QPA_PORT = 1 << 5,
	QPA_QKEY = 1 << 6,
	QPA_AV = 1 << 7,
	QPA_PATH_MTU = 1 << 8,
	QPA_TIMEOUT = 1 << 9,
	QPA_RETRY_CNT = 1 << 10,
	QPA_RNR_RETRY = 1 << 11,
	QPA_RQ_PSN = 1 << 12,
	QPA_MAX_QP_RD_ATOMIC = 1 << 13,
	QPA_ALT_PATH = 1 << 14,
	QPA_MIN_RNR_TIMER = 1 << 15,
	QPA_SQ_PSN = 1 << 16,
	QPA_MAX_DEST_RD_ATOMIC = 1 << 17,
	QPA_PATH_MIG_STATE = 1 << 18,
	QPA_CAP = 1 << 19,
	QPA_DEST_QPN = 1 << 20,
	QPA_RATE_LIMIT = 1 << 25,
};

enum ib_event {
	EV_CQ_ERR,
	EV_QP_FATAL,
	EV_QP_REQ_ERR,
	EV_QP_ACCESS_ERR,
	EV_COMM_EST,
	EV_SQ_DRAINED,
	EV_PATH_MIG,
	EV_PATH_MIG_ERR,
	EV_DEVICE_FATAL,
	EV_PORT_ACTIVE,
	EV_PORT_ERR,
	EV_LID_CHANGE,
	EV_PKEY_CHANGE,
	EV_SM_CHANGE,
	EV_SRQ_ERR,
	EV_SRQ_LIMIT_REACHED,
	EV_QP_LAST_WQE_REACHED,
	EV_CLIENT_REREGISTER,
	EV_GID_CHANGE,
	EV_WQ_FATAL,
};

enum ib_wq_state {
	WQS_RESET,
	WQS_RDY,
	WQS_ERR,
};

/** enum ib_roce_pkt - what mlx5 tells in a RoCE datagram's service level, and UCX looks at. */
enum ib_roce_pkt {
	ROCE_PKT_V1,
	ROCE_PKT_V6,
	ROCE_PKT_V4,
};

/** AETH syndromes (IBTA 9.7.5.2.1). */
enum ib_aeth {
	AETH_ACK = 0x1f, /* credits unlimited */
	AETH_RNR_NAK = 0x20, /* low 5 bits: timer code */
	AETH_NAK_PSN_SEQ = 0x60,
	AETH_NAK_INV_REQ = 0x61,
	AETH_NAK_REM_ACCESS = 0x62,
	AETH_NAK_REM_OP = 0x63,
	AETH_NAK_INV_RD_REQ = 0x64, /* SRD: no such QP, or it does not receive */
};

/** ib_mtu_bytes() - bytes of an enum ibv_mtu (1..5 = 256..4096). */
static inline u32 ib_mtu_bytes(u32 mtu)
{
	return 128u << mtu;
}

/** ib_rnr_timer_ns() - nanoseconds of an RNR timer code, 0..31 (IBTA table 45). */
u64 ib_rnr_timer_ns(u32 code);

/** ib_ack_timeout_ns() - 4.096 us x 2^timeout; 0: no timer (IBTA 9.9.2.1.1, ibv_modify_qp(3)). */
static inline u64 ib_ack_timeout_ns(u32 timeout)
{
	return timeout ? 4096ULL << timeout : 0;
}

const char *ib_wc_status_name(u32 status);
/** ib_wr_opcode_name() - "RDMA_WRITE", ...: enum ibv_wr_opcode without its prefix. */
const char *ib_wr_opcode_name(u32 opcode);
const char *ib_qp_type_name(u32 type);
const char *ib_qp_state_name(u32 state);
const char *ib_event_name(u32 event);

#endif
