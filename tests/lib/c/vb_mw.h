/* SPDX-License-Identifier: MIT */
/**
 * DOC: tests of memory windows: a requester, QP 0 of @a, and a target, QP 1 of @b, that binds
 * windows over the memory at AREA of its buffer. Region 0 is that of the whole buffer.
 */
#ifndef TESTS_LIB_C_VB_MW_H
#define TESTS_LIB_C_VB_MW_H

#include "tests/lib/c/vb.h"

#define AREA   65536 /* offset of the windowed memory in the target's buffer */
#define LEN    4096
#define POSTED (-2)

extern struct vb_side *a, *b;
extern struct vb_pair p;

/**
 * struct mw_bind - a bind and its outcome.
 * @type1: by ibv_bind_mw()
 * @key: type 2: the key to be; out: the window's key
 * @status: the completion's, or POSTED when it was refused with @err
 */
struct mw_bind {
	int mw, region, qp;
	bool type1;
	uint32_t key;
	int64_t off; /* from AREA */
	uint64_t len;
	unsigned int access;
	int err;
	int status;
};

/** mw_open() - the two sides; the target in a process of its own when @argv says "remote". */
void mw_open(int argc, char **argv);
void mw_close(void);
/** mw_fresh() - new queue pairs. */
void mw_fresh(void);

void mw_reg(int i, unsigned int access, bool other_pd);
int mw_dereg(int i);
/** mw_rereg() - ibv_rereg_mr(3) with these flags. Return: its value, or errno's for ERR_CMD. */
int mw_rereg(int i, int flags);
/** mw_bind() - Return: @v->status. */
int mw_bind(struct mw_bind *v);
/** mw_window() - make and bind a window over region @i, of type 2 under the key after *key. */
bool mw_window(int mw, enum ibv_mw_type type, int region, unsigned int access, uint32_t *key);
/** mw_request() - a request of the requester to byte @off of AREA. Return: its status, or -1. */
int mw_request(enum ibv_wr_opcode op, uint32_t key, uint64_t off, uint32_t len);
int mw_request_at(enum ibv_wr_opcode op, uint32_t key, uint64_t raddr, uint32_t len);
/** mw_writes() - WRITE of 200 bytes at @off; whether they got there. */
bool mw_writes(uint32_t key, uint64_t off);
/** mw_refused() - the key does not do. The pair is made anew, which type 1 windows survive. */
bool mw_refused(uint32_t key, enum ibv_wr_opcode op, uint64_t off, uint32_t len);

#endif
