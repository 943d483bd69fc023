/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive work queues and indirection tables.
 */
#ifndef LIBSHIM_VERBS_WQ_H
#define LIBSHIM_VERBS_WQ_H

#include "libshim/verbs/queue.h"

/**
 * struct shim_rwq - a receive work queue.
 * @wqn: its number in completions
 * @maybe_err: an error completion was seen: it may be in ERR without a modify call
 */
struct shim_rwq {
	union {
		struct ibv_wq wq;
		u8 room[256];
	};
	u32 magic;
	u32 wqn;
	u32 gen;
	u32 async_events; /* delivered */
	bool maybe_err;
	struct shim_wq rq;
};

/* --- wq.c --- */

struct ibv_wq *shim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr);
int shim_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int shim_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *shim_create_rwq_ind_table(struct ibv_context *ibctx,
						    struct ibv_rwq_ind_table_init_attr *attr);
int shim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/**
 * shim_rss_fill() - write a QP's indirection table and hash to its command. Return: 0 or -errno.
 */
int shim_rss_fill(const struct ibv_qp_init_attr_ex *attr, struct cmd_qp *c);

#endif
