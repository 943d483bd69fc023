/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal's entries: what went wrong, for which program, and why.
 *
 * There are two rings in HCA memory. The ring of errors has what programs see: error completions,
 * asynchronous events, failed connections; only newer errors can push them out. The ring of notices
 * has what happens on the way and is usually repaired: dropped packets, NAKs, retransmissions.
 *
 * Only rare branches write here. Names are copied, so that an entry still names a program that has
 * ended.
 */
#ifndef EMULATOR_JOURNAL_ENTRY_H
#define EMULATOR_JOURNAL_ENTRY_H

#include "emulator/types.h"

#define JOURNAL_ERRORS	4096u
#define JOURNAL_NOTICES 8192u
#define JOURNAL_NAME	32u
#define JOURNAL_ARGS	128u
#define JOURNAL_NOBODY	(~0u)

enum journal_kind {
	/* errors */
	JRN_COMPLETION, /* status: enum ib_wc_status */
	JRN_EVENT, /* status: enum ib_event; some are notices: journal_is_error() */
	JRN_CM, /* connection management; status: enum cm_event_type */
	JRN_CALL, /* a call that failed, by a fault rule or a real device; status: errno */
	/* notices */
	JRN_DROP, /* @who has sent a burst of @n packets that is dropped */
	JRN_NAK, /* @who answers a burst of @n packets with a NAK; status: enum ib_aeth */
	JRN_RETRY, /* @who retransmits from @psn on */
	JRN_FLUSH, /* a program moved a QP to ERR; @n work requests flushed */
	JRN_GONE, /* a client has ended with @n connected QPs */
	JRN_UNSEEN, /* a program on a real device uses a QP past verbs */
	JRN_AMBIGUOUS, /* rdma_cm uses a real device, which has an address of port @port as well */
	JRN_KINDS,
};

/** enum journal_cause - the cause. The comments give the meaning of @info: */
enum journal_cause {
	CAUSE_NONE,
	CAUSE_LKEY, /* the key */
	CAUSE_LOCAL_LEN,
	CAUSE_NAK, /* syndrome */
	CAUSE_RETRY, /* retry_cnt */
	CAUSE_RETRY_NAK, /* retry_cnt, used up when a PSN sequence NAK came */
	CAUSE_RETRY_RESPONSE, /* retry_cnt, used up when a response was skipped */
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
	CAUSE_FAULT, /* @rule is the fault rule */
	/* why a burst is dropped */
	CAUSE_PORT_DOWN, /* device << 8 | port */
	CAUSE_NO_PORT, /* no port has the address */
	CAUSE_NO_QP, /* the destination QP number */
	CAUSE_OTHER_PEER, /* the number of the QP that it is connected to */
	CAUSE_PKEY, /* sender's << 16 | receiver's */
	CAUSE_QP_STATE, /* the receiver's enum ib_qp_state */
	CAUSE_QKEY, /* the key of the packet */
	CAUSE_NO_RECEIVE, /* no receive is posted */
	CAUSE_TOO_LONG, /* for a link on the path: payload bytes per packet */
	CAUSE_OUT_OF_SEQ, /* UC: the expected PSN */
	CAUSE_REFUSED, /* UC: rights, range or length: the rkey */
	CAUSE_NO_MAD, /* not a CM message, on QP 1 */
	CAUSE_NO_WAY, /* no connection to the destination fabric */
	CAUSE_SENDER_GONE, /* the sending process has ended, and its memory with it */
	CAUSE_SOCKET, /* errno with which a wire's socket has refused it */
	CAUSE_PACKET, /* an injected packet is malformed or unusable: enum packet_fault */
	/* reasons of retransmissions and of the responder's answers */
	CAUSE_TIMEOUT, /* no ACK in time */
	CAUSE_SEQ_NAK, /* the peer lacks a packet */
	CAUSE_LOST_RESPONSE, /* a response was skipped: IBTA 9.7.5.1.1, implied NAK */
	CAUSE_RNR, /* the peer has no receive posted */
	CAUSE_PSN, /* a packet is missing: the expected PSN */
	/* events */
	CAUSE_ADMIN, /* by a command, or the host's address has changed */
	CAUSE_MODIFIED, /* its program has modified it */
	CAUSE_LIMIT, /* an armed SRQ limit was reached */
	CAUSE_FIRST_PACKET, /* the first packet has arrived at a QP in RTR */
	CAUSE_DRAINED,
	CAUSE_LAST_WQE, /* a QP in ERR takes no more receives of its SRQ */
	CAUSE_COUNT,
};

/**
 * enum journal_why - what led to the cause, found out when it happened: why there was no answer, no
 * receive, a NAK. The comments give the meaning of @why_info:
 */
