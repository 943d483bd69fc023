/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the tap of a program on real devices tells the fabric process, and asks it: requests
 * WORK, WORK_FAILED, CM and EVENT_SEEN of proto.h.
 */
#ifndef FABRIC_PROTO_TAPPED_H
#define FABRIC_PROTO_TAPPED_H

#include "emulator/types.h"

#define PROTO_NO_SIZE (~0ull)
#define PROTO_ARGS    128u /* bytes of a text for the journal, with the NUL */

/**
 * struct proto_work - a work request of a program on real devices.
 * @wr_id: the program's
 * @size: bytes of its message, or PROTO_NO_SIZE: unknown
 * @ordinal: of the request among those of its QP while a rule was about work requests
 * @qp: ordinal of the QP in its process, from 1; 0: unknown
 * @opcode: enum ib_wr_opcode; @recv: a receive; @unknown: neither is known
 * @type: enum ib_qp_type; 0: unknown
 * @status: enum ib_wc_status
 * @delay_ns: out: how late its completion is
 * @hold_ns: out: for how long it is deferred; 0: not at all
 * @hold_posts: out: so many requests that are posted after it end that; 0: none does
 * @quiet: a send that completes only if it fails
 */
struct proto_work {
	u64 wr_id;
	u64 size;
	u64 ordinal;
	u64 delay_ns;
	u64 hold_ns;
	u32 qp;
	u32 qpn;
	u32 opcode;
	u32 type;
	u32 status;
	u32 hold_posts;
	u8 recv;
	u8 unknown;
	u8 quiet;
	u8 reserved[5];
};

/**
 * struct proto_failed_work - a work request that has failed on the device.
 * @peer: the number of the queue pair that it was for, 0: unknown
 * @request: sizes, keys, ordinals and age of the request as text, "": unknown
 * @counters: which counters of the device's ports have grown meanwhile, as text
 */
struct proto_failed_work {
	struct proto_work work;
	u32 peer;
	char request[PROTO_ARGS];
	char counters[PROTO_ARGS];
};

/** enum proto_cm_message - messages of the CM, by the number of their attribute: 0 is a REQ. */
enum proto_cm_message {
	PROTO_CM_REQ,
	PROTO_CM_REJ = 2,
	PROTO_CM_REP,
	PROTO_CM_RTU,
	PROTO_CM_DREQ,
	PROTO_CM_DREP,
	PROTO_CM_SIDR_REQ,
	PROTO_CM_SIDR_REP,
	PROTO_CM_MESSAGES,
};

/** enum proto_cm_act - what becomes of an event. */
enum proto_cm_act {
	PROTO_CM_SHOW,
	PROTO_CM_DROP, /* the program does not get it */
	PROTO_CM_REJECT, /* nor this, and the request is rejected */
};

/**
 * struct proto_cm - an event of the rdma_cm that a program on real devices is about to get.
 * @message: that has caused it, enum proto_cm_message
 * @event: enum rdma_cm_event_type
 * @qpn: of its identifier, 0: none
 * @act: enum proto_cm_act
 */
struct proto_cm {
	u32 message;
	u32 event;
	u32 qpn;
	u32 act;
};

/**
 * struct proto_event - an asynchronous event.
 * @type: enum ibv_event_type
 * @qpn: 0: not of a QP
 * @rule: EVENT_RAISED: the rule's number
 * @first: EVENT_RAISED: it is the first object of this process on which the rule has raised it
 */
struct proto_event {
	u32 type;
	u32 qpn;
	u32 rule;
	u32 first;
};

/**
 * struct proto_raise - an asynchronous event that a rule raises.
 * @rule: its number
 * @type: enum ibv_event_type
 * @qpn, @port: 0: all
 * @srq: handle of the SRQ, plus one; 0: all
 * @device: "": all
 */
struct proto_raise {
	u32 rule;
	u32 type;
	u32 qpn;
	u32 port;
	u32 srq;
	char device[32];
};

#endif
