/* SPDX-License-Identifier: MIT */
/**
 * DOC: commands: the verbs that create, modify, destroy and register.
 *
 * Executed under the token by hca_cmd_exec(); by the client itself, or by the fabric process for
 * isolated clients. Errors are what the verb's man page or, where it is silent, rdma-core's kernel
 * side answers: positive errno values are returned negative in @ret.
 */
#ifndef EMULATOR_CMD_H
#define EMULATOR_CMD_H

#include "emulator/hca.h"

enum hca_cmd_op {
	CMD_NOP,
	CMD_ALLOC_PD,
	CMD_DEALLOC_PD, /* EBUSY while used */
	CMD_REG_MR,
	CMD_REREG_MR,
	CMD_DEREG_MR,
	CMD_CREATE_CQ,
	CMD_RESIZE_CQ, /* EINVAL when more entries wait than fit; moves them to the new ring */
	CMD_DESTROY_CQ, /* EBUSY while used */
	CMD_CREATE_QP,
	CMD_MODIFY_QP,
	CMD_QUERY_QP,
	CMD_DESTROY_QP,
	CMD_CLOSE_DEVICE, /* nothing in the model; for symmetry of traces */
};

struct cmd_reg_mr {
	u64 addr;
	u64 len;
	u64 iova;
	u32 pd;
	u32 access;
	u32 flags; /* rereg: enum ibv_rereg_mr_flags: 1 translation, 2 pd, 4 access */
	u32 key; /* out */
};

struct cmd_cq {
	u64 ring; /* segment offset of struct cq_ctl + entries */
	u32 depth; /* power of two */
	u32 chan; /* completion channel + 1, 0: none */
	u32 async_chan;
	u32 dev;
	u32 gen; /* out: events of this CQ carry it */
	u32 want_ts; /* entries carry time stamps */
};

struct cmd_qp {
	u32 type;
	u32 dev;
	u32 pd;
	u32 scq;
	u32 rcq;
	u32 srq; /* index + 1 */
	u64 sq_ring;
	u64 rq_ring;
	u32 sq_depth;
	u32 rq_depth;
	u32 max_sge;
	u32 max_rsge;
	u32 max_inline;
	u32 sig_all;
	u32 cap_send_wr;
	u32 cap_recv_wr;
	u32 async_chan;
	u32 qpn; /* out */
};

struct cmd_modify_qp {
	struct hca_qp_attr attr; /* query: out */
	u32 mask;
};

/** struct hca_cmd - one command: @handle names the object, or receives the new one's index. */
struct hca_cmd {
	u32 op;
	s32 ret;
	u32 handle;
	u32 pad;
	union {
		struct cmd_reg_mr mr;
		struct cmd_cq cq;
		struct cmd_qp qp;
		struct cmd_modify_qp mod;
		u32 dev; /* ALLOC_PD */
	};
};
_Static_assert(sizeof(struct hca_cmd) <= CMD_SIZE, "fits a slot");

#endif
