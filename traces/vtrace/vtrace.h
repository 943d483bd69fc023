/* SPDX-License-Identifier: MIT */
/**
 * DOC: traces of verbs: the format of a trace directory.
 *
 * Theory of operation
 * -------------------
 * A trace directory has a folder for each recorded program (pN/), and one counter that all of them
 * share (order). Every call takes a number from the counter when it begins and another when it has
 * ended. So of any two calls of any two programs one can tell which came first, or that they
 * overlapped. A replay goes by these numbers; times are for people.
 *
 * Calls of the control path are lines of text (pN/calls), which contain only what is the same in
 * every run. For each line the binary file (pN/data) has a record VT_CALL with the rest: numbers,
 * times, and the values that stand as "~" in the line, in the order of the "~". The data path is in
 * the binary file only.
 *
 * The binary file is a sequence of records: struct vt_rec and the body of its kind. It grows as a
 * shared mapping. The writer stores a record's size when it reserves it, and its check last: a
 * program that is killed leaves records without a check, whose size is right and whose contents are
 * not. Zeros follow the last record. Integers are in the machine's byte order, which vt_head.order
 * records.
 *
 * Objects are named by their kind and an ordinal in the order of creation in that program, from 1
 * ("mr2"). 0 is none, or an unknown object.
 */
#ifndef TRACES_VTRACE_VTRACE_H
#define TRACES_VTRACE_VTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_VERSION 1u
#define VT_MAGIC   0x63617254u /* "Trac" */
#define VT_ORDER   0x0102030405060708ULL

/* Bounds that readers check and writers keep. */
#define VT_MAX_PROGS   256u
#define VT_MAX_THREADS 1024u /* of a program */
#define VT_MAX_LINE    (64u << 10) /* of calls, including the newline */
#define VT_MAX_FACTS   512u /* of a line */
#define VT_MAX_REC     (80u << 20) /* bytes of a record */
#define VT_MAX_DATA    (64ULL << 30) /* bytes of pN/data */
#define VT_MAX_OBJ     (1u << 20) /* ordinals of a kind */
#define VT_MAX_WR      65536u /* of a post */
#define VT_MAX_SGE     256u /* of a work request */
#define VT_MAX_WC      65536u /* of a poll */

/** struct vt_head - the head of pN/data, and all of order. */
struct vt_head {
	uint32_t magic;
	uint32_t version;
	uint64_t order; /* VT_ORDER, as this machine stores it */
	uint64_t next; /* order: the next number, from 1. data: 0 */
	uint64_t pad[5];
};

/* clang-format off: a table */
#define VT_KINDS(X)                                                                                \
	X(CALL, "call") /* struct vt_call: a line of calls */                                      \
	X(POST_SEND, "post_send") /* struct vt_post: ibv_post_send() */                            \
	X(POST_RECV, "post_recv") /* struct vt_post: ibv_post_recv() */                            \
	X(POST_SRQ, "post_srq_recv") /* struct vt_post: ibv_post_srq_recv() */                     \
	X(POST_WQ, "post_wq_recv") /* struct vt_post: ibv_post_wq_recv() */                        \
	X(WR, "wr") /* struct vt_post: ibv_wr_start() to ibv_wr_complete() or _abort() */          \
	X(POLL, "poll") /* struct vt_poll: a poll that found something, or failed */               \
	X(NOTIFY, "notify") /* struct vt_cqop: ibv_req_notify_cq(); n: solicited only */           \
	X(CQ_EVENT, "cq_event") /* struct vt_cqop: ibv_get_cq_event(); obj2: the channel */        \
	X(ACK, "ack") /* struct vt_cqop: ibv_ack_cq_events(); n: how many */                       \
	X(MEM, "mem") /* struct vt_mem: what memory holds */                                       \
	X(EMPTY, "empty") /* struct vt_cqop: n polls in all found nothing */                       \
	X(NOTE, "note") /* struct vt_note: what was not recorded, and why */                       \
	X(END, "end") /* struct vt_end: the program's last record */                               \
	X(POST_OPS, "post_srq_ops") /* struct vt_post: ibv_post_srq_ops() */                       \
	X(DM, "dm") /* struct vt_dm: ibv_memcpy_to_dm(), ibv_memcpy_from_dm() */
/* clang-format on */

/** enum vt_kind - kinds of records. */
enum vt_kind {
	VT_NONE,
#define VT_KIND(name, text) VT_##name,
	VT_KINDS(VT_KIND)
#undef VT_KIND
		VT_KIND_COUNT,
};

/** vt_is_recv() - whether the record is a post of receives. */
static inline bool vt_is_recv(uint32_t kind)
{
	return kind == VT_POST_RECV || kind == VT_POST_SRQ || kind == VT_POST_WQ;
}

