/* SPDX-License-Identifier: MIT */
/**
 * DOC: the queue of what is on its way over links.
 *
 * Theory of operation
 * -------------------
 * A flow is what goes from one QP to another in one direction and of one class; its bursts stay in
 * order. Flows that have something lie in a heap by the time at which their first burst arrives. All
 * memory is there from the start: entries, and an arena of payload per class. When either is used up,
 * who sends has to wait.
 *
 * There are two classes so that nothing waits for itself: requests, which may be held back at both
 * ends, and what answers them, which never is: a request arrives only when there is room for its
 * answer.
 *
 * The queue knows of no clock and no engine.
 */
#ifndef FABRIC_LINK_QUEUE_H
#define FABRIC_LINK_QUEUE_H

#include "emulator/burst.h"
#include "fabric/link/buddy.h"

#define LQ_ENTRIES 16384u
#define LQ_SPARE   4096u /* of them, for answers */
#define LQ_ARENA   (64ULL << 20) /* of each class */
#define LQ_FLOW	   4096u /* entries of one flow: others want some, too */
#define LQ_BYTES   (LQ_ARENA / 4) /* and its payload */
#define LQ_NONE	   (~0u)

/* As the client of a MEM_SEG: offsets in the queue's arena, in the fabric process. */
#define HCA_LINK 0xfffffffdu

enum lq_class {
	LQ_REQUEST,
	LQ_ANSWER,
	LQ_CLASSES,
};

/** struct lq_key - a flow. No padding. */
struct lq_key {
	u32 src_dev, dst_dev;
	u32 src_qpn, dst_qpn;
	u8 src_port, dst_port;
	u8 cls; /* enum lq_class */
	u8 lane; /* 0; others where bursts may overtake each other */
};

/**
 * struct lq_entry - a burst under way, with all that it refers to.
 * @at: when it arrives
 * @left: when it has left its port: until then it counts as its flow's backlog
 * @wire: bytes on the wire
 * @unit: of its payload in its class's arena; LQ_NONE: none
 * @step: for whom delivers it: how far it has got
 * @corrupt, @look, @round: see struct link_fate; @verdict: what the look said, for later tries
 */
struct lq_entry {
	u32 next; /* of its flow, or free */
	u32 flow;
	u64 at;
	u64 left;
	u32 wire;
	u32 unit;
	u32 step;
	u32 tries;
	u32 corrupt;
	u32 verdict;
	u32 round;
	bool look;
	struct burst b;
	struct hca_mem mem;
	struct hca_av av;
};

/**
 * struct lq_flow - see above.
 * @at: when its first entry arrives, or is tried again
 * @unsent: first entry that has not left; LQ_NONE: all have
 * @backlog: bytes of those
 * @heap: its place + 1; 0: it is free
 */
struct lq_flow {
	struct lq_key key;
	u64 at;
	u64 last_at;
	u32 head, tail, unsent;
	u32 n;
	u64 backlog;
	u64 bytes; /* of payload */
	u32 heap;
	u32 chain; /* of its hash, or free: next + 1 */
};

struct linkq {
	struct lq_entry *entry; /* [LQ_ENTRIES] */
	struct lq_flow *flow; /* [LQ_ENTRIES] */
	u32 *heap; /* flows */
	u32 *hash; /* first flow + 1 */
	u32 n_flows;
	u32 n_entries;
	u32 free_entry, free_flow;
	u32 dirty; /* units that were in use at once since the arena was given back */
	struct buddy arena[LQ_CLASSES];
	u8 *mem; /* the arenas' */
};

/** linkq_payload() - bytes that a burst has with it; a READ request's length is that of its answer. */
static inline u64 linkq_payload(const struct burst *b)
{
	return b->mem ? b->len : 0;
}

/** linkq_make() - an empty queue. Return: 0 or -ENOMEM. */
int linkq_make(struct linkq *q);
void linkq_destroy(struct linkq *q);
/** linkq_key() - the flow that a burst belongs to. */
struct lq_key linkq_key(const struct burst *b);
/** linkq_flow() - the flow, if it has anything under way, or NULL. */
struct lq_flow *linkq_flow(const struct linkq *q, const struct lq_key *k);
/**
 * linkq_backlog() - bytes of a flow that have not left at @now.
 * @next: when the first of them will have
 */
u64 linkq_backlog(struct linkq *q, struct lq_flow *f, u64 now, u64 *next);
/** linkq_has_room() - whether linkq_get() would find room for a burst of a class with @len bytes. */
bool linkq_has_room(const struct linkq *q, const struct lq_key *k, u64 len);
/**
 * linkq_get() - room for a burst, to be given to linkq_put(), or back with linkq_drop().
 * Its @b, @av and @mem are set; the payload is to be copied to @mem.
 * Return: NULL when there is none.
 */
struct lq_entry *linkq_get(struct linkq *q, const struct lq_key *k, const struct burst *b);
/** linkq_last() - the entry of a flow that was put last, or NULL. */
struct lq_entry *linkq_last(struct linkq *q, const struct lq_key *k);
/** linkq_put() - queue it, at the end of its flow; it never overtakes. @left, @at, @wire are set. */
void linkq_put(struct linkq *q, const struct lq_key *k, struct lq_entry *e);
void linkq_drop(struct linkq *q, struct lq_entry *e);
/** linkq_holds_qp() - whether anything is on its way to or from a QP. */
bool linkq_holds_qp(const struct linkq *q, u32 dev, u32 qpn);
/** linkq_next() - when something arrives next; ~0: nothing is under way. */
u64 linkq_next(const struct linkq *q);
/** linkq_due() - the entry that arrives first, if it has by @now, or NULL. */
struct lq_entry *linkq_due(struct linkq *q, u64 now);
/** linkq_done() - what linkq_due() returned has arrived. */
void linkq_done(struct linkq *q, struct lq_entry *e);
/** linkq_hasten() - it arrives at @at; it is the only one of its flow. */
void linkq_hasten(struct linkq *q, struct lq_entry *e, u64 at);
/** linkq_again() - it is to be offered again at @at; what comes behind it in its flow waits. */
void linkq_again(struct linkq *q, struct lq_entry *e, u64 at);

#endif
