/* SPDX-License-Identifier: MIT */
/**
 * DOC: a random walk through the engine's commands and queues, compared with a model.
 *
 * Theory of operation
 * -------------------
 * WALKERS clients of one HCA (tests/lib/engine/emu.h) create, use, misuse and destroy objects at
 * random. The model keeps what each must be: which objects exist, who refers to whom, what state a
 * QP is in, and which work was posted under which identity. It says beforehand what a command will
 * answer; after each step the HCA is audited (emulator/audit/audit.h) and the objects' reference
 * counts are compared with the model's. Completions must belong to what was posted, each once and
 * in order.
 *
 * One client, HOSTILE, also does what no shim would: it scribbles over its rings and indices, rings
 * the doorbells of others and sends random commands. The model does not predict its own work; the
 * others must not notice.
 *
 * All of it follows from one seed. A kind of object is an entry of the table @kinds.
 */
#ifndef TESTS_MODEL_WALK_H
#define TESTS_MODEL_WALK_H

#include "tests/lib/engine/emu.h"

#define WALKERS	  4
#define HOSTILE	  3
#define KIND_MAX  16 /* objects of a kind and client; more than the 10 at most that it makes */
#define MADE_MAX  10
#define USES_MAX  6
#define SRQ_MAX	  64 /* slots of a shared receive queue */
#define N_FILES	  3 /* that XRC domains may be named by */
#define RING_MAX  64 /* deepest work queue */
#define CQ_MAX	  256
#define AREA_USED (1u << 20)
#define TAGS_MAX  16 /* tags of an SRQ */
#define TM_IDS	  64 /* of tags, and of operations on them, that the model keeps */
#define DM_CTX	  1 /* what all pieces of device memory are exported by */
#define WANT_ANY  1 /* command(): no answer is predicted */

enum kind {
	K_PD,
	K_CQ,
	K_DM,
	K_MR,
	K_MW,
	K_XRCD, /* an open one */
	K_SRQ,
	K_AH,
	K_WQ,
	K_IND,
	K_CTR,
	K_QP,
	K_FLOW,
	K_OPEN, /* an XRC target that was opened */
	K_IMP, /* a PD that was imported */
	K_COUNT,
};

/** struct post - a work request as it was posted, by its index in the ring. */
struct post {
	u64 wr_id;
	bool signaled;
};

/* What QPs refer to, in struct obj's @uses. */
enum qp_use { Q_PD, Q_SCQ, Q_RCQ, Q_SRQ, Q_XRCD, Q_IND };

struct walk_qp {
	u32 qpn;
	u32 type;
	u32 state; /* as far as commands go; traffic may have taken it to ERR */
	u64 sq, rq;
	u32 sq_depth, rq_depth;
	u32 max_sge, max_rsge, max_inline, max_tso;
	u32 sq_stride, rq_stride;
	u32 sq_prod, rq_prod; /* posted */
	u32 sq_seen, rq_seen; /* completed */
	bool failed; /* an error completion of the send queue was seen */
	bool rq_failed;
	bool dirty; /* scribbled over: its work is not predicted */
	u32 qkey;
	u32 groups; /* multicast groups that it is a member of: bits */
	struct post sent[RING_MAX], recv[RING_MAX];
};

/** struct obj - what the model knows of an object. */
struct obj {
	enum kind kind;
	u32 client;
	u32 slot; /* in the model's table: rings have their places by it */
	bool live;
	u32 handle;
	u32 refs;
	struct obj *uses[USES_MAX];
	union {
		struct {
			u64 addr, iova, len;
			u32 access, key;
			bool fixed; /* no rereg: null, or of device memory */
		} mr;
		struct {
			u64 ring;
			u32 depth, cons;
			u32 half; /* which of its two places the ring has */
			bool dirty;
		} cq;
		struct {
			u64 ring;
			u32 depth, half, srqn, max_wr, prod, type;
			u64 posted[SRQ_MAX]; /* wr_id by slot; 0: free */
			/* Tag matching: what tags and operations may complete under. */
			u32 max_tags, tag_handle[TM_IDS], n_tags, n_ops, ops_seen;
			u64 tag[TM_IDS], op[TM_IDS];
		} srq;
		struct {
			u64 ctx; /* that it is exported by */
		} pd;
		struct {
			struct obj *pd; /* another client's; not counted by that */
		} imp;
		struct {
			u32 file;
		} xrcd;
		struct {
			u64 ring;
			u32 depth, state;
		} wq;
		struct {
			u32 points;
		} ctr;
		struct {
			u32 qpn;
			bool owned; /* its QP goes with it: the maker has gone */
		} open;
		struct walk_qp qp;
	};
};

