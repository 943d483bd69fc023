/* SPDX-License-Identifier: MIT */
/* Names of flags and enum values, spelled as in verbs.h and rdma_cma.h. */
#include "traces/calls/desc.h"

#define N(x)                                                                                       \
	{                                                                                          \
#x, (uint64_t)(x)                                                                  \
	}
/* Of rdma-core 45 and later. */
#define NEWER(name, value)                                                                         \
	{                                                                                          \
		name, value                                                                        \
	}
#define TABLE(x) const struct vnames vnames_##x = { names_##x, VDESC_COUNT(names_##x) };

/* clang-format off */
static const struct vname names_access[] = {
	N(IBV_ACCESS_LOCAL_WRITE),   N(IBV_ACCESS_REMOTE_WRITE), N(IBV_ACCESS_REMOTE_READ),
	N(IBV_ACCESS_REMOTE_ATOMIC), N(IBV_ACCESS_MW_BIND),	 N(IBV_ACCESS_ZERO_BASED),
	N(IBV_ACCESS_ON_DEMAND),     N(IBV_ACCESS_HUGETLB),	 N(IBV_ACCESS_RELAXED_ORDERING),
	NEWER("IBV_ACCESS_FLUSH_GLOBAL", 1u << 8),
	NEWER("IBV_ACCESS_FLUSH_PERSISTENT", 1u << 9),
};
static const struct vname names_qp_type[] = {
	N(IBV_QPT_RC),	     N(IBV_QPT_UC),	  N(IBV_QPT_UD),     N(IBV_QPT_RAW_PACKET),
	N(IBV_QPT_XRC_SEND), N(IBV_QPT_XRC_RECV), N(IBV_QPT_DRIVER),
};
static const struct vname names_qp_state[] = {
	N(IBV_QPS_RESET), N(IBV_QPS_INIT), N(IBV_QPS_RTR), N(IBV_QPS_RTS),
	N(IBV_QPS_SQD),	  N(IBV_QPS_SQE),  N(IBV_QPS_ERR), N(IBV_QPS_UNKNOWN),
};
static const struct vname names_mtu[] = {
	N(IBV_MTU_256), N(IBV_MTU_512), N(IBV_MTU_1024), N(IBV_MTU_2048), N(IBV_MTU_4096),
};
static const struct vname names_mig_state[] = {
	N(IBV_MIG_MIGRATED),
	N(IBV_MIG_REARM),
	N(IBV_MIG_ARMED),
};
static const struct vname names_qp_mask[] = {
	N(IBV_QP_STATE),
	N(IBV_QP_CUR_STATE),
	N(IBV_QP_EN_SQD_ASYNC_NOTIFY),
	N(IBV_QP_ACCESS_FLAGS),
	N(IBV_QP_PKEY_INDEX),
	N(IBV_QP_PORT),
	N(IBV_QP_QKEY),
	N(IBV_QP_AV),
	N(IBV_QP_PATH_MTU),
	N(IBV_QP_TIMEOUT),
	N(IBV_QP_RETRY_CNT),
	N(IBV_QP_RNR_RETRY),
	N(IBV_QP_RQ_PSN),
	N(IBV_QP_MAX_QP_RD_ATOMIC),
	N(IBV_QP_ALT_PATH),
	N(IBV_QP_MIN_RNR_TIMER),
	N(IBV_QP_SQ_PSN),
	N(IBV_QP_MAX_DEST_RD_ATOMIC),
	N(IBV_QP_PATH_MIG_STATE),
	N(IBV_QP_CAP),
	N(IBV_QP_DEST_QPN),
	N(IBV_QP_RATE_LIMIT),
};
static const struct vname names_srq_mask[] = { N(IBV_SRQ_MAX_WR), N(IBV_SRQ_LIMIT) };
static const struct vname names_srq_type[] = { N(IBV_SRQT_BASIC), N(IBV_SRQT_XRC), N(IBV_SRQT_TM) };
static const struct vname names_srq_init[] = {
	N(IBV_SRQ_INIT_ATTR_TYPE), N(IBV_SRQ_INIT_ATTR_PD), N(IBV_SRQ_INIT_ATTR_XRCD),
	N(IBV_SRQ_INIT_ATTR_CQ),   N(IBV_SRQ_INIT_ATTR_TM),
};
static const struct vname names_qp_init[] = {
	N(IBV_QP_INIT_ATTR_PD),
	N(IBV_QP_INIT_ATTR_XRCD),
	N(IBV_QP_INIT_ATTR_CREATE_FLAGS),
	N(IBV_QP_INIT_ATTR_MAX_TSO_HEADER),
	N(IBV_QP_INIT_ATTR_IND_TABLE),
	N(IBV_QP_INIT_ATTR_RX_HASH),
	N(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS),
};
static const struct vname names_qp_create[] = {
	N(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),	N(IBV_QP_CREATE_SCATTER_FCS),
	N(IBV_QP_CREATE_CVLAN_STRIPPING),	N(IBV_QP_CREATE_SOURCE_QPN),
	N(IBV_QP_CREATE_PCI_WRITE_END_PADDING),
};
static const struct vname names_send_ops[] = {
	N(IBV_QP_EX_WITH_RDMA_WRITE),
	N(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM),
	N(IBV_QP_EX_WITH_SEND),
	N(IBV_QP_EX_WITH_SEND_WITH_IMM),
	N(IBV_QP_EX_WITH_RDMA_READ),
	N(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP),
	N(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD),
	N(IBV_QP_EX_WITH_LOCAL_INV),
	N(IBV_QP_EX_WITH_BIND_MW),
	N(IBV_QP_EX_WITH_SEND_WITH_INV),
	N(IBV_QP_EX_WITH_TSO),
	NEWER("IBV_QP_EX_WITH_FLUSH", 1u << 11),
	N(IBV_QP_EX_WITH_ATOMIC_WRITE),
};
static const struct vname names_qp_open[] = {
	N(IBV_QP_OPEN_ATTR_NUM),
	N(IBV_QP_OPEN_ATTR_XRCD),
	N(IBV_QP_OPEN_ATTR_CONTEXT),
	N(IBV_QP_OPEN_ATTR_TYPE),
};
static const struct vname names_wc_flags_ex[] = {
	N(IBV_WC_EX_WITH_BYTE_LEN),	  N(IBV_WC_EX_WITH_IMM),
	N(IBV_WC_EX_WITH_QP_NUM),	  N(IBV_WC_EX_WITH_SRC_QP),
	N(IBV_WC_EX_WITH_SLID),		  N(IBV_WC_EX_WITH_SL),
	N(IBV_WC_EX_WITH_DLID_PATH_BITS), N(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP),
	N(IBV_WC_EX_WITH_CVLAN),	  N(IBV_WC_EX_WITH_FLOW_TAG),
	N(IBV_WC_EX_WITH_TM_INFO),	  N(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK),
};
static const struct vname names_cq_mask[] = {
	N(IBV_CQ_INIT_ATTR_MASK_FLAGS),
	N(IBV_CQ_INIT_ATTR_MASK_PD),
};
static const struct vname names_cq_flags[] = {
	N(IBV_CREATE_CQ_ATTR_SINGLE_THREADED),
	N(IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN),
};
static const struct vname names_mw_type[] = { N(IBV_MW_TYPE_1), N(IBV_MW_TYPE_2) };
static const struct vname names_rereg[] = {
	N(IBV_REREG_MR_CHANGE_TRANSLATION),
	N(IBV_REREG_MR_CHANGE_PD),
	N(IBV_REREG_MR_CHANGE_ACCESS),
};
static const struct vname names_rereg_err[] = {
	N(IBV_REREG_MR_ERR_INPUT),
	N(IBV_REREG_MR_ERR_DONT_FORK_NEW),
	N(IBV_REREG_MR_ERR_DO_FORK_OLD),
	N(IBV_REREG_MR_ERR_CMD),
	N(IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW),
};
static const struct vname names_port_space[] = {
	N(RDMA_PS_IPOIB),
	N(RDMA_PS_TCP),
	N(RDMA_PS_UDP),
	N(RDMA_PS_IB),
};
static const struct vname names_event[] = {
	N(IBV_EVENT_CQ_ERR),
	N(IBV_EVENT_QP_FATAL),
	N(IBV_EVENT_QP_REQ_ERR),
	N(IBV_EVENT_QP_ACCESS_ERR),
	N(IBV_EVENT_COMM_EST),
	N(IBV_EVENT_SQ_DRAINED),
	N(IBV_EVENT_PATH_MIG),
	N(IBV_EVENT_PATH_MIG_ERR),
	N(IBV_EVENT_DEVICE_FATAL),
	N(IBV_EVENT_PORT_ACTIVE),
	N(IBV_EVENT_PORT_ERR),
	N(IBV_EVENT_LID_CHANGE),
	N(IBV_EVENT_PKEY_CHANGE),
	N(IBV_EVENT_SM_CHANGE),
	N(IBV_EVENT_SRQ_ERR),
	N(IBV_EVENT_SRQ_LIMIT_REACHED),
	N(IBV_EVENT_QP_LAST_WQE_REACHED),
	N(IBV_EVENT_CLIENT_REREGISTER),
	N(IBV_EVENT_GID_CHANGE),
	N(IBV_EVENT_WQ_FATAL),
};
static const struct vname names_cm_event[] = {
	N(RDMA_CM_EVENT_ADDR_RESOLVED),	  N(RDMA_CM_EVENT_ADDR_ERROR),
	N(RDMA_CM_EVENT_ROUTE_RESOLVED),  N(RDMA_CM_EVENT_ROUTE_ERROR),
	N(RDMA_CM_EVENT_CONNECT_REQUEST), N(RDMA_CM_EVENT_CONNECT_RESPONSE),
	N(RDMA_CM_EVENT_CONNECT_ERROR),	  N(RDMA_CM_EVENT_UNREACHABLE),
	N(RDMA_CM_EVENT_REJECTED),	  N(RDMA_CM_EVENT_ESTABLISHED),
	N(RDMA_CM_EVENT_DISCONNECTED),	  N(RDMA_CM_EVENT_DEVICE_REMOVAL),
	N(RDMA_CM_EVENT_MULTICAST_JOIN),  N(RDMA_CM_EVENT_MULTICAST_ERROR),
	N(RDMA_CM_EVENT_ADDR_CHANGE),	  N(RDMA_CM_EVENT_TIMEWAIT_EXIT),
};
static const struct vname names_wr_opcode[] = {
	N(IBV_WR_RDMA_WRITE),
	N(IBV_WR_RDMA_WRITE_WITH_IMM),
	N(IBV_WR_SEND),
	N(IBV_WR_SEND_WITH_IMM),
	N(IBV_WR_RDMA_READ),
	N(IBV_WR_ATOMIC_CMP_AND_SWP),
	N(IBV_WR_ATOMIC_FETCH_AND_ADD),
	N(IBV_WR_LOCAL_INV),
	N(IBV_WR_BIND_MW),
	N(IBV_WR_SEND_WITH_INV),
	N(IBV_WR_TSO),
	N(IBV_WR_DRIVER1),
	NEWER("IBV_WR_FLUSH", 14),
	N(IBV_WR_ATOMIC_WRITE),
};
static const struct vname names_send_flags[] = {
	N(IBV_SEND_FENCE),  N(IBV_SEND_SIGNALED), N(IBV_SEND_SOLICITED),
	N(IBV_SEND_INLINE), N(IBV_SEND_IP_CSUM),
};
static const struct vname names_port_state[] = {
	N(IBV_PORT_NOP),   N(IBV_PORT_DOWN),   N(IBV_PORT_INIT),
	N(IBV_PORT_ARMED), N(IBV_PORT_ACTIVE), N(IBV_PORT_ACTIVE_DEFER),
};
static const struct vname names_link_layer[] = {
	N(IBV_LINK_LAYER_UNSPECIFIED),
	N(IBV_LINK_LAYER_INFINIBAND),
	N(IBV_LINK_LAYER_ETHERNET),
};
static const struct vname names_wc_status[] = {
	N(IBV_WC_SUCCESS),
	N(IBV_WC_LOC_LEN_ERR),
	N(IBV_WC_LOC_QP_OP_ERR),
	N(IBV_WC_LOC_EEC_OP_ERR),
	N(IBV_WC_LOC_PROT_ERR),
	N(IBV_WC_WR_FLUSH_ERR),
	N(IBV_WC_MW_BIND_ERR),
	N(IBV_WC_BAD_RESP_ERR),
	N(IBV_WC_LOC_ACCESS_ERR),
	N(IBV_WC_REM_INV_REQ_ERR),
	N(IBV_WC_REM_ACCESS_ERR),
	N(IBV_WC_REM_OP_ERR),
	N(IBV_WC_RETRY_EXC_ERR),
	N(IBV_WC_RNR_RETRY_EXC_ERR),
	N(IBV_WC_LOC_RDD_VIOL_ERR),
	N(IBV_WC_REM_INV_RD_REQ_ERR),
	N(IBV_WC_REM_ABORT_ERR),
	N(IBV_WC_INV_EECN_ERR),
	N(IBV_WC_INV_EEC_STATE_ERR),
	N(IBV_WC_FATAL_ERR),
	N(IBV_WC_RESP_TIMEOUT_ERR),
	N(IBV_WC_GENERAL_ERR),
	N(IBV_WC_TM_ERR),
	N(IBV_WC_TM_RNDV_INCOMPLETE),
};
static const struct vname names_wc_opcode[] = {
	N(IBV_WC_SEND),
	N(IBV_WC_RDMA_WRITE),
	N(IBV_WC_RDMA_READ),
	N(IBV_WC_COMP_SWAP),
	N(IBV_WC_FETCH_ADD),
	N(IBV_WC_BIND_MW),
	N(IBV_WC_LOCAL_INV),
	N(IBV_WC_TSO),
	NEWER("IBV_WC_FLUSH", 8),
	N(IBV_WC_ATOMIC_WRITE),
	N(IBV_WC_RECV),
	N(IBV_WC_RECV_RDMA_WITH_IMM),
	N(IBV_WC_TM_ADD),
	N(IBV_WC_TM_DEL),
	N(IBV_WC_TM_SYNC),
	N(IBV_WC_TM_RECV),
	N(IBV_WC_TM_NO_TAG),
	N(IBV_WC_DRIVER1),
	N(IBV_WC_DRIVER2),
	N(IBV_WC_DRIVER3),
};
static const struct vname names_wc_flags[] = {
	N(IBV_WC_GRH),	       N(IBV_WC_WITH_IMM), N(IBV_WC_IP_CSUM_OK),    N(IBV_WC_WITH_INV),
	N(IBV_WC_TM_SYNC_REQ), N(IBV_WC_TM_MATCH), N(IBV_WC_TM_DATA_VALID),
};
static const struct vname names_gid_type[] = {
	N(IBV_GID_TYPE_IB),
	N(IBV_GID_TYPE_ROCE_V1),
	N(IBV_GID_TYPE_ROCE_V2),
};
static const struct vname names_xrcd[] = {
	N(IBV_XRCD_INIT_ATTR_FD),
	N(IBV_XRCD_INIT_ATTR_OFLAGS),
};
static const struct vname names_wq_state[] = {
	N(IBV_WQS_RESET),
	N(IBV_WQS_RDY),
	N(IBV_WQS_ERR),
	N(IBV_WQS_UNKNOWN),
};
static const struct vname names_wq_attr[] = {
	N(IBV_WQ_ATTR_STATE),
	N(IBV_WQ_ATTR_CURR_STATE),
	N(IBV_WQ_ATTR_FLAGS),
};
static const struct vname names_wq_flags[] = {
	N(IBV_WQ_FLAGS_CVLAN_STRIPPING),
	N(IBV_WQ_FLAGS_SCATTER_FCS),
	N(IBV_WQ_FLAGS_DELAY_DROP),
	N(IBV_WQ_FLAGS_PCI_WRITE_END_PADDING),
};
static const struct vname names_wq_init[] = { N(IBV_WQ_INIT_ATTR_FLAGS) };
static const struct vname names_flow_type[] = {
	N(IBV_FLOW_ATTR_NORMAL),
	N(IBV_FLOW_ATTR_ALL_DEFAULT),
	N(IBV_FLOW_ATTR_MC_DEFAULT),
	N(IBV_FLOW_ATTR_SNIFFER),
};
static const struct vname names_flow_flags[] = {
	N(IBV_FLOW_ATTR_FLAGS_DONT_TRAP),
	N(IBV_FLOW_ATTR_FLAGS_EGRESS),
};
static const struct vname names_counter[] = { N(IBV_COUNTER_PACKETS), N(IBV_COUNTER_BYTES) };
static const struct vname names_rai[] = {
	N(RAI_PASSIVE),
	N(RAI_NUMERICHOST),
	N(RAI_NOROUTE),
	N(RAI_FAMILY),
};
static const struct vname names_mc_mask[] = {
	N(RDMA_CM_JOIN_MC_ATTR_ADDRESS),
	N(RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS),
};
static const struct vname names_advice[] = {
	N(IBV_ADVISE_MR_ADVICE_PREFETCH),
	N(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE),
	N(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT),
};
static const struct vname names_atomic_cap[] = {
	N(IBV_ATOMIC_NONE),
	N(IBV_ATOMIC_HCA),
	N(IBV_ATOMIC_GLOB),
};
static const struct vname names_fork[] = {
	N(IBV_FORK_DISABLED),
	N(IBV_FORK_ENABLED),
	N(IBV_FORK_UNNEEDED),
};
static const struct vname names_domain[] = {
	N(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS),
	N(IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT),
};
static const struct vname names_values[] = { N(IBV_VALUES_MASK_RAW_CLOCK) };
static const struct vname names_cq_attr[] = { N(IBV_CQ_ATTR_MODERATE) };
static const struct vname names_dev_caps[] = {
	N(IBV_DEVICE_RESIZE_MAX_WR),	  N(IBV_DEVICE_BAD_PKEY_CNTR),
	N(IBV_DEVICE_BAD_QKEY_CNTR),	  N(IBV_DEVICE_RAW_MULTI),
	N(IBV_DEVICE_AUTO_PATH_MIG),	  N(IBV_DEVICE_CHANGE_PHY_PORT),
	N(IBV_DEVICE_UD_AV_PORT_ENFORCE), N(IBV_DEVICE_CURR_QP_STATE_MOD),
	N(IBV_DEVICE_SHUTDOWN_PORT),	  N(IBV_DEVICE_INIT_TYPE),
	N(IBV_DEVICE_PORT_ACTIVE_EVENT),  N(IBV_DEVICE_SYS_IMAGE_GUID),
	N(IBV_DEVICE_RC_RNR_NAK_GEN),	  N(IBV_DEVICE_SRQ_RESIZE),
	N(IBV_DEVICE_N_NOTIFY_CQ),	  N(IBV_DEVICE_MEM_WINDOW),
	N(IBV_DEVICE_UD_IP_CSUM),	  N(IBV_DEVICE_XRC),
	N(IBV_DEVICE_MEM_MGT_EXTENSIONS), N(IBV_DEVICE_MEM_WINDOW_TYPE_2A),
	N(IBV_DEVICE_MEM_WINDOW_TYPE_2B), N(IBV_DEVICE_RC_IP_CSUM),
	N(IBV_DEVICE_RAW_IP_CSUM),	  N(IBV_DEVICE_MANAGED_FLOW_STEERING),
	N(IBV_DEVICE_RAW_SCATTER_FCS),	  N(IBV_DEVICE_PCI_WRITE_END_PADDING),
};
static const struct vname names_node_type[] = {
	N(IBV_NODE_CA),
	N(IBV_NODE_SWITCH),
	N(IBV_NODE_ROUTER),
	N(IBV_NODE_RNIC),
};
/* clang-format on */

VNAMES(TABLE)
