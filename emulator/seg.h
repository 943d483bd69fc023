/* SPDX-License-Identifier: MIT */
/**
 * DOC: the client segment, the border between a program and the engine.
 *
 * Theory of operation
 * -------------------
 * Each client process owns one segment: a sparse memfd that the fabric process makes and hands to
 * it. Processes map as much of it as is used (docs/design/memory.md). It starts with struct
 * seg_hdr; the rest is carved up by the client into rings. The client
 * tells the engine where a ring lies when it creates the object (offset and depth); the engine
 * checks the range once and keeps its own copy. From then on:
 *
 *  - SQ and RQ: the client writes slots and publishes them with a release store of @prod in struct
 *    wq_ctl. The engine keeps its consumer index in HCA memory. The indices run freely (u32) and
 *    are reduced modulo the depth, a power of two.
 *  - CQ: the engine writes entries. An entry is valid when its @seq equals the low 32 bits of its
 *    ordinal + 1, so the poller touches one cache line and no shared producer index. The client
 *    publishes its consumer index in struct cq_ctl, which the engine reads only when the ring looks
 *    full.
 *  - Channels (completion and async events): a small ring in the segment and an eventfd
 *    (EFD_SEMAPHORE) outside; one count per event.
 *  - Doorbells: a bit per QP. A doorbell is only needed when the engine token could not be had.
 *  - Commands: used by isolated clients, which may not enter the engine.
 *
 * Nothing in here is trusted by the engine: each index, length and key is checked at use.
 */
#ifndef EMULATOR_SEG_H
#define EMULATOR_SEG_H

#include "emulator/clock.h"
#include "emulator/ib.h"

#define SEG_MAGIC	0x47455355u /* "USEG" */
#define SEG_VERSION	8u
#define SEG_SIZE	(256ULL << 30) /* at most: a sparse file, only what is touched exists */
#define SEG_FIRST	(4ULL << 20) /* bytes that every process maps at first; see seg_map.h */
#define SEG_MAX_QPS	65536u /* doorbell bits, one per QP slot of the HCA */
#define SEG_MAX_CHANS	8192u /* channels per client: async, completion, rdma_cm */
#define SEG_CHAN_DEPTH	4096u /* events a channel holds */
#define SEG_CMD_SLOTS	16u
#define SEG_BOUNCE_SIZE (256u << 10) /* bounce buffer of the memory helper */
#define SEG_MAX_LENT	1024u /* ranges of lent memory */
#define SEG_CALL_WORDS	3u /* a bit per call of libibverbs and librdmacm: fabric/proto/calls.h */

/** struct wq_sge - one scatter/gather entry, as struct ibv_sge. */
struct wq_sge {
	u64 addr;
	u32 len;
	u32 lkey;
};

/** struct wq_ctl - what a client publishes of a send or receive queue. On a line of its own. */
struct wq_ctl {
	u32 prod; /* slots posted so far; release store */
	u32 pad[15];
};

/**
 * struct sq_wqe - one send work request; the scatter list or inline payload follows at SQ_HDR.
 * @num_sge: entries in sge[]; 0 when @hw has SQ_HW_INLINE
 * @total_len: bytes of the message, the sum over the list
 * @remote_addr, @swap: BIND_MW: start and length of the window; @rkey: its new key
 * FLUSH: @compare_add: bytes of the range; @swap: enum ib_flush
 * @send_flags: enum ib_send_flags; SEND_SIGNALED is set by the poster also for sq_sig_all
 * @hw: SQ_HW_*
 */
struct sq_wqe {
	u64 wr_id;
	u64 remote_addr;
	u64 compare_add;
	u64 swap;
	u32 rkey; /* also the key to invalidate */
	u32 imm; /* network order, as given */
	u32 total_len;
	u32 remote_qpn; /* UD; XRC: number of the remote SRQ; BIND_MW: lkey of the region */
	u32 remote_qkey; /* UD; BIND_MW: access flags; TSO: bytes of a segment's payload */
	u32 ah; /* UD; BIND_MW: the window's index; TSO: bytes of header, inline before the list */
	u8 opcode; /* enum ib_wr_opcode */
	u8 send_flags;
	u16 num_sge;
	u16 hw;
	u16 pad;
	struct wq_sge sge[];
};

#define SQ_HW_INLINE 1u /* payload lies in the WQE, lkeys were checked or do not matter */
#define SQ_HDR	     64u
#define SQ_MIN_DATA  128u /* a SQ slot always has room for that much payload or list */
_Static_assert(sizeof(struct sq_wqe) == SQ_HDR, "sq_wqe is one cache line");

/** sq_stride() - bytes of one SQ slot for these capabilities. */
static inline u32 sq_stride(u32 max_sge, u32 max_inline)
{
	u32 data = max_u32(max_u32(max_sge * (u32)sizeof(struct wq_sge), max_inline), SQ_MIN_DATA);

	return ALIGN_UP(SQ_HDR + data, 64u);
}

