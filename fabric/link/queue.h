/* SPDX-License-Identifier: MIT */
/**
 * DOC: the queue of bursts on their way over links.
 *
 * A flow is the bursts of one class from one QP to another; they stay in order. Flows that have
 * bursts lie in a heap, by the time at which their first burst arrives. All memory is reserved at
 * the start: entries, and an arena of payload per class. When either is used up, senders wait.
 *
 * There are two classes so that no flow waits for itself: requests, which may be held back at both
 * ends, and responses, which never are: a request is delivered only if there is room for its
 * response.
 *
 * The queue knows neither the clock nor the engine.
 */
#ifndef FABRIC_LINK_QUEUE_H
#define FABRIC_LINK_QUEUE_H

#include "emulator/burst.h"
#include "fabric/link/buddy.h"

#define LQ_ENTRIES 16384u
#define LQ_SPARE   4096u /* entries that are reserved for responses */
#define LQ_ARENA   (64ULL << 20) /* bytes per class */
#define LQ_FLOW	   4096u /* entries of one flow: the others are left for other flows */
#define LQ_BYTES   (LQ_ARENA / 4) /* payload of one flow */
#define LQ_NONE	   (~0u)

/* The client of a MEM_SEG whose offsets are in the queue's arena, in the fabric process. */
#define HCA_LINK 0xfffffffdu

enum lq_class {
	LQ_REQUEST,
	LQ_ANSWER,
	LQ_CLASSES,
};

/** struct lq_key - a flow. No padding: it is compared as bytes. */
struct lq_key {
	u32 src_dev, dst_dev;
	u32 src_qpn, dst_qpn;
	u8 src_port, dst_port;
	u8 cls; /* enum lq_class */
	u8 lane; /* bursts of other lanes than 0 may overtake */
};

/** struct lq_entry - a burst on its way, with all that it refers to. All times are fabric time. */
struct lq_entry {
	u32 next; /* of its flow, or the next free entry */
	u32 flow;
	u64 at; /* when it arrives */
	u64 left; /* when it has left its port; until then it counts as its flow's backlog */
	u32 wire; /* bytes on the wire */
	u32 unit; /* of its payload in its class's arena; LQ_NONE: no payload */
	u32 step; /* how far its delivery has got, for the function that delivers it */
	u32 tries; /* how often its delivery was tried */
	u32 corrupt; /* as struct link_fate */
	u32 verdict; /* id of the rule that matched it where it arrived, for later tries */
	u32 round; /* as struct link_fate */
	bool look; /* as struct link_fate */
	struct burst b;
	struct hca_mem mem;
	struct hca_av av; /* of a datagram, or of the connection of what leaves the host */
};

/** struct lq_flow - a flow that has bursts on their way. */
struct lq_flow {
	struct lq_key key;
	u64 at; /* when its first entry arrives, or is retried */
	u64 last_at; /* when its last entry arrives */
	u32 head, tail;
	u32 unsent; /* first entry that has not left; LQ_NONE: all have */
	u32 n; /* entries */
	u64 backlog; /* bytes of the entries that have not left */
	u64 bytes; /* of payload */
	u32 heap; /* position in the heap + 1; 0: the flow is free */
	u32 chain; /* next flow of its hash bucket, or next free one, + 1 */
};

/** struct linkq - the queue. */
struct linkq {
	struct lq_entry *entry; /* [LQ_ENTRIES] */
	struct lq_flow *flow; /* [LQ_ENTRIES] */
	u32 *heap; /* flows */
	u32 *hash; /* first flow of each bucket + 1 */
	u32 n_flows;
	u32 n_entries;
	u32 free_entry, free_flow;
	u32 dirty; /* most units in use at once since the arena was given back */
	struct buddy arena[LQ_CLASSES];
	u8 *mem; /* memory of the arenas */
};

/** linkq_payload() - bytes of payload; the length of a READ request is that of its response. */
static inline u64 linkq_payload(const struct burst *b)
{
	return b->mem ? b->len : 0;
}

/** linkq_make() - an empty queue. Return: 0 or -ENOMEM. */
int linkq_make(struct linkq *q);
void linkq_destroy(struct linkq *q);
/** linkq_key() - the flow that a burst belongs to. */
struct lq_key linkq_key(const struct burst *b);
/** linkq_flow() - the flow, if it has bursts on their way, or NULL. */
struct lq_flow *linkq_flow(const struct linkq *q, const struct lq_key *k);
/**
 * linkq_backlog() - bytes of a flow that have not left at @now.
 * @next: receives the time at which the first of them will have left
 */
u64 linkq_backlog(struct linkq *q, struct lq_flow *f, u64 now, u64 *next);
/** linkq_has_room() - whether linkq_get() would find room for @len bytes of a class. */
bool linkq_has_room(const struct linkq *q, const struct lq_key *k, u64 len);
/**
 * linkq_get() - allocate an entry, to be passed to linkq_put() or back to linkq_drop().
 * Its @b, @av and @mem are set; the caller copies the payload to @mem.
 * Return: NULL: there is no room.
 */
struct lq_entry *linkq_get(struct linkq *q, const struct lq_key *k, const struct burst *b);
/** linkq_last() - the last entry of a flow, or NULL. */
struct lq_entry *linkq_last(struct linkq *q, const struct lq_key *k);
/** linkq_put() - append an entry to its flow; it never overtakes. @left, @at and @wire are set. */
void linkq_put(struct linkq *q, const struct lq_key *k, struct lq_entry *e);
/** linkq_drop() - free an entry that is in no flow. */
void linkq_drop(struct linkq *q, struct lq_entry *e);
/** linkq_holds_qp() - whether anything is on its way to or from a QP. */
bool linkq_holds_qp(const struct linkq *q, u32 dev, u32 qpn);
/** linkq_each_device() - call @fn for both ends of each flow that has bursts on their way. */
void linkq_each_device(const struct linkq *q, void (*fn)(void *ctx, u32 dev), void *ctx);
/** linkq_next() - the time of the next arrival; ~0: the queue is empty. */
u64 linkq_next(const struct linkq *q);
/** linkq_due() - the entry that arrives first, if it has arrived by @now, or NULL. */
struct lq_entry *linkq_due(struct linkq *q, u64 now);
/** linkq_done() - remove the entry that linkq_due() has returned: it was delivered. */
void linkq_done(struct linkq *q, struct lq_entry *e);
/** linkq_arrive_at() - let an entry, the only one of its flow, arrive at @at. */
void linkq_arrive_at(struct linkq *q, struct lq_entry *e, u64 at);
/** linkq_retry_at() - retry an entry at @at; its flow waits for it. */
void linkq_retry_at(struct linkq *q, struct lq_entry *e, u64 at);

#endif
