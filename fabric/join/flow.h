/* SPDX-License-Identifier: MIT */
/**
 * DOC: the account that a hub keeps of what one member sends another: forward.c.
 */
#ifndef FABRIC_JOIN_FLOW_H
#define FABRIC_JOIN_FLOW_H

#include "fabric/join/proto.h"

#define FLOW_PARTS 8u
#define FLOW_PART  (2u << 20)

/**
 * struct flow_queue - what waits of a flow in the buffer of the connection to its receiver. Frames
 * of other flows lie between its own, so it is kept in parts: a part counts until the connection
 * has written its last byte. A count is at most the oldest part too high.
 */
struct flow_queue {
	struct {
		u64 end; /* position of its last byte, among all that the connection has queued */
		u64 len; /* bytes of the flow in it */
	} part[FLOW_PARTS]; /* oldest first */
	u32 n;
};

/**
 * struct flow - what a member has sent another one through this fabric, in its current session, and
 * may send.
 */
struct flow {
	u64 to; /* id of the other one; 0: nothing yet */
	u64 session; /* 0: BEGIN has not come, or a burst of the session was dropped */
	u64 sent[LANES], limit[LANES]; /* bytes */
	u64 ask_at; /* real time when the hub asks for BEGIN; 0: it does not */
	struct flow_queue bursts, others; /* frames that cost credit, and those that do not */
};

/** flow_queue_add() - @len bytes were queued, the last of them at position @end. */
void flow_queue_add(struct flow_queue *q, u64 end, u32 len);
/** flow_queue_len() - bytes that wait. @written: position up to which the connection has written */
u64 flow_queue_len(struct flow_queue *q, u64 written);

#endif