/** struct rq_wqe - one receive work request. */
struct rq_wqe {
	u64 wr_id;
	u32 total_len; /* saturated at UINT32_MAX */
	u16 num_sge;
	u16 pad0;
	u64 pad1[2];
	struct wq_sge sge[];
};

#define RQ_HDR 32u
_Static_assert(sizeof(struct rq_wqe) == RQ_HDR, "rq_wqe header");

/** rq_stride() - bytes of one RQ slot: a cache line for up to two entries. */
static inline u32 rq_stride(u32 max_sge)
{
	return ALIGN_UP(RQ_HDR + max_sge * (u32)sizeof(struct wq_sge), 64u);
}

/**
 * srq_slots_off() - where in an SRQ's ring the slots (struct rq_wqe) begin: behind struct wq_ctl
 * and the order array, a u32 slot number for each receive posted.
 */
static inline u64 srq_slots_off(u32 depth)
{
	return sizeof(struct wq_ctl) + ALIGN_UP((u64)depth * sizeof(u32), 64u);
}

#define CQE_INLINE     72u
#define CQE_INLINE_MAX 128u /* where nothing else needs the third line */

enum cqe_flags {
	CQE_RECV = 1 << 0, /* completes a receive: @slot is an RQ index, else an SQ index */
	CQE_HAS_DATA = 1 << 1, /* @data holds byte_len bytes for the receive's buffers */
	CQE_SOLICITED = 1 << 2,
	CQE_SKIP = 1 << 3, /* not reported: of a QP that has gone; the client sets it, too */
	CQE_SRQ = 1 << 4, /* @slot is a slot of the SRQ @owner; of its tags, without CQE_RECV */
	CQE_GRH = 1 << 5, /* @grh belongs at the head of the receive, before the payload */
	CQE_EXT = 1 << 6, /* the third line has more than @grh */
	CQE_WQ = 1 << 7, /* completes a receive of the WQ @owner */
};

/**
 * struct cqe - one completion, three cache lines; the second only when it carries data, the third
 * only with CQE_GRH or CQE_EXT, or when it carries more than CQE_INLINE bytes.
 * @data: at most CQE_INLINE bytes with CQE_GRH or CQE_EXT
 * @slot: free-running index of the work request in its queue. On a send CQ all earlier slots of
 *        that queue are free too.
 * @ts: fabric clock, ns
 * @owner: cqe_owner() of the SRQ or WQ that the receive was posted to
 * @flow_tag, and from @slid on: with CQE_EXT only
 * @byte_len: bytes of the message, GRH included
 * @seq: ordinal + 1, low 32 bits: stored last, with release
 */
struct cqe {
	u64 wr_id;
	u64 ts;
	u32 byte_len;
	u32 imm; /* immediate (network order) or invalidated rkey */
	u32 qpn;
	u32 src_qp;
	u32 slot;
	u32 vendor_err;
	u8 status;
	u8 opcode;
	u8 wc_flags;
	u8 flags;
	u32 seq;
	u32 owner;
	u32 flow_tag;
	union {
		u8 data[CQE_INLINE_MAX];
		struct {
			u8 short_data[CQE_INLINE];
			u8 grh[IB_GRH_LEN];
			u16 slid;
			u8 sl;
			u8 dlid_path_bits;
			u16 pkey_index;
			u16 cvlan; /* TCI of the stripped tag */
			u64 tm_tag;
			u32 tm_priv;
		};
	};
} cacheline_aligned;
_Static_assert(sizeof(struct cqe) == 192, "cqe size");
_Static_assert(offsetof(struct cqe, grh) == 128, "third line");

/** cqe_owner() - names the SRQ or WQ with that index and that count of the slot's users. */
static inline u32 cqe_owner(u32 index, u32 gen)
{
	return (index & 0xffff) | gen << 16;
}

enum cq_arm {
	CQ_ARM_NONE,
	CQ_ARM_SOLICITED,
	CQ_ARM_ANY,
};

/** struct cq_ctl - heads a CQ ring; entries follow at CQ_HDR. Written by the client only, but for
 * @armed, which the engine takes back with an exchange when it sends the event.
 */
struct cq_ctl {
	u32 cons; /* entries consumed so far */
	u32 armed; /* enum cq_arm */
	u32 pad[14];
} cacheline_aligned;

#define CQ_HDR 64u

/** struct chan_event - an event as queued on a channel. */
struct chan_event {
	u32 type; /* enum ib_event, or CHAN_EV_COMP */
	u32 kind; /* enum chan_elem */
	u32 handle; /* HCA index of the CQ, QP or SRQ; port number */
	u32 gen; /* low bits of the object's generation (QP: its QPN) */
};

#define CHAN_EV_COMP 0xffffu
#define CHAN_EV_VOID 0xfffeu /* by the client: its object was destroyed before it was read */

enum chan_elem {
	ELEM_DEVICE,
	ELEM_PORT,
	ELEM_CQ,
	ELEM_QP,
	ELEM_SRQ,
	ELEM_WQ,
	ELEM_OPENED_QP, /* @handle: of the reference that ibv_open_qp(3) made */
};

