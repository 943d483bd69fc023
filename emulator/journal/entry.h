/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal's entries: what went wrong, to whom, and why.
 *
 * Two rings in HCA memory. The errors have what programs are told of: error completions, asynchronous
 * events, failed connections; nothing else can push them out. The notices have what happens on the
 * way there and is repaired, as a rule: packets that were dropped, NAKs, packets sent again.
 *
 * Only what is rare writes here. Names are copied, so that a program which has gone is still named.
 */
#ifndef EMULATOR_JOURNAL_ENTRY_H
#define EMULATOR_JOURNAL_ENTRY_H

#include "emulator/types.h"

#define JOURNAL_ERRORS	4096u
#define JOURNAL_NOTICES 8192u
#define JOURNAL_NAME	32u
#define JOURNAL_NOBODY	(~0u)

enum journal_kind {
	/* errors */
	JRN_COMPLETION, /* status: enum ib_wc_status */
	JRN_EVENT, /* asynchronous; status: enum ib_event. Those that tell of no error are notices */
	JRN_CM, /* connection management; status: enum cm_event_type */
	JRN_CALL, /* a call that was made to fail; status: errno's value */
	/* notices */
	JRN_DROP, /* a burst that does not arrive; @who has sent it, @n packets */
	JRN_NAK, /* @who has answered a burst of @n packets with a NAK; status: enum ib_aeth */
	JRN_RETRY, /* @who sends again from @psn on */
	JRN_FLUSH, /* a QP was modified to ERR by its program; @n work requests are flushed */
	JRN_GONE, /* a client has ended with @n QPs connected */
	JRN_KINDS,
};

/** enum journal_cause - the reason. What @info says: */
enum journal_cause {
	CAUSE_NONE,
	CAUSE_LKEY, /* the key */
	CAUSE_LOCAL_LEN,
	CAUSE_NAK, /* syndrome */
	CAUSE_RETRY, /* retry_cnt */
	CAUSE_RNR_RETRY, /* rnr_retry */
	CAUSE_REQUEST_LEN, /* receive too small: its size */
	CAUSE_RKEY, /* the key */
	CAUSE_ACCESS_FLAGS, /* the QP's access flags */
	CAUSE_RD_ATOMIC, /* the limit */
	CAUSE_MISALIGNED, /* the address's low bits */
	CAUSE_MEM_FAULT, /* the key */
	CAUSE_CQ_OVERRUN, /* the CQ */
	CAUSE_BAD_WQE, /* the opcode */
	CAUSE_SRQN, /* the SRQ's number */
	CAUSE_AH, /* the address handle */
	CAUSE_WINDOW, /* the key */
	CAUSE_TAG, /* the tag's handle */
	CAUSE_CM_TIMEOUT, /* retries made */
	CAUSE_CM_REJECT, /* enum cm_reject */
	CAUSE_CM_SIDR, /* enum cm_sidr_status */
	CAUSE_CM_ERRNO, /* errno's value: no address, route or group */
	CAUSE_FAULT, /* a fault rule has done it: @rule */
	/* why a burst is dropped */
	CAUSE_PORT_DOWN, /* device << 8 | port */
	CAUSE_NO_PORT, /* nobody has the address */
	CAUSE_NO_QP, /* the number that was asked for */
	CAUSE_OTHER_PEER, /* the QP there is connected with another one: its number */
	CAUSE_PKEY, /* sender's << 16 | receiver's */
	CAUSE_QP_STATE, /* the receiver's enum ib_qp_state */
	CAUSE_QKEY, /* the key that came */
	CAUSE_NO_RECEIVE, /* none is posted */
	CAUSE_TOO_LONG, /* for a link on the way: bytes of payload in a packet */
	CAUSE_OUT_OF_SEQ, /* UC: the PSN that was expected */
	CAUSE_REFUSED, /* UC: rights, range or length: the rkey */
	CAUSE_NO_MAD, /* what came to QP 1 is no message of connection management */
	CAUSE_NO_WAY, /* no connection to the fabric that it is for */
	CAUSE_SENDER_GONE, /* the memory it was to come from has gone with its process */
	CAUSE_PACKET, /* a packet that was put in is malformed, or of no use: enum packet_fault */
	/* why something is sent again, and what a responder says */
	CAUSE_TIMEOUT, /* no acknowledge in time */
	CAUSE_SEQ_NAK, /* the peer lacks a packet */
	CAUSE_LOST_RESPONSE, /* an answer was skipped: IBTA 9.7.5.1.1, implied NAK */
	CAUSE_RNR, /* the peer has no receive */
	CAUSE_PSN, /* a packet was missing: the PSN that was expected */
	/* events */
	CAUSE_ADMIN, /* asked for by command, or a host's address has changed */
	CAUSE_MODIFIED, /* its program has modified it */
	CAUSE_LIMIT, /* an SRQ's limit was armed, and is reached */
	CAUSE_FIRST_PACKET, /* the first packet has come to a QP in RTR */
	CAUSE_DRAINED,
	CAUSE_LAST_WQE, /* a QP in ERR takes nothing more of its SRQ */
	CAUSE_COUNT,
};

