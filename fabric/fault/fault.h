/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults on demand: rules as they are read, kept, matched and carried out.
 *
 * Theory of operation
 * -------------------
 * A rule is a line, `[NAME:] ACTION WORD...`, see rdmaemu-faults(7). One parser (parse.c) makes a
 * struct fault_rule of it, in the command, which says what is wrong with a line, and again in the fabric
 * process, which alone keeps rules (table.c) and evaluates them (match.c). A rule says three things:
 *
 *   where  struct fault_where: which packets, work requests, calls. All that is said must be so.
 *   when   struct fault_when: which of those that are there, in the order in which they come: `after`
 *	    passes over the first, `every` takes one of so many, `prob` some of them; `for` ends it. `at`
 *	    and `for` with a time are a window on the fabric's clock.
 *   what   enum fault_act and its arguments.
 *
 * What is looked at where is enum fault_on. Whoever has a packet, a call or a work request calls the
 * matcher of that kind, which counts and answers with the rule that hits, or NULL. Rules are asked in
 * the order in which they were added, and each counts on its own, also those behind one that has hit.
 *
 * Decisions of probability are a hash of the fabric's seed (or the rule's), the rule's ordinal, and what
 * names the packet: its connection, direction, PSN from the connection's first on, retransmission round
 * and opcode; never a shared stream of random numbers, so that other traffic changes nothing.
 *
 * The table, and all counters, are the fabric process's own; it has one thread, so there are no locks.
 * Adding and removing needs the engine token (ports are marked); asking does not.
 */
#ifndef FABRIC_FAULT_FAULT_H
#define FABRIC_FAULT_FAULT_H

#include "emulator/hca.h"

#define FAULT_RULES    256u /* at once */
#define FAULT_TEXT     512u /* of a line, with its NUL */
#define FAULT_NAME     40u
#define FAULT_PLACE    256u /* FILE:LINE */
#define FAULT_SCENARIO (256u << 10) /* bytes of a file */
#define FAULT_GROUPS   256u
#define FAULT_LIMITS   4u
#define FAULT_PROB_ONE BIT64(32)
#define FAULT_NEVER    (~0ULL)

/** enum fault_act - what a rule does. The word that it is written with is in fault_act_name(). */
enum fault_act {
	FA_NONE,
	/* to packets */
	FA_DROP, /* also loss */
	FA_CORRUPT,
	FA_DUPLICATE,
	FA_DELAY,
	FA_REORDER,
	FA_RATE,
	FA_RNR, /* the responder sends an RNR NAK instead of taking the request */
	FA_NAK,
	FA_REJECT, /* cm reject */
	FA_MRA, /* cm mra */
	FA_PARTITION,
	/* to calls, work requests, objects */
	FA_FAIL,
	FA_WC,
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

/** enum fault_on - what a rule is asked about. */
enum fault_on {
	FAULT_ON_WIRE, /* each packet: fault_match_wire() */
	FAULT_ON_CALL, /* each call: fault_match_call() */
	FAULT_ON_WR, /* each work request: fault_match_wr() */
	FAULT_ON_TIME, /* carried out once (link flap: again and again) at its time */
	FAULT_ON_STATE, /* holds as long as it is there and its window is open */
};

/** enum fault_op - wire opcodes: the BTH's, without the transport, and what rules tell apart beyond. */
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
	OP_ACK, /* a positive acknowledge */
	OP_ATOMIC_ACK,
	OP_CMP_SWAP,
	OP_FETCH_ADD,
	OP_SEND_LAST_INV = 22,
	OP_SEND_ONLY_INV,
	OP_ATOMIC_WRITE = 29,
	OP_NAK_SEQ = 32, /* the same opcode in the BTH as OP_ACK: what the AETH says */
	OP_NAK_INV_REQ,
	OP_NAK_ACCESS,
	OP_NAK_OP,
	OP_NAK_RNR,
	OP_MAD, /* a message of connection management; which: a bit of fault_where.mads */
	OP_NONE = 63,
};

#define OPS_ALL (~0ULL)
/* As a bit in fault_where.wr_ops: a receive. */
#define WR_RECV 31u

enum fault_dir {
	DIR_ANY,
	DIR_TX, /* what the end that is named sends */
	DIR_RX,
};

/** struct fault_range - from @min to @max; without @has anything is in it. */
struct fault_range {
	u64 min, max;
	bool has;
};