/**
 * struct chan_ring - one event channel. @prod by the engine, the rest by the client.
 * @fd_gen: counts the descriptors that this channel number has had: who keeps one compares it
 * @events: offset of its SEG_CHAN_DEPTH struct chan_event; 0: none yet
 */
struct chan_ring {
	u32 prod;
	u32 pad0[15];
	u32 cons;
	u32 fd_gen;
	u64 events;
	u32 pad1[12];
};

#define SEG_CHAN_SIZE (SEG_CHAN_DEPTH * sizeof(struct chan_event))

enum cmd_state {
	CMD_FREE,
	CMD_POSTED, /* by the client */
	CMD_DONE, /* by the fabric process; futex on the word */
};

#define CMD_SIZE 1024u

/** struct cmd_slot - a command of an isolated client. */
struct cmd_slot {
	u32 state;
	u32 pad[15];
	u8 cmd[CMD_SIZE]; /* struct hca_cmd */
};

enum helper_state {
	HELPER_IDLE,
	HELPER_BUSY, /* request posted: the client's helper thread works on it */
	HELPER_DONE,
};

/**
 * struct helper_job - a copy that the client's own helper thread makes, where the kernel forbids
 * others to reach its memory. Data passes through the bounce buffer at @hdr.bounce_off.
 * @key: identifies the request to the engine step that waits for it
 */
struct helper_job {
	u32 state; /* enum helper_state */
	u32 write; /* 1: bounce buffer to memory, 0: memory to bounce buffer */
	s32 result; /* 0 or -errno */
	u32 n; /* entries of iov */
	u64 key;
	struct {
		u64 addr;
		u64 len;
	} iov[32];
} cacheline_aligned;

/**
 * struct seg_lent - addresses of the client's process whose bytes lie in its memory file, one after
 * the other (docs/design/lent-memory.md). @off: in the file
 */
struct seg_lent {
	u64 addr;
	u64 len;
	u64 off;
};

/** enum seg_lent_why - why registered memory is not lent. */
enum seg_lent_why {
	LENT_WHY_THREADS, /* a thread of the program cannot be stopped */
	LENT_WHY_IO, /* io_uring, AIO or a device may write to memory at any time */
	LENT_WHY_USE, /* it is on demand, or Valgrind runs the program */
	LENT_WHY_EDGE, /* it is a part of a page */
	LENT_WHY_KIND, /* a file's, shared, huge, locked, the stack, another region's, ... */
	LENT_WHY_FILE, /* no memory file, or no room in it or in a table */
	LENT_WHY_COST, /* its exchange would take longer than the program's mode allows */
	LENT_WHY_BACK, /* it was, until the program changed its mapping or forked */
	LENT_WHYS
};

/**
 * struct seg_lent_table - the client's lent ranges, in the order of addresses, without overlap. The
 * client writes it with the token held, or with @held set.
 * @n: ranges; 0 in a process whose memory is reached as its own addresses only
 * @held: the client of an isolated fabric moves pages, or writes the table: until it has done so
 *	only its own helper thread copies to and from its memory
 * @on: the program is to lend memory
 * @lent: bytes of regions that are lent; @why: that are not, by reason. For `rdmaemu status`
 */
struct seg_lent_table {
	u32 n;
	u32 on;
	u32 held;
	u32 unused;
	u64 lent;
	u64 why[LENT_WHYS];
	struct seg_lent range[SEG_MAX_LENT];
};

/** struct seg_hdr - start of a client segment. */
struct seg_hdr {
	u32 magic;
	u32 version;
	u64 size;
	u32 client; /* index in the HCA's client table */
	u32 gen;
	u32 fatal; /* set when the fabric has gone: device fatal */
	u32 heap_off; /* first byte the client may carve rings from */
	u64 fail_calls[SEG_CALL_WORDS]; /* calls that a fault may hit: ask the fabric process */
	struct hca_clock clock; /* a copy of the HCA's: of use to isolated clients */

	/* Doorbells, three levels: summary of summaries, summary, bit per QP slot. */
	u64 db_any cacheline_aligned;
	u64 db_sum[SEG_MAX_QPS / 64 / 64] cacheline_aligned;
	u64 db_bits[SEG_MAX_QPS / 64];
	u64 cmd_bits; /* command slots posted (isolated) */

	/*
	 * What came over links, for who polls for it: futex on @brought
	 * (libshim/client/poll_idle.c).
	 */
	u32 brought cacheline_aligned; /* times that the fabric process has brought something */
	u32 napping; /* somebody waits for the next time */

	struct helper_job job;
	struct seg_lent_table lent;
	struct cmd_slot cmd[SEG_CMD_SLOTS];
	struct chan_ring chan[SEG_MAX_CHANS];
	u8 bounce[SEG_BOUNCE_SIZE] cacheline_aligned;
};

#define SEG_HEAP_OFF ALIGN_UP((u64)sizeof(struct seg_hdr), 4096u)
_Static_assert(SEG_HEAP_OFF < SEG_FIRST, "the header is mapped at first");

#endif