/**
 * enum journal_why - what is known beyond the cause, found out when it happened: why there was no
 * answer, no receive, a NAK. @why_info says:
 */
enum journal_why {
	WHY_NONE,
	WHY_DROPPED, /* @n packets were dropped; @why_cause; the rule or its @info */
	WHY_NO_ADDRESS, /* nobody has the address that the QP sends to */
	WHY_OWN_PORT, /* its own port is down */
	WHY_PEER_PORT, /* the peer's is */
	WHY_PEER_ENDED, /* the peer's program has ended */
	WHY_PEER_GONE, /* the peer's program is there, and has no such QP */
	WHY_PEER_STATE, /* the peer is in this enum ib_qp_state */
	WHY_PEER_OTHER, /* the peer is connected with the QP of this number */
	WHY_PKEY, /* own << 16 | peer's */
	WHY_FAR, /* the peer is on another fabric, whose journal knows */
	WHY_SILENT, /* the peer should have answered; it is in this enum ib_qp_state */
	WHY_RECEIVES, /* @n RNR NAKs; receives that are posted now, ~0: not known */
	WHY_NAK, /* what the peer has found: @why_cause and its @info */
	WHY_COUNT,
};

/** enum journal_optype - what @opcode of an entry is. */
enum journal_optype {
	JOP_NONE,
	JOP_WR, /* enum ib_wr_opcode */
	JOP_RECV, /* a receive; no @opcode */
	JOP_WIRE, /* enum burst_op | enum burst_flags << 8 */
	JOP_MAD, /* enum cm_attr */
	JOP_CALL, /* a call of the program; no @opcode, its name is in @call */
};

/**
 * struct journal_who - one side, as it was then.
 * @name: program; "" where it is not known
 * @client: index, JOURNAL_NOBODY: none is known
 * @node: index, JOURNAL_NOBODY: not known
 * @qpn: 0: none
 * @run: the `rdmaemu run` that it was started by; 0: not told
 */
struct journal_who {
	char name[JOURNAL_NAME];
	s32 pid;
	u32 client;
	u32 node;
	u32 qpn;
	u32 run;
};

/**
 * struct journal_entry - one thing that happened.
 * @ts: fabric clock, ns
 * @seq: ordinal in its ring + 1; 0: being written
 * @nth: ordinal among the entries of both rings
 * @wr_id: of the work request, where @has_wr_id
 * @since: when it began, ns on the fabric clock: the packet was first sent, the first RNR NAK came;
 *	0: says nothing
 * @last: when the packet was sent last; 0: says nothing
 * @attempt: times that the packet was sent again before this
 * @n: by @kind and @why
 * @rule: number of the fault rule that did it, 0: none
 * @call: name of the function, where @optype is JOP_CALL
 */
struct journal_entry {
	u64 ts;
	u64 seq;
	u64 nth;
	u64 wr_id;
	u64 since;
	u64 last;
	struct journal_who who;
	struct journal_who peer;
	u32 dev;
	u32 conn; /* hca_qp.conn */
	u32 psn;
	u32 info; /* by cause */
	u32 why_info;
	u32 n;
	u32 rule;
	u16 opcode;
	u8 optype; /* enum journal_optype */
	u8 kind; /* enum journal_kind */
	u8 status; /* by kind */
	u8 cause; /* enum journal_cause */
	u8 why; /* enum journal_why */
	u8 why_cause; /* enum journal_cause */
	u8 qp_type; /* enum ib_qp_type; 0: none */
	u8 port; /* of @dev; 0: not about one */
	u8 has_psn;
	u8 has_wr_id;
	u32 attempt;
	char call[JOURNAL_NAME];
};

/**
 * struct hca_trouble - what a QP keeps for its entries in the journal. Only rare paths touch it.
 * @psn: packet that was sent again; @since: when it was first sent, about; @last: and last; @n: times
 * @rnr: RNR NAKs for it; @rnr_since: the first of them
 * @drop_psn: packet of which @drops were dropped: the oldest such one
 * @nak_psn: as responder: what was refused, and why
 * @peer: who was at the other end when the QP was connected
 */
struct hca_trouble {
	u64 since;
	u64 last;
	u64 rnr_since;
	u32 psn;
	u32 n;
	u32 rnr_psn;
	u32 rnr;
	u32 drop_psn;
	u32 drops;
	u32 drop_rule;
	u32 drop_info;
	u32 nak_psn;
	u32 nak_info;
	u32 nak_rule;
	u8 drop_cause;
	u8 nak_cause;
	u8 pad[2];
	struct journal_who peer;
};

#endif
