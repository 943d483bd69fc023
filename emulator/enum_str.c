/* SPDX-License-Identifier: MIT */
/**
 * DOC: numbers with names: RNR timer codes, and enums as verbs.h prints them.
 */
#include "emulator/ib.h"
#include "emulator/packet_fault.h"

/* IBTA table 45, in units of 10 us. Code 0 is the longest. */
static const u32 rnr_timer_10us[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

u64 ib_rnr_timer_ns(u32 code)
{
	return rnr_timer_10us[code & 31] * 10000ULL;
}

static const char *enum_name(const char *const *names, u32 n, u32 i)
{
	return i < n && names[i] ? names[i] : "?";
}

const char *ib_wc_status_name(u32 status)
{
	static const char *const names[] = {
		"IBV_WC_SUCCESS",
		"IBV_WC_LOC_LEN_ERR",
		"IBV_WC_LOC_QP_OP_ERR",
		"IBV_WC_LOC_EEC_OP_ERR",
		"IBV_WC_LOC_PROT_ERR",
		"IBV_WC_WR_FLUSH_ERR",
		"IBV_WC_MW_BIND_ERR",
		"IBV_WC_BAD_RESP_ERR",
		"IBV_WC_LOC_ACCESS_ERR",
		"IBV_WC_REM_INV_REQ_ERR",
		"IBV_WC_REM_ACCESS_ERR",
		"IBV_WC_REM_OP_ERR",
		"IBV_WC_RETRY_EXC_ERR",
		"IBV_WC_RNR_RETRY_EXC_ERR",
		"IBV_WC_LOC_RDD_VIOL_ERR",
		"IBV_WC_REM_INV_RD_REQ_ERR",
		"IBV_WC_REM_ABORT_ERR",
		"IBV_WC_INV_EECN_ERR",
		"IBV_WC_INV_EEC_STATE_ERR",
		"IBV_WC_FATAL_ERR",
		"IBV_WC_RESP_TIMEOUT_ERR",
		"IBV_WC_GENERAL_ERR",
		"IBV_WC_TM_ERR",
		"IBV_WC_TM_RNDV_INCOMPLETE",
	};

	return enum_name(names, ARRAY_SIZE(names), status);
}

const char *ib_wr_opcode_name(u32 opcode)
{
	static const char *const names[WR_COUNT] = {
		[WR_RDMA_WRITE] = "RDMA_WRITE",
		[WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
		[WR_SEND] = "SEND",
		[WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[WR_RDMA_READ] = "RDMA_READ",
		[WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
		[WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
		[WR_LOCAL_INV] = "LOCAL_INV",
		[WR_BIND_MW] = "BIND_MW",
		[WR_SEND_WITH_INV] = "SEND_WITH_INV",
		[WR_TSO] = "TSO",
		[WR_FLUSH] = "FLUSH",
		[WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	return enum_name(names, ARRAY_SIZE(names), opcode);
}

const char *ib_qp_type_name(u32 type)
{
	static const char *const names[] = {
		[QPT_RC] = "RC",
		[QPT_UC] = "UC",
		[QPT_UD] = "UD",
		[QPT_SRD] = "SRD",
		[QPT_RAW_PACKET] = "RAW_PACKET",
		[QPT_XRC_SEND] = "XRC_SEND",
		[QPT_XRC_RECV] = "XRC_RECV",
	};

	return enum_name(names, ARRAY_SIZE(names), type);
}

const char *ib_qp_state_name(u32 state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return enum_name(names, ARRAY_SIZE(names), state);
}

const char *ib_event_name(u32 event)
{
	static const char *const names[] = {
		"IBV_EVENT_CQ_ERR",
		"IBV_EVENT_QP_FATAL",
		"IBV_EVENT_QP_REQ_ERR",
		"IBV_EVENT_QP_ACCESS_ERR",
		"IBV_EVENT_COMM_EST",
		"IBV_EVENT_SQ_DRAINED",
		"IBV_EVENT_PATH_MIG",
		"IBV_EVENT_PATH_MIG_ERR",
		"IBV_EVENT_DEVICE_FATAL",
		"IBV_EVENT_PORT_ACTIVE",
		"IBV_EVENT_PORT_ERR",
		"IBV_EVENT_LID_CHANGE",
		"IBV_EVENT_PKEY_CHANGE",
		"IBV_EVENT_SM_CHANGE",
		"IBV_EVENT_SRQ_ERR",
		"IBV_EVENT_SRQ_LIMIT_REACHED",
		"IBV_EVENT_QP_LAST_WQE_REACHED",
		"IBV_EVENT_CLIENT_REREGISTER",
		"IBV_EVENT_GID_CHANGE",
		"IBV_EVENT_WQ_FATAL",
	};

	return enum_name(names, ARRAY_SIZE(names), event);
}

const char *packet_fault_text(u32 fault)
{
	static const char *const text[PKT_FAULTS] = {
		[PKT_CUT] = "it is truncated, or its lengths contradict each other",
		[PKT_CSUM] = "a checksum of its IP or UDP header is wrong",
		[PKT_CRC] = "its ICRC or VCRC is wrong",
		[PKT_VERSION] = "it has another version of a header",
		[PKT_PAD] = "its pad does not fit its payload",
		[PKT_OPCODE] = "its opcode does not exist in the QP's transport",
		[PKT_GROUP] = "it is for a multicast group, but not for QP 0xffffff",
		[PKT_LEN] = "it has a payload that its opcode or the MTU does not allow",
		[PKT_SYNDROME] = "it has a reserved AETH syndrome",
		[PKT_NOT_WAITED] = "it answers a request that is not outstanding",
		[PKT_READ] = "it is a READ of more than 1 MiB, which the fabric does not carry",
		[PKT_RANGE] = "it repeats a READ and requests more than before",
	};

	return fault < PKT_FAULTS ? text[fault] : "?";
}
