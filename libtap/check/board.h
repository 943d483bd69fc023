/* SPDX-License-Identifier: MIT */
/** DOC: the board: what the processes of a run tell each other of their RC queue pairs. */
#ifndef LIBTAP_CHECK_BOARD_H
#define LIBTAP_CHECK_BOARD_H

#include "libtap/check/object.h"

#define BOARD_QPS 4096u /* places */

/**
 * struct board_attr - a queue pair that is in IBV_QPS_RTR or IBV_QPS_RTS.
 * @ord: its ordinal in its process; @shared: with an SRQ
 */
struct board_attr {
	u32 qpn;
	u32 peer_qpn;
	union ibv_gid gid;
	union ibv_gid peer_gid;
	u32 state;
	u32 path_mtu; /* enum ibv_mtu */
	u32 max_rd_atomic;
	u32 max_dest_rd_atomic;
	u32 ord;
	bool shared;
};

/**
 * struct board_qp - the place of a queue pair.
 * @owner: process that writes here, 0: free; @version: odd while it changes @attr
 * @receives: that were ever posted
 */
struct board_qp {
	u32 owner;
	u32 version;
	struct board_attr attr;
	u64 receives;
};

/** check_board_put() - a queue pair is connected, or its attributes have changed. */
void check_board_put(struct check_obj *qp);
/** check_board_remove() - it is reset, or about to be forgotten. */
void check_board_remove(struct check_obj *qp);
/** check_board_finish() - remove all of this process; check_board_fork(): in a child. */
void check_board_finish(void);
void check_board_fork(void);
/** check_board_read() - read a place. Return: false: it is free, or changes. */
bool check_board_read(const struct board_qp *place, struct board_attr *attr);
/**
 * check_board_find_peer() - find the queue pair that one on the board is connected with.
 * Return: NULL: none, or its process is gone.
 */
const struct board_qp *check_board_find_peer(struct check_obj *qp, struct board_attr *peer);

#endif
