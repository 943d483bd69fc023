/* SPDX-License-Identifier: MIT */
/**
 * DOC: the objects that clients own, as they lie in HCA memory, other than queue pairs.
 *
 * Each is an entry of a table in struct hca and starts as struct hca_obj does. They name each other
 * by index in their tables; "+ 1" means that 0 is none. Only the holder of the engine token looks
 * at them.
 */
#ifndef EMULATOR_OBJ_H
#define EMULATOR_OBJ_H

#include "emulator/seg.h"

#define HCA_MAX_CLIENTS 4096u
#define HCA_MAX_DEVS	1024u
#define HCA_MAX_PORTS	2u /* of a device */
#define HCA_GIDS	16u
#define HCA_MAX_PD	65536u
#define HCA_MAX_MR	(1u << 20) /* memory windows included */
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
 * The most that any device may state: what arrays and checks are made for. What a device really
 * has is in its struct hca_limits.
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
	u32 ack_delay; /* enum as the QP's timeout */
	u32 max_msg;
	u32 max_mcast_grp, max_mcast_attach; /* groups; QPs on one */
	u32 max_xrcd;
	u32 max_wq, max_ind, max_ind_size; /* tables; entries of one */
	u32 max_flow, max_ctr;
	u32 max_tags; /* of one tag-matching SRQ */
	u32 max_tso; /* bytes; 0: none */
	u32 comp_vectors;
	u32 pkeys;
	u32 vendor_id, part_id, hw_ver;
};

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
#define CAP_SCATTER_FCS	 BIT64(34)
#define CAP_ATOMIC_WRITE BIT64(40)

/** enum hca_table - the tables of objects that clients own. */
enum hca_table {
	TAB_PD,
	TAB_MR, /* and memory windows */
	TAB_CQ,
	TAB_QP,
	TAB_SRQ,
	TAB_AH,
	TAB_XRCD,
	TAB_REF,
	TAB_MCAST,
	TAB_WQ,
	TAB_IND,
	TAB_FLOW,
	TAB_CTR,
	TAB_TAG,
	TAB_DM,
	TAB_CMCH,
	TAB_CMID,
	TAB_CMEV,
	TAB_COUNT,
};

/** struct hca_obj - how each entry of these tables starts. */
struct hca_obj {
	u32 client; /* owner's index + 1; 0: free */
	u32 dev;
};

/** struct hca_tab - where a table stands. Allocation goes round, so that numbers come late again. */
struct hca_tab {
	u32 n;
	u32 cursor;
	u32 high; /* slots from here on were never used */
	u32 pad;
};

/**
 * struct hca_pd - a protection domain.
 * @ctx: the context that it was made on: a random number, which its descriptor holds; who knows it
 *	may import the PD
 */
struct hca_pd {
	u32 client;
	u32 dev;
	u32 refs; /* MRs, MWs, QPs, SRQs, AHs, WQs */
	u32 pad;
	u64 ctx;
};

/** struct hca_dm - a piece of device memory. Its bytes lie in the file of context @ctx. */
struct hca_dm {
	u32 client;
	u32 dev;
	u32 refs; /* MRs */
	u32 pad;
	u64 len;
	u64 ctx; /* as in struct hca_pd */
};

enum hca_mr_kind {
	MR_USER, /* a range of its owner's process */
	MR_NULL, /* reads as zero, swallows writes */
	MW_1, /* memory windows: bound when @key is not 0 */
	MW_2,
};

/**
 * struct hca_mr - a memory region or window. Its key is index << 8 | a byte that changes.
 * @key: lkey and rkey; 0: no longer valid. Windows have no lkey; they are bound while it is not 0.
 * @windows: regions: windows bound to it
 * @mr: windows: index + 1 of the region, while it is bound
 * @qpn: type 2 windows: the QP that bound it, which alone may use it
 * @last_key: the slot's latest key, from which the next one is made
 * @turn: windows: which request of QP @qpn bound or invalidated it; see mw.c
 * @dm: regions: device memory that it is of + 1
 */
