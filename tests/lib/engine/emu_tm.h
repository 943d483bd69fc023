/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching on the engine alone: an SRQ with tags, and messages for it.
 *
 * Client 0 sends on @a to client 1, whose QP @b is on the SRQ. Numbers name the buffers of each
 * client, and the requests that use them.
 */
#ifndef TESTS_LIB_C_EMU_TM_H
#define TESTS_LIB_C_EMU_TM_H

#include "tests/lib/engine/emu.h"

#define SEC   1000000000ULL
#define TAGS  16
#define SLOT  8192u /* bytes of a buffer */
#define RECVS 100 /* number of the SRQ's first receive */

enum { NO_TAG, RNDV, FIN, EAGER };
enum { ADD, DEL, SYNC };
enum { SIGNALED = 1, COUNTED = 2 };

/** struct header - struct ibv_tmh and struct ibv_rvh. */
struct header {
	u8 op;
	u8 pad[3];
	u32 app_ctx;
	u64 tag;
	u64 va;
	u32 rkey;
	u32 len;
};

extern struct emu *m;
extern struct emu_qp a, b;
extern struct emu_conn plain, tagged; /* what a and b were made with */

/** buf_at() - where the buffer with that number lies in the client's memory. */
u8 *buf_at(u32 client, u32 number);
/** up() - a fresh HCA, with a of client 0 connected to b of client 1. */
void up(void);
/** op() - an operation on the list; a tag's buffer and wr_id are given by @number. */
int op(u32 opcode, u32 flags, u64 tag, u32 number, u32 len, u32 count, u32 *handle);
int add(u64 tag, u32 number, u32 len);
/**
 * say() - post a message of @len bytes behind the header, or the request of a rendezvous for as
 * many. The bytes are those of seed @number.
 */
void say(struct emu_qp *from, u32 kind, u64 tag, u32 number, u32 len);
bool sent(struct emu_qp *from, u32 number, u32 status);
/** recvs() - post receives to the SRQ, numbered from RECVS on. */
void recvs(u32 n);
/** is() - the next entry of the SRQ's queue is this one. */
bool is(u64 wr_id, u32 opcode, u32 flags, u64 tag, struct cqe *c);
bool nothing(void);
/** eager_came() - an eager message into tag @number; message @seed. */
bool eager_came(u32 number, u64 tag, u32 len, u32 seed);
/** whole_came() - a message with its header, into receive @number. */
bool whole_came(u32 number, u32 opcode, u32 len, u32 seed);
/** rndv_came() - of a rendezvous: that it matched, and that its data are there. */
bool rndv_came(u32 number, u64 tag, u32 len, u32 seed);
/** fin_came() - the sender has the FIN of its rendezvous. */
bool fin_came(u64 wr_id, u64 tag, u32 seed);
/** fin_recvs() - post receives for that. */
void fin_recvs(u32 n);
/** fails() - a tag ends with an error, and its QP is in ERR. */
bool fails(u64 wr_id, u32 status);

#endif
