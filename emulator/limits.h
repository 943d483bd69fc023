/* SPDX-License-Identifier: MIT */
/**
 * DOC: how much there may be of everything: the sizes of HCA memory's tables, and what a device
 * has.
 */
#ifndef EMULATOR_LIMITS_H
#define EMULATOR_LIMITS_H

#include "emulator/seg.h"

#define HCA_MAX_CLIENTS 4096u
#define HCA_MAX_NODES	1024u
#define HCA_MAX_DEVS	4096u
#define HCA_MAX_PORTS	2u /* of a device */
#define HCA_GIDS	16u
#define HCA_MAX_PD	65536u
#define HCA_MAX_MR	(1u << 21) /* memory windows included */
#define HCA_MAX_CQ	65536u
#define HCA_MAX_QP	SEG_MAX_QPS
#define HCA_MAX_SRQ	65536u
#define HCA_MAX_AH	(1u << 18)
#define HCA_MAX_XRCD	4096u
#define HCA_MAX_REF	65536u
#define HCA_MAX_MCAST	65536u
#define HCA_MAX_WQ	16384u
#define HCA_MAX_IND	4096u
#define HCA_MAX_FLOW	16384u
#define HCA_MAX_CTR	4096u
#define HCA_MAX_TAG	65536u
#define HCA_MAX_DM	4096u

/*
 * The most that any device may state: what arrays and checks are made for. A device's own values
 * are in its struct hca_limits.
 */
#define LIM_QP_WR	 32768
#define LIM_SGE		 32
#define LIM_INLINE	 1024
#define LIM_CQE		 4194303
#define LIM_CQ_COUNT	 0xffff /* moderation: entries, microseconds */
#define LIM_CQ_PERIOD	 0xfff
#define LIM_RD_ATOM	 16 /* per QP, both directions */
#define LIM_MSG		 (1u << 30)
#define LIM_ACK_DELAY	 31
#define LIM_PKEYS	 8
#define LIM_COMP_VECTORS 64
#define LIM_IND		 128 /* entries of an indirection table */
#define LIM_FRAME	 10240 /* bytes of an Ethernet frame */
#define LIM_TSO		 (256u << 10)
#define LIM_TM_OPS	 256 /* operations of a tag list under way */
#define LIM_RNDV_HDR	 64 /* bytes of a rendezvous request */

/**
 * struct hca_limits - what a device has and can do: reported by queries, enforced by commands.
 * @caps: enum ibv_device_cap_flags with the extended ones, as they are reported
 * @max_dm: bytes of device memory
 */
struct hca_limits {
	u64 caps;
	u64 max_mr_size;
	u64 max_dm;
	u32 max_qp, max_qp_wr, max_sge, max_inline;
	u32 max_cq, max_cqe, max_mr, max_pd, max_mw, max_ah;
	u32 max_srq, max_srq_wr, max_srq_sge;
	u32 max_rd_atom; /* READs and atomics of a QP, in either direction */
	u32 max_res_rd_atom; /* of all QPs as responders */
	u32 max_sge_rd;
	u32 atomic_cap; /* enum hca_atomic_cap */
	u32 qp_types; /* a bit per enum ib_qp_type */
	u32 odp; /* on-demand paging */
	u32 empty_mr; /* regions of zero bytes that cover no page can be registered */
	u32 dmabuf; /* regions over dma-bufs can be registered */
	u32 pmem; /* memory counts as persistent: regions may have ACC_FLUSH_PERSISTENT */
	u32 arm_pending; /* arming a CQ raises the event of an entry that none has announced yet */
	u32 ptp_clock; /* there is a PTP hardware clock, /dev/ptpN */
	u32 real_time_ts; /* CQs may have TS_REAL_TIME */
	u32 ack_delay; /* enum as the QP's timeout */
	u32 max_msg;
	u32 max_mcast_grp, max_mcast_attach; /* groups; QPs on one */
	u32 max_xrcd;
	u32 max_wq, max_ind, max_ind_size; /* tables; entries of one */
	u32 max_flow, max_ctr;
	u32 max_tags; /* of one tag-matching SRQ */
	u32 max_tso; /* bytes; 0: none */
	u32 rate_limit_min, rate_limit_max; /* kbit/s of a RAW_PACKET QP; 0: none */
	u32 comp_vectors;
	u32 qp_cache; /* queue pairs that the device can use at once at full speed; 0: not known */
	u32 pkeys;
	u32 vendor_id, part_id, hw_ver;
};

/**
 * lim_is_efa() - whether the device is an Elastic Fabric Adapter, which alone has SRD: of no link
 * layer, with one GID a port and no LID, and with numbers for the addresses that it knows.
 */
static inline bool lim_is_efa(const struct hca_limits *lim)
{
	return lim->qp_types & 1u << QPT_SRD;
}

/** enum hca_atomic_cap - IBV_ATOMIC_*. */
enum hca_atomic_cap {
	ATOMIC_NONE,
	ATOMIC_HCA, /* among the device's own operations */
	ATOMIC_GLOB,
};

/** enum hca_caps - IBV_DEVICE_*, those that decide what commands do. */
enum hca_caps {
	CAP_SRQ_RESIZE = 1 << 13,
	CAP_MEM_WINDOW = 1 << 17,
	CAP_XRC = 1 << 20,
	CAP_MEM_MGT_EXTENSIONS = 1 << 21,
	CAP_MW_TYPE_2B = 1 << 24,
	CAP_FLOW_STEERING = 1 << 29,
};
#define CAP_SCATTER_FCS	     BIT64(34)
#define CAP_FLUSH_GLOBAL     BIT64(38)
#define CAP_FLUSH_PERSISTENT BIT64(39)
#define CAP_FLUSH	     (CAP_FLUSH_GLOBAL | CAP_FLUSH_PERSISTENT)
#define CAP_ATOMIC_WRITE     BIT64(40)

/* What every device of ours can do, in the bits of enum ibv_device_cap_flags. */
#define HCA_CAPS                                                                                   \
	(BIT64(0) /* RESIZE_MAX_WR */ | BIT64(2) /* BAD_QKEY_CNTR */ |                             \
	 BIT64(7) /* CURR_QP_STATE */ | BIT64(10) /* PORT_ACTIVE_EVENT */ |                        \
	 BIT64(11) /* SYS_IMAGE_GUID */ | BIT64(12) /* RC_RNR_NAK_GEN */ |                         \
	 BIT64(13) /* SRQ_RESIZE */ | BIT64(17) /* MEM_WINDOW */ | BIT64(20) /* XRC */ |           \
	 BIT64(21) /* MEM_MGT_EXTENSIONS */ | BIT64(24) /* MW_TYPE_2B */ |                         \
	 BIT64(26) /* RAW_IP_CSUM */ | BIT64(29) /* MANAGED_FLOW_STEERING */ |                     \
	 BIT64(34) /* RAW_SCATTER_FCS */ | BIT64(38) /* FLUSH_GLOBAL */ |                          \
	 BIT64(39) /* FLUSH_PERSISTENT */ | BIT64(40) /* ATOMIC_WRITE */)

/* What QPs there are, a bit per type. */
#define HCA_QP_TYPES                                                                               \
	(1u << QPT_RC | 1u << QPT_UC | 1u << QPT_UD | 1u << QPT_RAW_PACKET | 1u << QPT_XRC_SEND |  \
	 1u << QPT_XRC_RECV)

/* Where the completion of a receive has its sender's GID: in struct cqe.grh. */
#define CQE_SGID 8
/* struct cqe.slid: the sender is named by its GID. */
#define CQE_BY_GID 0xffffu

#endif
