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

#include "emulator/limits.h"

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
	TAB_CMMC,
	TAB_COUNT,
};

/** struct hca_obj - how each entry of these tables starts. */
struct hca_obj {
	u32 client; /* owner's index + 1; 0: free */
	u32 dev;
};

/**
 * struct hca_tab - where a table stands. Allocation goes round, so that numbers come late again.
 */
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
 * @turn: windows: which request of QP @qpn bound or invalidated it; see emulator/verbs/mw.c
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
 * mr_holds_pd() - whether a region or window keeps its PD from being deallocated. A null MR does
 * not: mlx5 makes it without the kernel, which counts only its own objects.
 */
static inline bool mr_holds_pd(const struct hca_mr *mr)
{
	return mr->kind != MR_NULL;
}

/** enum ts_format - what the entries of a CQ have for a timestamp. The last is mlx5's. */
enum ts_format {
	TS_NONE,
	TS_FREE_RUNNING, /* the fabric's clock */
	TS_REAL_TIME, /* the device's real-time clock: seconds << 32 | nanoseconds */
	TS_FORMATS,
};

/**
 * struct hca_cq - a completion queue.
 * @mod_count, @mod_period: moderation, ibv_modify_cq(3): an event after so many entries or so many
 *	microseconds; 0: none
 * @mod_seen: entries that somebody waits for and was not told of
 * @mod_deadline: when the event comes at the latest; 0: no limit
 * @told: entries before it were announced by an event
 * @solicited: ordinal + 1 of the last entry that is solicited or an error
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
	u32 ts_format; /* enum ts_format */
	u32 ignore_overrun;
	u32 mod_count;
	u32 mod_period;
	u32 mod_seen;
	u32 told;
	u32 solicited;
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
 * slot into an order array (u32 per entry, behind struct wq_ctl), and the slot is its again when
 * the completion that names it was polled.
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

/**
 * struct hca_xrcd - an XRC domain. A client that has it open holds a struct hca_ref of kind
 * REF_XRCD.
 */
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

#include "emulator/obj_eth.h"

#endif
