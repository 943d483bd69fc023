/* SPDX-License-Identifier: MIT */
/**
 * DOC: commands: the verbs that create, modify, destroy and register objects.
 *
 * hca_cmd_exec() executes them under the token: in the client itself or, for isolated clients, in
 * the fabric process. Errors are those of the verb's man page or, if it is silent, those of the
 * kernel. Positive errno values are returned negative in @ret.
 */
#ifndef EMULATOR_VERBS_CMD_H
#define EMULATOR_VERBS_CMD_H

#include "emulator/cm/cmd.h"
#include "emulator/verbs/cmd_list.h"

#define CMD_OP(op, fn) CMD_##op,
enum hca_cmd_op {
	HCA_COMMANDS(CMD_OP) CMD_COUNT,
};

struct cmd_dev {
	u32 dev;
	u32 async_chan;
};

/**
 * struct cmd_reg_mr - memory regions and windows.
 * @ctx: the context of @dm
 * @key: in: the requested key, 0: any; out: the key. DEREG_MR: in, for an imported region
 */
struct cmd_reg_mr {
	u64 ctx;
	u64 addr;
	u64 len;
	u64 iova;
	u32 pd;
	u32 access;
	u32 flags; /* rereg: enum ibv_rereg_mr_flags: 1 translation, 2 pd, 4 access */
	u32 key;
	u32 kind; /* enum hca_mr_kind; ALLOC_MW: MW_1 or MW_2 */
	u32 dm; /* its device memory + 1 */
};

struct cmd_cq {
	u64 ring; /* segment offset of struct cq_ctl + entries */
	u32 depth; /* power of two */
	u32 chan; /* completion channel + 1, 0: none */
	u32 async_chan;
	u32 dev;
	u32 gen; /* out: events of this CQ carry it */
	u32 ts_format; /* enum ts_format */
	u32 ignore_overrun;
	u32 mod_count, mod_period; /* MODIFY_CQ */
};

struct cmd_srq {
	u64 ring; /* segment offset of struct wq_ctl, order array and slots */
	u32 dev;
	u32 pd;
	u32 type; /* enum hca_srq_type */
	u32 depth; /* power of two */
	u32 max_sge;
	u32 max_wr;
	u32 limit;
	u32 mask; /* MODIFY: enum ibv_srq_attr_mask: 1 max_wr (new ring), 2 limit */
	u32 xrcd; /* handle of REF_XRCD + 1 */
	u32 cq; /* handle + 1 */
	u32 async_chan;
	u32 max_tags;
	u32 srqn; /* out */
	u32 gen; /* out */
};

/** struct cmd_srq_op - ibv_post_srq_ops(3), one operation; handle: the SRQ's. */
struct cmd_srq_op {
	u64 wr_id;
	u64 tag, mask;
	u64 recv_wr_id;
	struct wq_sge sge;
	u32 num_sge;
	u32 opcode; /* enum ibv_ops_wr_opcode */
	u32 flags; /* enum ibv_ops_flags */
	u32 unexpected_cnt;
	u32 tag_handle; /* ADD: out; DEL: in */
	u32 slot; /* ordinal of the operation, for its completion */
};

struct cmd_qp {
	u32 type;
	u32 dev;
	u32 pd; /* 0: none */
	u32 scq; /* 0: none */
	u32 rcq;
	u32 srq; /* handle + 1; 0: none */
	u32 xrcd; /* handle of REF_XRCD + 1 */
	u32 ind; /* handle + 1 */
	u64 sq_ring;
	u64 rq_ring;
	u32 sq_depth;
	u32 rq_depth;
	u32 max_sge;
	u32 max_rsge;
	u32 max_inline;
	u32 max_tso_hdr;
	u32 sig_all;
	u32 cap_send_wr;
	u32 cap_recv_wr;
	u32 async_chan;
	u32 create_flags;
	u32 source_qpn;
	u32 rss_fields;
	u8 rss_key[40];
	u32 qpn; /* out; OPEN_QP: in */
};

struct cmd_ah {
	u32 pd;
	struct hca_av av;
};

struct cmd_mcast {
	u8 gid[16];
	u32 lid;
};

/** enum xrcd_oflags - O_CREAT and O_EXCL. */
enum xrcd_oflags {
	XRCD_CREAT = 1 << 0,
	XRCD_EXCL = 1 << 1,
};

struct cmd_xrcd {
	u64 st_dev, st_ino; /* both 0: private */
	u32 dev;
	u32 oflags; /* enum xrcd_oflags */
};

struct cmd_wq {
	u64 ring;
	u32 dev;
	u32 pd;
	u32 cq;
	u32 depth;
	u32 max_sge;
	u32 flags;
	u32 async_chan;
	u32 mask; /* MODIFY: enum ibv_wq_attr_mask: 1 state, 2 cur_state, 4 flags */
	u32 state, cur_state;
	u32 flags_mask;
	u32 wqn; /* out */
	u32 gen; /* out */
};

struct cmd_ind {
	u32 dev;
	u32 log_size;
	u32 wq[LIM_IND]; /* handles */
};

struct cmd_flow {
	u32 qp; /* handle */
	u32 port;
	u32 type, priority, flags;
	u32 counters; /* handle + 1 */
	u32 tag, has_tag, drop;
	struct flow_match value, mask, inner_value, inner_mask;
};

struct cmd_ctr {
	u32 dev;
	u32 what, index; /* ATTACH_COUNTERS */
	u32 n; /* READ: entries wanted */
	u64 value[CTR_POINTS]; /* READ: out */
};

enum import_kind {
	IMPORT_FABRIC, /* no object: identifies the fabric */
	IMPORT_PD,
	IMPORT_MR, /* of a PD that the client made or imported */
	IMPORT_DM,
};

/** struct cmd_import - cmd.handle: the reference; UNIMPORT: in, import of a PD: out. */
struct cmd_import {
	u64 ctx; /* the exporting context; see struct hca_pd */
	u32 kind; /* enum import_kind */
	u32 index; /* handle in the exporting context */
	u64 len; /* out: of an MR or DM */
	u64 fabric; /* out: IMPORT_FABRIC: differs between fabrics */
	u32 key; /* out: of an MR */
	u32 null; /* out: it is a null MR */
};

struct cmd_dm {
	u64 ctx;
	u64 len;
	u32 dev;
};

struct cmd_modify_qp {
	struct hca_qp_attr attr; /* query: out */
	u32 mask;
	u32 opened; /* the handle was returned by CMD_OPEN_QP */
};

/** struct hca_cmd - one command: @handle names the object, or receives the new one's index. */
struct hca_cmd {
	u32 op;
	s32 ret;
	u32 handle;
	u32 pad;
	union {
		struct cmd_dev open;
		struct cmd_reg_mr mr;
		struct cmd_cq cq;
		struct cmd_qp qp;
		struct cmd_modify_qp mod;
		struct cmd_srq srq;
		struct cmd_srq_op tm;
		struct cmd_ah ah;
		struct cmd_mcast mcast;
		struct cmd_xrcd xrcd;
		struct cmd_wq wq;
		struct cmd_ind ind;
		struct cmd_flow flow;
		struct cmd_ctr ctr;
		struct cmd_import import;
		struct cmd_dm dm;
		struct cmd_cm cm;
		struct { /* ALLOC_PD */
			u32 dev;
			u64 ctx;
		};
	};
};
_Static_assert(sizeof(struct hca_cmd) <= CMD_SIZE, "fits a slot");

#endif