/**
 * struct fault_where - which packets, work requests, calls. Empty strings and zeros are: any.
 *
 * @node, @device, @port, @program, @pid, @qpn are about one end of a packet, the same for all of them:
 * either, unless @dir says which. @peer is the node at the other one.
 * @link: a node's name: what goes over its links; "A-B": what goes between these two, both ways, or with
 *	@dir DIR_TX from A to B
 * @types: a bit for each enum ib_qp_type, of the QP at either end; 0: any
 * @ops: a bit for each enum fault_op
 * @wr_ops: for work requests: a bit for each enum ib_wr_opcode, and WR_RECV; 0: any
 * @mads: bit a - MAD_REQ for each enum cm_attr; 0: any
 * @conn: ordinal of the connection; 0: any
 * @psn_rel: @psn counts from the connection's first
 * @round: 1 is the first time that a packet is sent
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
 * struct fault_when - which of those that match.
 * @after: so many pass first; nth=N is after=N-1 for=1
 * @every: then one of so many, the first of them; 0: each
 * @prob: of FAULT_PROB_ONE; FAULT_PROB_ONE: each
 * @count: hits it has at most; 0: no limit
 * @at_ns, @for_ns: a window, since the fabric's start; for_ns 0: no end. Without @has_at it begins when
 *	the rule is added.
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

/* Events of rdma_cm in fault_rule.event: enum cm_event_type + this. */
#define FAULT_EVENT_CM 64u

/** struct fault_what - the action's arguments, by action. */
struct fault_what {
	u64 delay_ns; /* delay; reorder: it waits no longer */
	u64 jitter_ns;
	u64 rate_bps;
	u64 period_ns; /* link flap */
	u32 dist; /* enum fault_dist */
	u32 gap; /* reorder: overtaken by so many */
	u32 timer; /* rnr: code + 1; 0: the QP's own */
	u32 syndrome; /* nak: enum ib_aeth */
	u32 reason; /* cm reject */
	u32 status; /* wc: IBV_WC_* */
	u32 event; /* event: enum ib_event, or FAULT_EVENT_CM + RDMA_CM_EVENT_* */
	u32 link; /* enum fault_link_what */
	s32 err; /* fail: errno */
	s32 signo; /* kill */
	bool has_reason;
	bool force; /* fail: whatever the man page says of errno */
	char call[48]; /* fail: the function's name */
	u32 call_id; /* and its enum call_id, when it has been checked */
	char groups[FAULT_GROUPS]; /* partition: "a,b|c|*" */
	char heal[FAULT_NAME]; /* name of the partition; "": all of them */
	u32 cq, srq; /* event: number + 1 of the object; 0: not said */
	u32 n_limits;
	struct {
		char name[24];
		u64 value;
	} limit[FAULT_LIMITS];
};

/**
 * struct fault_rule - a rule.
 * @id: ordinal in the fabric, from 1, never given again; 0: the place in the table is free
 * @name: how it is called; without a name of its own "fN", N being its id
 * @place: "FILE:LINE" of a scenario, or ""
 * @has: a bit for each enum fault_key that was said
 * @old_id: of the one that was removed from here last
 * @seen: packets, calls, ... that it was about
 * @hits: those that it was carried out on, or times that it was carried out
 * @from, @until: its window on the fabric's clock
 * @due: when it is to be carried out (again); FAULT_NEVER: not
 */
struct fault_rule {
	u32 id;
	u8 act; /* enum fault_act */
	u8 on; /* enum fault_on */
	u8 act_word; /* for fault_act_name() */
	bool triggered; /* FAULT_ON_TIME: by a packet, not by the time */
	bool waits; /* for the node that it is about */
	char name[FAULT_NAME];
	char text[FAULT_TEXT];
	char place[FAULT_PLACE];
	u64 has;
	struct fault_where where;
	struct fault_when when;
	struct fault_what what;

	u32 old_id;
	u64 seen;
	u64 hits;
	u64 from, until;
	u64 due;
	u32 phase; /* for who carries it out */
	u64 state;
};

/** struct fault_bad - what is wrong with a line: a word of it, and what was expected. */
struct fault_bad {
	char word[80];
	char expected[320];
};

/* --- parse.c: from words to rules ------------------------------------------------------ */

/**
 * fault_parse() - read a rule. Only its own fields are set; the table's are zero.
 * Return: 0, or -EINVAL with *bad.
 */