/** vt_is_send() - whether the record is a post to a send queue. */
static inline bool vt_is_send(uint32_t kind)
{
	return kind == VT_POST_SEND || kind == VT_WR;
}

/** vt_is_post() - whether the record has work requests: its body is a struct vt_post. */
static inline bool vt_is_post(uint32_t kind)
{
	return vt_is_send(kind) || vt_is_recv(kind) || kind == VT_POST_OPS;
}

/**
 * struct vt_rec - the head of a record. The body follows.
 * @size: bytes including this head, a multiple of 8; stored when the record is reserved
 * @check: CRC-32 (zlib's) of everything after this word, 1 where that is 0; stored last. 0: the
 *	record is incomplete
 * @thread: ordinal of the thread, from 1, in the order of their first calls
 * @begin, @end: numbers of the call; both the same for records that are no calls
 * @t_begin, @t_end: CLOCK_MONOTONIC, nanoseconds
 */
struct vt_rec {
	uint32_t size;
	uint32_t check;
	uint32_t kind; /* enum vt_kind */
	uint32_t thread;
	uint64_t begin;
	uint64_t end;
	uint64_t t_begin;
	uint64_t t_end;
};

/**
 * struct vt_call - VT_CALL.
 * @line: line number in calls, from 1
 * @n_facts: number of values that follow, one for each "~" of the line
 */
struct vt_call {
	uint32_t line;
	uint32_t n_facts;
	uint64_t fact[];
};

/**
 * struct vt_post - VT_POST_SEND, VT_POST_RECV, VT_POST_SRQ, VT_POST_WQ, VT_POST_OPS, VT_WR. @n
 * struct vt_wr follow.
 * @obj: ordinal of the QP, SRQ or WQ
 * @ret: the call's result: 0 or errno
 * @bad: index of the work request that bad_wr named; @n if there was none
 * @how: VT_WR: 0, or VT_ABORTED
 */
struct vt_post {
	uint32_t obj;
	uint32_t n;
	int32_t ret;
	uint32_t bad;
	uint32_t how;
	uint32_t pad;
};

#define VT_ABORTED 1u

/** enum vt_op - vt_wr.opcode of VT_POST_OPS; values of enum ibv_ops_wr_opcode. */
enum vt_op {
	VT_TAG_ADD,
	VT_TAG_DEL,
	VT_TAG_SYNC,
};

/* vt_wr.flags */
#define VT_WR_CRC	   (1u << 0) /* @crc is of the payload */
#define VT_WR_BYTES	   (1u << 1) /* the payload follows, all of it */
#define VT_WR_INLINE_ONE   (1u << 2) /* VT_WR: ibv_wr_set_inline_data() */
#define VT_WR_INLINE_LIST  (1u << 3) /* VT_WR: ibv_wr_set_inline_data_list() */
#define VT_WR_SGE_ONE	   (1u << 4) /* VT_WR: ibv_wr_set_sge() */
#define VT_WR_SGE_LIST	   (1u << 5) /* VT_WR: ibv_wr_set_sge_list() */
#define VT_WR_FLUSH	   (1u << 6) /* VT_WR: ibv_wr_flush(): VT_IBV_WR_FLUSH */
#define VT_WR_ATOMIC_WRITE (1u << 7) /* VT_WR: ibv_wr_atomic_write(): @swap is the value */

/*
 * IBV_WR_FLUSH, of rdma-core 45 and later. @mw_access: VT_FLUSH_ACCESS() of enum ibv_placement_type
 * and enum ibv_selectivity_level; @mw_len: the length.
 */
#define VT_IBV_WR_FLUSH		     14u
#define VT_FLUSH_ACCESS(type, level) ((uint32_t)(type) | (uint32_t)(level) << 4)
#define VT_FLUSH_TYPE(access)	     ((uint8_t)((access)&15))
#define VT_FLUSH_LEVEL(access)	     ((uint8_t)((access) >> 4))

/**
 * struct vt_wr - a work request: struct ibv_send_wr or ibv_recv_wr, or one built by ibv_wr_*().
 * Members that the opcode does not use are 0. @n_sge struct vt_sge follow, then @tso_hdr bytes,
 * then the payload if VT_WR_BYTES.
 * @size: bytes including all that follows, a multiple of 8
 * @opcode: enum ibv_wr_opcode; 0 in receives
 * @imm: imm_data or invalidate_rkey, as in memory
 * @payload: bytes that it sends; 0 in receives, READs and atomics
 * @ah: ordinal; UD
 * @mw, @mw_rkey, @mw_mr, @mw_access, @mw_addr, @mw_len: IBV_WR_BIND_MW; @mw_mr is an ordinal,
 *	@mw_rkey the new key
 *
 * VT_POST_OPS: @opcode is enum ibv_ops_wr_opcode, @send_flags enum ibv_ops_flags, @imm
 * unexpected_cnt, @rkey the handle (the result of adding a tag, the argument of removing one),
 * @remote_addr recv_wr_id, @compare_add the tag, @swap the mask.
 */
