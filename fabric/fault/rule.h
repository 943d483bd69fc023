/* SPDX-License-Identifier: MIT */
/**
 * DOC: fault rules: how they are read, stored, matched and carried out.
 *
 * Theory of operation
 * -------------------
 * A rule is one line, `[NAME:] ACTION WORD...`, see rdmaemu-faults(7). One parser (parse.c) turns
 * it into a struct fault_rule. The command parses a line to report errors in it; the fabric process
 * parses it again, stores it (table.c) and evaluates it (match.c). A rule says three things:
 *
 *   where  struct fault_where: which packets, work requests or calls. All given keys must match.
 *   when   struct fault_when: which of the matches count, in the order in which they occur: `after`
 *	    skips the first, `every` takes one of so many, `prob` a fraction of them; `for` ends the
 *	    rule. `at`, and `for` with a time, are a window on the fabric clock.
 *   what   enum fault_act and its arguments.
 *
 * enum fault_on says at which point a rule is evaluated. The code that handles a packet, a call or
 * a work request calls the matcher of that kind. The matcher counts the event in every matching
 * rule and returns the rule that hits, or NULL. Rules are evaluated in the order in which they were
 * added. Each one counts on its own, whether or not an earlier one has hit.
 *
 * A probability is decided by a hash of the fabric's seed (or the rule's own), the rule's ordinal,
 * and the identity of the packet: its connection, direction, PSN relative to the connection's
 * first, retransmission round and opcode. There is no shared stream of random numbers, so other
 * traffic does not change the outcome.
 *
 * The table and all counters belong to the fabric process, which has one thread: there are no
 * locks. Adding and removing a rule needs the engine token, because ports are marked; matching does
 * not.
 */
#ifndef FABRIC_FAULT_RULE_H
#define FABRIC_FAULT_RULE_H

#include "emulator/hca.h"

#define FAULT_RULES    256u /* at the same time */
#define FAULT_TEXT     512u /* bytes of a line, with its NUL */
#define FAULT_NAME     40u
#define FAULT_PLACE    256u /* FILE:LINE */
#define FAULT_SCENARIO (256u << 10) /* bytes of a file */
#define FAULT_GROUPS   256u
#define FAULT_LIMITS   4u
#define FAULT_PROB_ONE BIT64(32)
#define FAULT_NEVER    (~0ULL)

/**
 * enum fault_act - what a rule does. fault_act_name() has the word that the rule was written with.
 */
enum fault_act {
	FA_NONE,
	/* to packets */
	FA_DROP, /* also loss */
	FA_CORRUPT,
	FA_DUPLICATE,
	FA_DELAY,
	FA_REORDER,
	FA_RATE,
	FA_RNR, /* the responder sends an RNR NAK instead of accepting the request */
	FA_NAK,
	FA_REJECT, /* cm reject */
	FA_MRA, /* cm mra */
	FA_PARTITION,
	/* to calls, work requests, objects */
	FA_FAIL,
	FA_WC,
	FA_HOLD, /* cq hold */
	FA_LATE, /* cq delay */
	FA_DEFER,
	FA_LIMIT,
	/* at a time */
	FA_EVENT,
	FA_LINK, /* down, up, flap */
	FA_HEAL,
	FA_KILL,
	FA_PAUSE,
	FA_RESUME,
	FA_COUNT,
};

/** enum fault_on - when a rule is evaluated. */
enum fault_on {
	FAULT_ON_WIRE, /* each packet: fault_match_wire() */
	FAULT_ON_CALL, /* each call: fault_match_call() */
	FAULT_ON_WR, /* each work request: fault_match_wr() */
	FAULT_ON_CQ, /* each time that completions may be withheld: hold.c */
	FAULT_ON_TIME, /* fired once (link flap: repeatedly) when due */
	FAULT_ON_STATE, /* in force while its window is open */
};

/**
 * enum fault_op - wire opcodes: those of the BTH, without the transport, and what rules distinguish
 * beyond them.
 */
enum fault_op {
	OP_SEND_FIRST,
	OP_SEND_MIDDLE,
	OP_SEND_LAST,
	OP_SEND_LAST_IMM,
	OP_SEND_ONLY,
	OP_SEND_ONLY_IMM,
	OP_WRITE_FIRST,
	OP_WRITE_MIDDLE,
	OP_WRITE_LAST,
	OP_WRITE_LAST_IMM,
	OP_WRITE_ONLY,
	OP_WRITE_ONLY_IMM,
	OP_READ_REQ,
	OP_READ_RESP_FIRST,
	OP_READ_RESP_MIDDLE,
	OP_READ_RESP_LAST,
	OP_READ_RESP_ONLY,
	OP_ACK, /* a positive ACK */
	OP_ATOMIC_ACK,
	OP_CMP_SWAP,
	OP_FETCH_ADD,
	OP_SEND_LAST_INV = 22,
	OP_SEND_ONLY_INV,
	OP_FLUSH = 28,
	OP_ATOMIC_WRITE,
	OP_NAK_SEQ = 32, /* the BTH opcode of OP_ACK, told apart by the AETH */
	OP_NAK_INV_REQ,
	OP_NAK_ACCESS,
	OP_NAK_OP,
	OP_NAK_RNR,
	OP_MAD, /* a CM message; fault_where.mads says which */
	OP_NONE = 63,
};

#define OPS_ALL (~0ULL)
/* Bit number in fault_where.wr_ops that stands for a receive. */
#define WR_RECV 31u

enum fault_dir {
	DIR_ANY,
	DIR_TX, /* sent by the named end */
	DIR_RX,
};

/** struct fault_range - from @min to @max, inclusive. Without @has every value is in the range. */
struct fault_range {
	u64 min, max;
	bool has;
};