int fault_parse(struct fault_rule *r, const char *text, struct fault_bad *bad);
/** fault_refuse() - fill in *bad. Return: -EINVAL. */
int fault_refuse(struct fault_bad *bad, const char *word, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/**
 * fault_parse_lines() - the rules of a scenario: a line each, or several with ';' between; '#' begins a
 * comment. Calls @each for every rule, with its line; stops when that returns other than 0.
 * Return: what @each returned last; -EINVAL for a line that is too long, with *bad and *line.
 */
int fault_parse_lines(const char *text, size_t len, struct fault_bad *bad, u32 *line,
		      int (*each)(void *ctx, const char *rule, u32 line), void *ctx);

/* --- names.c ----------------------------------------------------------------------------- */

/** fault_act_name() - the word that a rule began with, e.g. "loss". */
const char *fault_act_name(const struct fault_rule *r);
/** fault_op_name() - of a wire opcode, as rules have it. */
const char *fault_op_name(u32 op);
/** fault_mad_name() - of an enum cm_attr. */
const char *fault_mad_name(u32 attr);
/**
 * fault_op_parse() - a wire opcode, an IBV_WR_* (with or without that), or a class of packets.
 * @ops, @wr_ops: receive bits. Return: whether there is one of that name.
 */
bool fault_op_parse(const char *name, u64 *ops, u32 *wr_ops);
bool fault_mad_parse(const char *name, u32 *bit);
bool fault_type_parse(const char *name, u32 *bits);
bool fault_errno_parse(const char *name, s32 *err);
bool fault_status_parse(const char *name, u32 *status);
bool fault_event_parse(const char *name, u32 *event);
bool fault_nak_parse(const char *name, u32 *syndrome);
/** fault_type_ops() - the wire opcodes that QPs of these types (bits) may send or get. */
u64 fault_type_ops(u32 types);
const char *fault_event_name(u32 event);

/* --- check.c ----------------------------------------------------------------------------- */

/**
 * fault_check() - whether it can ever match, and has all it needs; what it leaves open is filled in: which
 * packets an action is about.
 * Return: 0 or -EINVAL with *bad.
 */
int fault_check(struct fault_rule *r, struct fault_bad *bad);
/**
 * fault_check_fabric() - whether nodes, devices and ports that it names are there, or may come: nodes
 * are made when they are first named, unless a topology says which there are.
 */
int fault_check_fabric(const struct hca *hca, bool topology, const struct fault_rule *r,
		       struct fault_bad *bad);

/* --- table.c: the table, in the fabric process ----------------------------------------------- */

struct fabric;
struct conn;
struct json_object;
struct proto_msg;
struct fault_pkt;

#define FAULT_JOBS  16u /* requests that wait for the token */
#define FAULT_CALLS 32u /* entries of calls that do */
#define FAULT_FILES 64u /* scenarios that are remembered */

/** struct fault_job - a request to change rules. @conn: NULL: none. @text: a scenario, or NULL */
struct fault_job;

/**
 * struct faults - all rules.
 * @rule: in the order in which they were added; those with id 0 are free
 * @high: places that have been in use
 * @n, @n_on: rules there are; of each enum fault_on
 * @wire: some rule looks at packets, as tx.c does
 * @due: when the next of FAULT_ON_TIME is due; FAULT_NEVER: none
 * @stale: ports were marked without the token: paths are to be looked up again
 * @random: hits were decided by the seed
 * @file: hashes of the scenarios that were added
 * @call: calls that have failed, on their way to the journal
 */
struct faults {
	struct fault_rule rule[FAULT_RULES];
	u32 high;
	u32 n;
	u32 last_id;
	u32 n_on[FAULT_ON_STATE + 1];
	bool wire;
	bool random;
	bool stale;
	u64 due;
	u64 file[FAULT_FILES];
	u32 n_files;
	struct fault_job *job[FAULT_JOBS];
	u32 n_jobs;
	struct journal_entry call[FAULT_CALLS];
	u32 n_calls;
};

/** fault_table_make() - no rules. Return: 0 or -ENOMEM. */
int fault_table_make(struct fabric *f);
/**
 * fault_request() - PROTO_FAULT_ADD, _REMOVE, _CLEAR, which need the token.
 * @fd: the descriptor that came with it, or -1; stays the caller's
 * Return: -EINPROGRESS: answered later; else the answer, with m->fault.text saying what is wrong.
 */
int fault_request(struct fabric *f, struct conn *c, struct proto_msg *m, int fd);
/** fault_list_next() - PROTO_FAULT_NEXT: @m becomes the answer. Return: 0 or -ENOENT. */
int fault_list_next(const struct fabric *f, struct proto_msg *m);
/** fault_conn_closed() - a connection is closed. */
void fault_conn_closed(struct fabric *f, const struct conn *c);
/** fault_table_is_due() - whether there is something to do with the token. */
bool fault_table_is_due(const struct fabric *f);
/** fault_table_next_due() - when there will be. */
u64 fault_table_next_due(const struct fabric *f);
/** fault_table_work() - do it: requests, and rules whose time has come. Token held. */
void fault_table_work(struct fabric *f);
/** fault_list_memfd() - PROTO_FAULT_LIST, as @flags (enum proto_flags) say. Return: a memfd or -errno. */
int fault_list_memfd(struct fabric *f, u32 flags);
/** fault_list_json() - the same, as an object that is the caller's. */
struct json_object *fault_list_json(const struct fabric *f);
/** fault_node_added() - a node came: mark those of its ports that rules look at. No token needed. */
void fault_node_added(struct fabric *f);
/** fault_rule_find() - the rule of that name, or of that id where @name is "", or NULL. */
struct fault_rule *fault_rule_find(struct faults *t, const char *name, u32 id);
/**
 * fault_rule_insert() - a rule gets a free place in the table, which there is, with its ordinal, name and window. That is
 * all: whoever has such a rule looked at or carried out does the rest.
 */
struct fault_rule *fault_rule_insert(struct fabric *f, const struct fault_rule *new);
/**
 * fault_rule_text() - "NAME: TEXT (PLACE)" of a rule by id, also of one that was removed lately; "ID, which was
 * removed" when another has its place.
 */
const char *fault_rule_text(struct fabric *f, u32 rule);

/** fault_trigger_rules() - a packet passes: carry out what waits for such a one. Token held. */
void fault_trigger_rules(struct fabric *f, const struct fault_pkt *p);
/** fault_rule_set_due() - the rule is to be carried out (again) at @at, on the fabric's clock. */
void fault_rule_set_due(struct fabric *f, struct fault_rule *r, u64 at);

/* --- match.c ------------------------------------------------------------------------------- */

/** struct fault_end - one end of a packet. @client: + 1; 0: not known, or another fabric's */
struct fault_end {
	u32 node;
	u32 dev;
	u32 port;
	u32 qpn;
	u32 client;
};

/**
 * struct fault_pkt - a packet as rules see it.
 * @op: enum fault_op; @mad: enum cm_attr where it is OP_MAD
 * @types: a bit for the type of each end's QP
 * @conn: 0: of no connection
 * @rel: PSN from the connection's first, in the packet's direction (an answer has its request's)
 * @round: 1: for the first time
 */
struct fault_pkt {
	struct fault_end src, dst;
	u32 op;
	u32 mad;
	u32 types;
	u32 conn;
	u32 psn, rel;
	u32 round;
	u64 size;
};

#define FAULT_ACT(act) (1u << (act))
/* What is done to packets where they leave, and where they arrive. */
#define FAULT_ACTS_SEND                                                                            \
	(FAULT_ACT(FA_DROP) | FAULT_ACT(FA_CORRUPT) | FAULT_ACT(FA_DUPLICATE) |                    \
	 FAULT_ACT(FA_DELAY) | FAULT_ACT(FA_REORDER) | FAULT_ACT(FA_RATE))
#define FAULT_ACTS_ARRIVAL                                                                         \
	(FAULT_ACT(FA_RNR) | FAULT_ACT(FA_NAK) | FAULT_ACT(FA_REJECT) | FAULT_ACT(FA_MRA))

/**
 * fault_rule_is_on_pkt() - whether a packet is one that the rule is about, whatever it has counted so far.
 */
bool fault_rule_is_on_pkt(const struct fabric *f, const struct fault_rule *r,
			  const struct fault_pkt *p);
/**
 * fault_rule_count() - something that the rule is about has come: count it. @key: what names it, for decisions of
 * probability.
 * Return: whether the rule hits.
 */
bool fault_rule_count(struct fabric *f, struct fault_rule *r, u64 key);
/**
 * fault_match_wire() - the next rule that hits the packet, of the actions in @acts (FAULT_ACT()).
 * @at: 0 at first
 */
struct fault_rule *fault_match_wire(struct fabric *f, const struct fault_pkt *p, u32 acts, u32 *at);
/** fault_match_call() - client @client calls @call (enum call_id): the rule that makes it fail, or NULL. */
struct fault_rule *fault_match_call(struct fabric *f, u32 client, u32 call);
/** fault_match_wr() - a QP is about to begin a work request: the rule that makes it fail, or NULL. */
struct fault_rule *fault_match_wr(struct fabric *f, const struct hca_qp *qp, u32 opcode, u64 wr_id,
				  u64 size);
/** fault_rule_is_on_client() - whether node=, program= and pid= are that client's. */
bool fault_rule_is_on_client(const struct fabric *f, const struct fault_where *w, u32 client);
/** fault_rule_is_on_port() - whether node=, device= and port= are that port's; @port 0: one of the device's. */
bool fault_rule_is_on_port(const struct fabric *f, const struct fault_where *w, u32 dev, u32 port);
/** fault_rule_is_open() - whether the rule's window is open. */
bool fault_rule_is_open(const struct fabric *f, const struct fault_rule *r);
/** fault_rule_random() - a number that the seed, the rule and @key decide. @n: one of several */
u64 fault_rule_random(const struct fabric *f, const struct fault_rule *r, u64 key, u32 n);
/** fault_pkt_key() - what names a packet. */
u64 fault_pkt_key(const struct fault_pkt *p);

#endif