struct vt_wr {
	uint32_t size;
	uint32_t opcode;
	uint64_t wr_id;
	uint32_t send_flags;
	uint32_t n_sge;
	uint32_t imm;
	uint32_t rkey;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t ah;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t srqn; /* XRC: remote_srqn */
	uint32_t mw;
	uint32_t mw_rkey;
	uint32_t mw_mr;
	uint32_t mw_access;
	uint64_t mw_addr;
	uint64_t mw_len;
	uint32_t payload;
	uint32_t crc;
	uint32_t flags; /* VT_WR_* */
	uint16_t tso_mss;
	uint16_t tso_hdr;
};

/**
 * struct vt_sge - a scatter/gather entry.
 * @addr: as the program gave it
 * @mr: ordinal of the MR of the lkey; 0: inline, or the key of no known MR
 */
struct vt_sge {
	uint64_t addr;
	uint32_t len;
	uint32_t lkey;
	uint32_t mr;
	uint32_t pad;
};

/**
 * struct vt_poll - VT_POLL. @n struct vt_wc follow.
 * @ret: the result of ibv_poll_cq(): the number of completions, or -1; of ibv_start_poll() to
 *	ibv_end_poll(): the number of completions, or minus errno
 * @empty: polls of this CQ by any thread since its last VT_POLL that found nothing
 * @ex: polled by ibv_start_poll()
 */
struct vt_poll {
	uint32_t cq;
	uint32_t n;
	int32_t ret;
	uint32_t ex;
	uint64_t empty;
};

#define VT_WC_CRC (1u << 0) /* @crc covers what was received: @byte_len bytes without UD's GRH */
#define VT_GRH	  40u /* bytes of a GRH */

/**
 * struct vt_wc - a completion. Fields that an extended CQ does not have are 0.
 * @qp: ordinal of the QP of @qp_num; 0: no QP of this program
 * @imm: imm_data or invalidated_rkey, as in memory
 * @ts: completion timestamp, or 0
 */
struct vt_wc {
	uint64_t wr_id;
	uint32_t status; /* enum ibv_wc_status */
	uint32_t opcode; /* enum ibv_wc_opcode; valid with IBV_WC_SUCCESS */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qp;
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags;
	uint32_t crc;
	uint32_t flags; /* VT_WC_* */
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
	uint8_t pad[6];
	uint64_t ts;
};

/** struct vt_cqop - VT_NOTIFY, VT_CQ_EVENT, VT_ACK, VT_EMPTY. @obj2: the channel, or 0. */
struct vt_cqop {
	uint32_t cq;
	uint32_t obj2;
	int32_t ret; /* the call's result: 0, errno (VT_NOTIFY) or minus errno (VT_CQ_EVENT) */
	uint32_t pad;
	uint64_t n;
};

/** enum vt_mem_what - why contents of memory are recorded. */
enum vt_mem_what {
	VT_MEM_FIRST, /* contents at registration; zeros where nothing is recorded */
	VT_MEM_CHANGED, /* the program itself has written there since */
	VT_MEM_FINAL, /* the whole MR when it is deregistered or the program ends: CRC only */
};

/**
 * struct vt_mem - VT_MEM: @stored bytes follow, either none or all @len of them.
 * @mr: ordinal; VT_MEM_FIRST and _FINAL stand next to the record of the call
 * @off: offset in the MR
 */
struct vt_mem {
	uint32_t mr;
	uint32_t what; /* enum vt_mem_what */
	uint64_t off;
	uint64_t len;
	uint32_t crc; /* CRC-32 of the bytes */
	uint32_t stored;
};

/**
 * struct vt_dm - VT_DM: a copy between the program's memory and a DM. @stored bytes follow, either
 * none or all @len of them.
 * @to: into the DM; only then bytes are stored
 * @ret: the call's result: 0 or errno
 * @crc: CRC-32 of the bytes; 0 if the copy failed
 */
struct vt_dm {
	uint32_t dm;
	uint32_t to;
	uint64_t off;
	uint64_t len;
	uint32_t crc;
	uint32_t stored;
	int32_t ret;
	uint32_t pad;
};

/** struct vt_note - VT_NOTE: text without a NUL. */
struct vt_note {
	uint32_t len;
	uint32_t pad;
	char text[];
};

/** struct vt_end - VT_END. The trace of a program that was killed has none. */
struct vt_end {
	uint32_t notes; /* number of VT_NOTE records that did not fit */
	uint32_t pad;
};

#endif
