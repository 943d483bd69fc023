/* SPDX-License-Identifier: MIT */
/** DOC: the board: what the processes of a run tell each other of their queue pairs. */
#ifndef LIBTAP_CHECK_BOARD_H
#define LIBTAP_CHECK_BOARD_H

#include "libtap/check/object.h"

#define BOARD_QPS      4096u /* places */
#define BOARD_ACCESSES 32u /* of a place, the latest ones */
#define BOARD_GIDS     7u /* of a port, after the first one */
#define BOARD_ALL      UINT64_MAX /* of messages that have arrived: their number is not known */
#define BOARD_GONE     4096u /* deregistered regions, the latest ones */
#define BOARD_KEYS     8192u /* rkeys that peers have used */
#define BOARD_PROBES   16u /* places of a key */

/** enum board_kind - how a request accesses remote memory. */
enum board_kind {
	BOARD_NONE,
	BOARD_READ,
	BOARD_WRITE,
	BOARD_ATOMIC,
};

/**
 * struct board_access - an access of remote memory.
 * @number: from 1 on, 0 while it is written
 * @messages: that the queue pair had sent before
 * @stack: in its process
 */
struct board_access {
	u64 number;
	u64 addr;
	u64 len;
	u64 messages;
	u64 wr_id;
	u32 rkey;
	u32 kind; /* enum board_kind */
	u32 stack;
};

/**
 * struct board_attr - an RC or UD queue pair that is in IBV_QPS_RTR or IBV_QPS_RTS.
 * @gid: a first one of the port of a UD queue pair, which has no peer
 * @pkey: if @pkey_is_known; @gid_type: enum ibv_gid_type
 * @ord: its ordinal in its process; @shared: with an SRQ
 */
struct board_attr {
	u32 qpn;
	u32 peer_qpn;
	union ibv_gid gid;
	union ibv_gid peer_gid;
	u32 state;
	u32 path_mtu; /* enum ibv_mtu */
	u32 gid_type;
	u32 max_rd_atomic;
	u32 max_dest_rd_atomic;
	u32 ord;
	bool shared;
	bool datagrams;
	bool pkey_is_known;
	u16 pkey;
	u32 qkey;
	union ibv_gid more_gids[BOARD_GIDS];
};

/**
 * struct board_qp - the place of a queue pair.
 * @owner: process that writes here, 0: free; @version: odd while it changes @attr
 * @early: number of a message that was sent at @early_ns while its peer had no receive; 0: none
 * @done, @posted: numbers of the latest access that is not outstanding any more, and of the latest
 */
struct board_qp {
	u32 owner;
	u32 version;
	struct board_attr attr;
	struct check_counts counts;
	u64 early;
	u64 early_ns;
	u64 done;
	u64 posted;
	struct board_access access[BOARD_ACCESSES];
};

/**
 * struct board_gone - a region that peers could reach, and that is deregistered.
 * @number: from 1 on, 0 while it is written
 * @owner: process whose region it was; @ord: its ordinal there
 */
struct board_gone {
	u64 number;
	u32 owner;
	u32 rkey;
	u32 ord;
	u64 addr;
	u64 len;
};

/**
 * struct board_key - an rkey that peers have used. @name: with its owner, 0: free
 * @rights: bits of enum ibv_access_flags
 */
struct board_key {
	u64 name;
	u32 rights;
};

/**
 * check_board_put() - a queue pair is connected, or its attributes have changed; it is locked.
 */
void check_board_put(struct check_obj *qp);
/** check_board_is_reachable() - whether one of this process was ever connected: peers may write. */
bool check_board_is_reachable(void);
/** check_board_remove() - it is reset, or about to be forgotten. */
void check_board_remove(struct check_obj *qp);
/** check_board_finish() - remove all of this process; check_board_fork(): in a child. */
void check_board_finish(void);
void check_board_fork(void);
/** check_board_region_gone() - a region of this process is deregistered. */
void check_board_region_gone(const struct check_obj *mr);
/** check_board_find_gone() - find the latest one of a process that had a key. Return: success */
bool check_board_find_gone(u32 owner, u32 rkey, struct board_gone *gone);
/** check_board_use_key() - a request by an rkey of a process needs a right. */
void check_board_use_key(u32 owner, u32 rkey, u32 right);
/** check_board_used_rights() - what peers have used of an rkey of this process. */
u32 check_board_used_rights(u32 rkey);
/** check_board_forget_key() - its region is deregistered: a later one may have the same key. */
void check_board_forget_key(u32 rkey);
/** check_board_read() - read a place. Return: false: it is free, or changes. */
bool check_board_read(const struct board_qp *place, struct board_attr *attr);
/**
 * check_board_find_peer() - find the queue pair that one on the board is connected with.
 * Return: NULL: none, or its process is gone.
 */
const struct board_qp *check_board_find_peer(struct check_obj *qp, struct board_attr *peer);

/** check_board_next() - the place after one, or the first one. Return: NULL: there is none. */
const struct board_qp *check_board_next(const struct board_qp *after);
/** check_board_peer_of() - find the peer of a place of any process. Return: NULL: none. */
const struct board_qp *check_board_peer_of(const struct board_attr *of, struct board_attr *peer);
/** check_board_find_datagram() - find the UD queue pair of an address. Return: NULL: none. */
const struct board_qp *check_board_find_datagram(u32 qpn, const union ibv_gid *gid,
						 struct board_attr *attr);
/** check_board_is_alive() - whether the owner of a place exists. */
bool check_board_is_alive(const struct board_qp *place);

#endif
