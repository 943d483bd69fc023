/* SPDX-License-Identifier: MIT */
/**
 * DOC: random sequences of verbs calls that print what each returns.
 *
 * The output depends on the seed and on the device alone: objects are named by their place
 * (`qp1`), never by their numbers, keys or addresses, and a step ends when its work has. So the
 * output of a sequence is the same with and without a layer between program and library.
 */
#ifndef TESTS_LIB_C_SEQUENCE_H
#define TESTS_LIB_C_SEQUENCE_H

#include "emulator/types.h"

#include <infiniband/verbs.h>
#include <stdio.h>

#define SEQ_MEM	 65536u
#define SEQ_PORT 1
#define SEQ_WAIT 400 /* ms until a send that has not completed counts as never completing */
#define SEQ_RECV 100000 /* the lowest wr_id of a receive */
#define SEQ_N	 4 /* places for objects of a kind */
#define SEQ_PSN	 0x1234
#define SEQ_QKEY 0x1111

/** struct seq_qp - a queue pair. @pending: sends that complete if the device is well */
struct seq_qp {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex; /* posts by ibv_wr_*() if it is set */
	enum ibv_qp_type type;
	u32 cq, pending;
	bool srq;
};

/** struct seq - a sequence. An object's place is NULL if there is none. */
struct seq {
	u64 random;
	u32 quiet_ms; /* without a completion for so long none comes any more */
	struct ibv_context *ctx;
	union ibv_gid gid;
	int gid_index;
	u8 *mem;
	struct ibv_pd *pd[SEQ_N];
	struct ibv_mr *mr[SEQ_N];
	struct ibv_cq *cq[SEQ_N];
	struct ibv_srq *srq[SEQ_N];
	struct ibv_ah *ah[SEQ_N];
	struct ibv_mw *mw[SEQ_N];
	struct seq_qp qp[SEQ_N];
	struct ibv_comp_channel *channel;
	void *received[1000]; /* where receives begin, by wr_id - SEQ_RECV */
};

/** seq_below() - a random number below @n. */
u32 seq_below(struct seq *s, u32 n);
/** seq_one_in() - true once in @n. */
bool seq_one_in(struct seq *s, u32 n);
/** seq_print_result() - end a line: what a call returned, and errno unless that is 0. */
void seq_print_result(long ret);
/** seq_print_made() - likewise for a call that returns an object or NULL. */
void seq_print_made(const void *made);

/* --- sequence_work.c --- */

/** seq_post_send() - post a chain of one to three work requests. */
void seq_post_send(struct seq *s);
/** seq_post_recv() - post one or two receives, to a queue pair or an SRQ. */
void seq_post_recv(struct seq *s);
/** seq_settle() - wait until posted work has ended; print completions and events. */
void seq_settle(struct seq *s);

#endif