struct walk {
	struct emu *m;
	u64 seed; /* as given */
	u64 rnd;
	u64 step;
	u64 next_id;
	u64 commands, refused, posted, polled, errors, deaths;
	u64 matched, segmented; /* messages that got their tag, large sends */
	u64 flushed, words; /* FLUSH and ATOMIC_WRITE that succeeded */
	struct obj obj[WALKERS][K_COUNT][KIND_MAX];
};

/**
 * struct kind_ops - a kind of object.
 * @max: how many a client may have
 * @fill: make a valid command for @o and note what it refers to. False: there is nothing that it
 *          could refer to.
 * @spoil: make a valid command one that must be refused. Return: how (-errno)
 * @created: the command was executed: take over what it gave
 * @destroyed: before a destruction that must succeed
 * @use: do something with a live one
 * @refs: the HCA's count of references to it; NULL where it keeps none
 */
struct kind_ops {
	const char *name;
	enum hca_table table;
	u32 create, destroy;
	int unknown; /* what the destruction of one that is not the client's answers */
	u32 weight; /* of creation, in relation to the others */
	u32 max;
	bool (*fill)(struct walk *w, struct obj *o, struct hca_cmd *cmd);
	int (*spoil)(struct walk *w, struct obj *o, struct hca_cmd *cmd);
	void (*created)(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
	void (*destroyed)(struct walk *w, struct obj *o);
	void (*use)(struct walk *w, struct obj *o);
	u32 (*refs)(const struct hca *hca, u32 handle);
};

extern const struct kind_ops kinds[K_COUNT];

/* --- walk_engine.c */

void fail(const struct walk *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/** pick() - a number below @n. */
u32 pick(struct walk *w, u32 n);
/** chance() - true once in @n times. */
bool chance(struct walk *w, u32 n);
/** any() - a live object of a client, or NULL. */
struct obj *any(struct walk *w, u32 client, enum kind kind);
/** bad_handle() - a handle that is not one of @client's objects of @kind. */
u32 bad_handle(struct walk *w, u32 client, enum kind kind);
/** command() - execute; its answer must be @want. Return: it. */
int command(struct walk *w, u32 client, struct hca_cmd *cmd, int want, const char *what);
/** use() - @o refers to @other from now on. */
void use(struct obj *o, u32 i, struct obj *other);
/** forget() - @o is no more. */
void forget(struct obj *o);
void *seg_at(struct walk *w, u32 client, u64 off);

/* --- walk_engine_obj.c */

/** cq_settled() - after some time, no event of a moderated CQ is overdue. */
void cq_settled(struct walk *w, const struct obj *o);

/* --- walk_engine_qp.c */

bool qp_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int qp_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void qp_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
void qp_destroyed(struct walk *w, struct obj *o);
/** qp_reset_queues() - nothing is posted, nothing has failed. */
void qp_reset_queues(struct walk *w, struct obj *o);
/** qp_drain() - what is in its CQs is compared while it can be told whose it is. */
void qp_drain(struct walk *w, struct obj *o);
/** qp_check() - a QP's state is the model's, or ERR where traffic may have taken it there. */
void qp_check(struct walk *w, struct obj *o);

/* --- walk_engine_move.c */

void qp_use(struct walk *w, struct obj *o);

/* --- walk_engine_states.c */

/** qp_move() - attributes of a move: which must be there and which may. False: no such move. */
bool qp_move(u32 type, u32 from, u32 to, u32 *required, u32 *optional);
/** qp_any_move() - all attributes that any move of the type knows. */
u32 qp_any_move(u32 type);
/** qp_has_sqe() - whether a send error leads to SQE. */
bool qp_has_sqe(u32 type);
/** qp_passed_over() - attributes that are neither needed nor minded. */
u32 qp_passed_over(u32 type);
void good_values(struct walk *w, struct hca_qp_attr *a);
/** bad_value() - spoil one of those in @mask. Return: how (-errno); 0: none was found. */
int bad_value(struct walk *w, struct hca_qp_attr *a, u32 mask);

/* --- walk_engine_shared.c: SRQs, XRC domains, address handles */

bool srq_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int srq_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void srq_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
void srq_destroyed(struct walk *w, struct obj *o);
void srq_use(struct walk *w, struct obj *o);
u32 srq_refs(const struct hca *hca, u32 handle);
/** struct queue_fields - what commands that create receive queues have in common. */
struct queue_fields {
	u32 *dev, *async_chan, *pd, *max_sge, *depth;
	u64 *ring;
};

/** spoil_queue() - one of them is what must be refused. Return: how (-errno). */
int spoil_queue(struct walk *w, const struct obj *o, const struct queue_fields *f);
bool xrcd_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int xrcd_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void xrcd_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
u32 xrcd_refs(const struct hca *hca, u32 handle);
bool ah_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int ah_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
bool open_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int open_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void open_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
void open_use(struct walk *w, struct obj *o);
/** inherit() - the target's owner goes: one of those who have it open is its owner from now on. */
void inherit(struct walk *w, u32 qpn);
/** good_av() - an address on the only port. */
void good_av(struct walk *w, struct hca_av *av);
/** spoil_av() - make it one that must be refused. Return: how (-errno). */
int spoil_av(struct walk *w, struct hca_av *av);

/* --- walk_engine_raw.c: WQs, tables of them, counters, flow rules */

bool wq_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int wq_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void wq_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
void wq_use(struct walk *w, struct obj *o);
/** wq_check() - a WQ's state is the model's, or ERR where a frame may have taken it there. */
void wq_check(struct walk *w, struct obj *o);
u32 wq_refs(const struct hca *hca, u32 handle);
bool ind_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int ind_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
u32 ind_refs(const struct hca *hca, u32 handle);
bool ctr_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int ctr_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void ctr_created(struct walk *w, struct obj *o, const struct hca_cmd *cmd);
void ctr_use(struct walk *w, struct obj *o);
u32 ctr_refs(const struct hca *hca, u32 handle);
bool flow_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int flow_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);

/* --- walk_engine_import.c: PDs of others */

bool imp_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd);
int imp_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd);
void imp_use(struct walk *w, struct obj *o);
void pd_destroyed(struct walk *w, struct obj *pd);
/** imp_owns() - whether a client has imported the PD with that handle. */
bool imp_owns(const struct walk *w, u32 client, u32 pd);
/** imp_lingering() - references that are there because something of theirs is in the PD. */
u32 imp_lingering(const struct hca *hca);
/** imp_leave() - the client dies: nothing of it is in others' PDs any more. */
void imp_leave(struct walk *w, u32 client);
/** imp_inherit() - the PD's owner has died: it goes, or is another's who has it. */
void imp_inherit(struct walk *w, struct obj *pd);

/* --- walk_engine_tm.c: tag matching */

/** tag_op() - an operation on the list of tags. */
void tag_op(struct walk *w, struct obj *srq);
/** tag_message() - make the request a message for one of the peer's tags. */
void tag_message(struct walk *w, struct obj *o, struct sq_wqe *q);
/** tag_check() - a completion of a tag, or of an operation, is of one that was posted. */
void tag_check(struct walk *w, struct obj *srq, const struct cqe *c);

/* --- walk_engine_post.c */

/** peer_of() - the object at the other end of a connection, if the model knows it. */
struct obj *peer_of(struct walk *w, const struct obj *o);

void post_send(struct walk *w, struct obj *o);
void post_recv(struct walk *w, struct obj *o);
/** cq_poll() - take what is in a CQ, at most @max, and compare it with what was posted. */
void cq_poll(struct walk *w, struct obj *o, u32 max);
/** some_sge() - a piece of memory under a key of the PD; sometimes what must be refused. */
struct wq_sge some_sge(struct walk *w, u32 client, const struct obj *pd, u32 max, u32 need);
u32 some_length(struct walk *w);
/** scribble() - what a hostile client does to its own segment. */
void scribble(struct walk *w, u32 client);

#endif
