/* SPDX-License-Identifier: MIT */
/**
 * DOC: tests of tag matching: QP 1 of a sender sends to QP 1 of a receiver, which is on the
 * receiver's SRQ 0 and has no send queue. That SRQ has TAGS tags and takes OPS operations at a
 * time.
 */
#ifndef TESTS_LIB_C_VB_TM_H
#define TESTS_LIB_C_VB_TM_H

#include "tests/lib/c/vb.h"

#include <infiniband/tm_types.h>

#define TAGS  8
#define OPS   6
#define DEPTH 16
#define BIG   (1200u << 10)
#define ROOM  (1300u << 10) /* where the receives and tags with small buffers begin */

struct tm_header {
	struct ibv_tmh tmh;
	struct ibv_rvh rvh;
};

/** struct tm_wc - a completion of the SRQ's CQ; @got: there was one. */
struct tm_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t len, imm;
	struct ibv_wc_tm_info tm;
	int got;
};

#define MAX_OPS 8

/**
 * struct tm_ops - a list of @n operations for ibv_post_srq_ops(3).
 * @bad: index of bad_op, or -1
 * @basic: post them to a basic SRQ
 */
struct tm_ops {
	struct ibv_ops_wr wr[MAX_OPS];
	struct ibv_sge sge[MAX_OPS];
	int n, bad, basic;
};

/** tm_open() - the two sides; the receiver in a process of its own when @argv says "remote". */
void tm_open(int argc, char **argv, struct vb_side **sender, struct vb_side **receiver);
void tm_close(void);
/** tm_with() - run a test with fresh, connected queue pairs. */
void tm_with(void (*test)(void));

/**
 * tm_make() - make the SRQ and its CQ.
 * @without: bits of the comp_mask to leave out
 * @qp: try to make a QP of that type on it, and destroy all again; 0: keep the SRQ
 * Return: 0 or errno's value.
 */
int tm_make(uint32_t tags, uint32_t ops, uint32_t without, enum ibv_qp_type qp);
/** tm_op() - a signaled operation. */
struct ibv_ops_wr tm_op(enum ibv_ops_wr_opcode opcode, uint64_t wr_id);
void tm_append(struct tm_ops *o, const struct ibv_ops_wr *wr);
/** tm_append_tag() - add a tag; its operation's wr_id is 1000 more than the receive's, @tag. */
void tm_append_tag(struct tm_ops *o, uint64_t tag, void *buf, uint32_t len);
/** tm_post() - Return: as ibv_post_srq_ops(3). */
int tm_post(struct tm_ops *o);
/** tm_tag() - post a tag and see it confirmed. @handle: takes its handle, or NULL */
bool tm_tag(uint64_t value, void *buf, uint32_t len, uint32_t *handle);

/** tm_good() - whether the next completion is this one, successful. */
bool tm_good(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags, struct tm_wc *w);
bool tm_bad(uint64_t wr_id, enum ibv_wc_status status);
/** tm_silent() - there is none. */
bool tm_silent(void);

/** tm_place() - where the SRQ's receive @wr_id goes: each has a place. */
uint8_t *tm_place(uint64_t wr_id);
bool tm_recvs(uint64_t from, int n);
/** tm_say() - post a message of @len bytes with seed @value; a rendezvous offers them instead. */
bool tm_say(enum ibv_tmh_op op, uint64_t value, uint32_t len, enum ibv_wr_opcode opcode);
/** tm_said() - whether it was sent. */
bool tm_said(uint64_t value);

#endif