/**
 * struct fault_where - which packets, work requests or calls. Empty strings and zeros match
 * anything.
 *
 * @node, @device, @port, @program, @pid and @qpn describe one end of a packet, the same end for all
 *	of them: either end, unless @dir says which. @peer is the node at the opposite end.
 * @link: a node's name: packets over its links; "A-B": packets between these two nodes, in both
 *	directions, or with @dir DIR_TX from A to B
 * @types: a bit for each enum ib_qp_type, of the QP at either end; 0: any
 * @ops: a bit for each enum fault_op
 * @wr_ops: for work requests: a bit for each enum ib_wr_opcode, and WR_RECV; 0: any
 * @mads: bit (attr - MAD_REQ) for each enum cm_attr; 0: any
 * @conn: ordinal of the connection; 0: any
 * @psn_rel: @psn is relative to the connection's first PSN
 * @round: 1 is the first transmission of a packet
 * @size: bytes of the packet's payload, or of the work request's message
 */
struct fault_where {
	char node[NODE_NAME_MAX + 1];
	char peer[NODE_NAME_MAX + 1];
	char link[2 * NODE_NAME_MAX + 2];
	char device[32];
	char program[32];
	u32 port;
	u32 pid;
	u32 qpn;
	u32 types;
	u8 dir; /* enum fault_dir */
	bool has_qpn;
	bool has_wr_id;
	bool psn_rel;
	u32 conn;
	u32 wr_ops;
	u32 mads;
	u64 ops;
	u64 wr_id;
	struct fault_range psn;
	struct fault_range round;
	struct fault_range size;
};

/**
 * struct fault_when - which of the matches count.
 * @after: skip this many first; nth=N is after=N-1 for=1
 * @every: then take one of this many, beginning with the first; 0: every one
 * @prob: in units of 1/FAULT_PROB_ONE; FAULT_PROB_ONE: always
 * @count: maximum number of hits; 0: no limit
 * @at_ns, @for_ns: a window relative to the fabric's start; for_ns 0: no end. Without @has_at it
 *	begins when the rule is added.
 */
struct fault_when {
	u64 after;
	u64 every;
	u64 prob;
	u64 count;
	u64 at_ns;
	u64 for_ns;
	bool has_at;
	bool has_nth;
	bool has_seed;
	u64 seed;
};

enum fault_dist {
	DIST_UNIFORM,
	DIST_NORMAL,
	DIST_PARETO,
};

enum fault_link_what {
	LINK_DOWN,
	LINK_UP,
	LINK_FLAP,
};

/* rdma_cm events in fault_rule.event: enum cm_event_type plus this offset. */
#define FAULT_EVENT_CM 64u

/** struct fault_what - the action's arguments, by action. */
struct fault_what {
	u64 delay_ns; /* delay; reorder: longest time the packet is held; cq hold: the CQ;
			* cq delay: how late; defer: for how long at most */
	u64 jitter_ns;
	u64 rate_bps;
	u64 period_ns; /* link flap */
	u32 dist; /* enum fault_dist */
	u32 gap; /* reorder: packets that overtake it */
	u32 posts; /* defer: until so many more were posted; 0: does not matter */
	u32 timer; /* rnr: code + 1; 0: the QP's own */
	u32 syndrome; /* nak: enum ib_aeth */
	u32 reason; /* cm reject */
	u32 status; /* wc: IBV_WC_* */
	u32 event; /* event: enum ib_event, or FAULT_EVENT_CM + RDMA_CM_EVENT_* */
	u32 link; /* enum fault_link_what */
	s32 err; /* fail: errno */
	s32 signo; /* kill */
	bool has_reason;
	bool force; /* fail: accept an errno the man page does not list */
	bool must_fire; /* a run at whose end it has not hit fails */
	char call[48]; /* fail: the function's name */
	u32 call_id; /* its enum call_id, set by the check */
	char groups[FAULT_GROUPS]; /* partition: "a,b|c|*" */
	char heal[FAULT_NAME]; /* name of the partition; "": all of them */
	u32 cq, srq; /* event, cq hold: number of the object + 1; 0: not given */
	u32 n_limits;
	struct {
		char name[24];
		u64 value;
	} limit[FAULT_LIMITS];
};

/**
 * struct fault_rule - a rule.
 * @id: ordinal in the fabric, from 1, never reused; 0: the table slot is free
 * @name: its name; "fN" with N its id, if the line gave none
 * @place: "FILE:LINE" of a scenario, or ""
 * @has: a bit for each enum fault_key that was given
 * @old_id: id of the rule that was last removed from this slot
 * @seen: packets, calls, ... that matched
 * @hits: how many of them it acted on, or how often it fired
 * @from, @until: its window on the fabric clock
 * @due: when it fires next; FAULT_NEVER: it does not
 */
struct fault_rule {
	u32 id;
	u8 act; /* enum fault_act */
	u8 on; /* enum fault_on */
	u8 act_word; /* for fault_act_name() */
	bool triggered; /* FAULT_ON_TIME: fired by a packet, not by the clock */
	bool waits; /* until its node exists */
	char name[FAULT_NAME];
	char text[FAULT_TEXT];
	char place[FAULT_PLACE];
	u64 has;
	struct fault_where where;
	struct fault_when when;
	struct fault_what what;

	u64 scenario; /* hash of the file that it comes from; 0: none */
	bool of_run; /* it ends with the runs that use the scenario */
	bool ended; /* and they have ended: it is removed when the token is free */
	u32 old_id;
	u64 seen;
	u64 hits;
	u64 from, until;
	u64 due;
	u32 phase; /* private to the action */
	u64 state;
};

/** struct fault_bad - what is wrong with a line: the offending word, and what was expected. */
struct fault_bad {
	char word[80];
	char expected[320];
};

#endif