struct hca_mr {
	u32 client;
	u32 dev;
	u32 pd;
	u32 access; /* enum ib_access */
	u32 key;
	u32 kind; /* enum hca_mr_kind */
	u64 addr; /* in the process */
	u64 iova; /* as requests name it */
	u64 len;
	u32 windows;
	u32 mr;
	u32 qpn;
	u32 last_key;
	u32 turn;
	u32 dm;
};

/**
 * struct hca_cq - a completion queue.
 * @mod_count, @mod_period: moderation, ibv_modify_cq(3): an event after so many entries or so many
 *	microseconds; 0: none
 * @mod_seen: entries that somebody waits for and was not told of
 * @mod_deadline: when the event comes at the latest; 0: no limit
 */
struct hca_cq {
	u32 client;
	u32 dev;
	u32 refs; /* QPs, SRQs, WQs */
	u32 depth; /* power of two */
	u64 ring; /* segment offset of struct cq_ctl */
	u32 prod;
	u32 cons; /* last seen */
	u32 chan; /* channel + 1; 0: none */
	u32 async_chan;
	u32 overrun;
	u32 gen; /* counts the slot's users; events carry it */
	u32 want_ts; /* entries carry the fabric clock */
	u32 ignore_overrun;
	u32 mod_count;
	u32 mod_period;
	u32 mod_seen;
	u32 pad;
	u64 mod_deadline;
} cacheline_aligned;

enum hca_srq_type {
	SRQ_BASIC,
	SRQ_XRC,
	SRQ_TM,
};

/**
 * struct hca_srq - a shared receive queue.
 *
 * Its receives end in any order, so ring slots are named: the client writes the number of a free
 * slot into an order array (u32 per entry, behind struct wq_ctl), and the slot is its again when the
 * completion that names it was polled.
 */
struct hca_srq {
	u32 client;
	u32 dev;
	u32 pd;
	u32 type; /* enum hca_srq_type */
	u32 srqn;
	u32 refs; /* QPs */
	u64 ring; /* segment offset of struct wq_ctl; see srq_slots_off() */
	u32 depth; /* power of two */
	u32 stride;
	u32 max_sge;
	u32 max_wr; /* as granted */
	u32 cons; /* receives taken, free running */
	u32 limit; /* 0: not armed */
	u32 xrcd; /* XRC: index + 1 */
	u32 xref; /* XRC: the REF_XRCD that it was made through + 1 */
	u32 cq; /* XRC, TM: index + 1 */
	u32 async_chan;
	u32 gen;
	u32 max_tags; /* TM */
	u32 n_tags;
	u32 tags; /* TM: first of its list in hca->tag + 1, oldest first */
	u32 last_tag; /* TM: last of it + 1 */
	u32 unexpected; /* TM: messages without a match so far */
	u32 synced; /* TM: of those, the ones that the client has counted */
	u32 dead; /* an error took it down: SRQ_ERR was raised */
} cacheline_aligned;

enum hca_tag_state {
	TAG_POSTED, /* matches nothing before the client has counted all that was unexpected */
	TAG_READY,
	TAG_HELD, /* has its message, which is under way */
	TAG_RNDV, /* has its message, whose data are to be read */
	TAG_DONE, /* in commits: it goes */
};

/**
 * struct hca_tag - a posted tag of a tag-matching SRQ.
 * @gen: counts the slot's users; part of the handle
 * @qpn: from here on of the message that it was matched with: the QP it came to
 * @msn: orders the messages of a QP
 * @rndv: it is a rendezvous: @len bytes at @va under @rkey
 */
struct hca_tag {
	u32 client;
	u32 dev;
	u32 srq;
	u32 next; /* index + 1 */
	u64 tag;
	u64 mask;
	u64 wr_id; /* of the receive */
	struct wq_sge sge;
	u32 state; /* enum hca_tag_state */
	u32 gen;
	u32 qpn;
	u32 msn;
	u64 got; /* tag of the message */
	u64 va;
	u32 rkey;
	u32 len;
	u32 app_ctx; /* as it came */
	u32 rndv;
};