enum journal_why {
	WHY_NONE,
	WHY_DROPPED, /* @n packets; @why_cause; the rule or the cause's @info */
	WHY_NO_ADDRESS, /* no port has the address that the QP sends to */
	WHY_OWN_PORT, /* its own port is down */
	WHY_PEER_PORT, /* the peer's port is down */
	WHY_PEER_ENDED, /* the peer's program has ended */
	WHY_PEER_GONE, /* the peer's program lives, but has no such QP */
	WHY_PEER_STATE, /* the peer's enum ib_qp_state */
	WHY_PEER_OTHER, /* the number of the QP that the peer is connected to */
	WHY_PKEY, /* own << 16 | peer's */
	WHY_FAR, /* the peer is on another fabric; see that journal */
	WHY_SILENT, /* the peer could answer; its enum ib_qp_state */
	WHY_RECEIVES, /* after @n RNR NAKs; receives posted now, ~0: unknown */
	WHY_NAK, /* the peer's error: @why_cause and its @info */
	WHY_COUNT,
};

/** enum key_fault - which check refused a memory key, or an address. */
enum key_fault {
	KEY_FINE,
	KEY_UNKNOWN, /* no region and no window has it */
	KEY_OTHER_PD, /* its region is of another PD */
	KEY_OTHER_QP, /* a type 2 window, bound for another QP */
	KEY_KIND, /* a window's key for local memory, or a null region's for a peer */
	KEY_RIGHT, /* the region lacks a right */
	KEY_RANGE, /* the region has not all of the bytes */
	KEY_OWNER, /* regions of two processes in one list */
	KEY_ALIGNMENT, /* @va is not aligned; @key has its low bits */
};

/**
 * struct journal_key - a refused key.
 * @va, @len: the bytes that the request names; @need: the rights, enum ib_access
 * @fault: enum key_fault
 * @near_key, @near_addr, @near_len: the region that the key is of; for KEY_UNKNOWN the region of
 *	the PD that is nearest to @va; near_key 0: the PD has none
 * @access: the rights of that region
 */
struct journal_key {
	u64 va;
	u64 len;
	u64 near_addr;
	u64 near_len;
	u32 key;
	u32 near_key;
	u32 access;
	u16 need;
	u8 fault;
	u8 pad;
};

/** enum journal_optype - the meaning of an entry's @opcode. */
enum journal_optype {
	JOP_NONE,
	JOP_WR, /* enum ib_wr_opcode */
	JOP_RECV, /* a receive; no @opcode */
	JOP_WIRE, /* enum burst_op | enum burst_flags << 8 */
	JOP_MAD, /* enum cm_attr */
	JOP_CALL, /* a library call; no @opcode, the name is in @call */
};

/**
 * struct journal_who - one side, as it was at that time.
 * @name: program; "" if unknown
 * @client: index, JOURNAL_NOBODY: unknown
 * @node: index, JOURNAL_NOBODY: unknown
 * @qpn: 0: none
 * @run: the `rdmaemu run` that started it; 0: unknown
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
 * struct journal_entry - one entry.
 * @ts: fabric clock, ns
 * @seq: ordinal in its ring + 1; 0: being written
 * @nth: ordinal among the entries of both rings
 * @wr_id: of the work request, if @has_wr_id
 * @since: when it began, ns on the fabric clock: first transmission of the packet, first RNR NAK;
 *	0: unknown
 * @last: the last transmission of the packet; 0: unknown
 * @attempt: earlier retransmissions of the packet
 * @n: by @kind and @why
 * @rule: number of the fault rule that caused it, 0: none
 * @key: the key that was refused, by this side or, with WHY_NAK, by the peer
 * @more: further entries like this one, which it counts; @until: time of the last of them
 * @counted: hca.flood_seq when it counted the last of them
 * @counted_in: 0, or how far before this entry is the one that counts it
 * @call: name of the function, if @optype is JOP_CALL
 * @args: the arguments of the call, or what is known of the work request; "": unknown
 * @counters: which counters of a real device's ports have grown meanwhile
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
	u8 port; /* of @dev; 0: none */
	u8 has_psn;
	u8 has_wr_id;
	u32 attempt;
	u32 more;
	u32 counted_in;
	u64 until;
	u64 counted;
	struct journal_key key;
	char call[JOURNAL_NAME];
	char args[JOURNAL_ARGS];
	char counters[JOURNAL_ARGS];
};

/**
 * struct hca_trouble - what a QP remembers for its journal entries. Only rare branches use it.
 * @psn: the retransmitted packet; @since: its first transmission, approximately; @last: the last
 *	one; @n: retransmissions
 * @rnr: RNR NAKs for @rnr_psn; @rnr_since: the first of them
 * @drop_psn: the oldest packet that was dropped, @drops times
 * @nak_psn: as responder: the refused packet, and why; @nak_key: if a key was the reason
 * @peer: the peer when the QP was connected
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
	struct journal_key nak_key;
	struct journal_who peer;
};

#endif