/* What every device of ours can do, in the bits of enum ibv_device_cap_flags. */
#define HCA_CAPS                                                                                   \
	(BIT64(0) /* RESIZE_MAX_WR */ | BIT64(2) /* BAD_QKEY_CNTR */ |                             \
	 BIT64(7) /* CURR_QP_STATE */ | BIT64(10) /* PORT_ACTIVE_EVENT */ |                        \
	 BIT64(11) /* SYS_IMAGE_GUID */ | BIT64(12) /* RC_RNR_NAK_GEN */ |                         \
	 BIT64(13) /* SRQ_RESIZE */ | BIT64(17) /* MEM_WINDOW */ | BIT64(20) /* XRC */ |           \
	 BIT64(21) /* MEM_MGT_EXTENSIONS */ | BIT64(24) /* MW_TYPE_2B */ |                         \
	 BIT64(26) /* RAW_IP_CSUM */ | BIT64(29) /* MANAGED_FLOW_STEERING */ |                     \
	 BIT64(34) /* RAW_SCATTER_FCS */ | BIT64(40) /* ATOMIC_WRITE */)

/* What QPs there are, a bit per type. */
#define HCA_QP_TYPES                                                                               \
	(1u << QPT_RC | 1u << QPT_UC | 1u << QPT_UD | 1u << QPT_RAW_PACKET | 1u << QPT_XRC_SEND |  \
	 1u << QPT_XRC_RECV)

/** struct hca_av - where a connected QP's packets go. */
struct hca_av {
	u8 dgid[16];
	u32 dst_dev; /* device that owns dgid; ~0: unknown */
	u32 flow_label;
	u8 is_global;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u16 dlid;
	u8 sl;
	u8 src_path_bits;
	u8 static_rate;
	u8 port_num;
	u8 dst_port; /* of @dst_dev */
	u8 pad[5];
};

/** struct hca_ah - an address handle, ibv_create_ah(3). */
struct hca_ah {
	u32 client;
	u32 dev;
	u32 pd;
	u32 pad;
	struct hca_av av;
};

/** struct hca_xrcd - an XRC domain. Who has it open holds a struct hca_ref of kind REF_XRCD. */
struct hca_xrcd {
	u32 client; /* who made it, or, after its end, one of those who have it open */
	u32 dev;
	u32 opens; /* REF_XRCD */
	u32 refs; /* QPs, SRQs */
	u64 st_dev; /* the file that names it; both 0: private */
	u64 st_ino;
};

/** enum hca_link - IBV_LINK_LAYER_*. */
enum hca_link {
	LINK_INFINIBAND = 1,
	LINK_ETHERNET,
};

/** enum hca_create_flags - enum ibv_qp_create_flags. */
enum hca_create_flags {
	QPC_BLOCK_SELF_MCAST_LB = 1 << 1,
	QPC_SCATTER_FCS = 1 << 8,
	QPC_CVLAN_STRIPPING = 1 << 9,
	QPC_SOURCE_QPN = 1 << 10,
	QPC_PCI_WRITE_END_PADDING = 1 << 11,
};

enum hca_ref_kind {
	REF_XRCD, /* an open XRC domain */
	REF_QP, /* an XRC target QP opened by ibv_open_qp(3) */
	REF_PD, /* a PD imported, ibv_import_pd(3) */
	REF_CONTEXT, /* an open device; @index is its */
	REF_OWNED, /* a REF_QP whose QP has become its holder's own */
};

/**
 * struct hca_ref - a client's hold on an object that several clients share.
 * @n: REF_PD: how often it was imported; 0: not any more, but objects may still be in it
 */
struct hca_ref {
	u32 client;
	u32 dev;
	u32 kind; /* enum hca_ref_kind */
	u32 index; /* of the object */
	u32 async_chan;
	u32 uses; /* REF_XRCD: SRQs and QPs made through it */
	u32 xref; /* REF_QP, REF_OWNED: the REF_XRCD that it was opened through + 1 */
	u32 n;
	u32 qpn; /* REF_QP, REF_OWNED: the QP's number */
};

/** struct hca_mcast - a QP's membership in a multicast group. */
struct hca_mcast {
	u32 client;
	u32 dev;
	u32 qpn;
	u32 lid;
	u8 gid[16];
};

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
