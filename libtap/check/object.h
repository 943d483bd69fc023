/* SPDX-License-Identifier: MIT */
/**
 * DOC: the checker: what it keeps of the program's objects.
 *
 * Theory of operation
 * -------------------
 * The checker is a user of the tap (libtap/tap.h). It keeps a model of what the program knows:
 * which work requests are outstanding until it polls their completions, which CQ events it has to
 * acknowledge, whether it has polled a CQ since it armed it. Where the model becomes uncertain,
 * because completions cannot be assigned or a queue is deeper than its ring, it says nothing more
 * about that queue.
 *
 * The files in layers; each uses only those before it:
 *  - stack.c: stacks of the program
 *  - report.c: reports
 *  - object.c: the entries of objects, and objects that exist at the end
 *  - thread.c: objects that one thread may use; fork.c: objects of a parent process
 *  - guard.c, guard_report.c: pages that the CPU must not touch; watch.c: those it must ask for
 *  - memory.c: regions, also those deregistered lately
 *  - queue.c: queues of outstanding work requests
 *  - asked.c: what it has asked for
 *  - board.c: queue pairs of other processes
 *  - peer.c: how those of two connected queue pairs fit
 *  - race.c: requests to the same remote memory; rights.c: rights that they need
 *  - request.c: mistakes that a work request shows when it is posted
 *  - buffer.c: memory that they own
 *  - shared_queue.c: receives of SRQs
 *  - performance.c: habits that cost speed
 *  - post.c: posting them
 *  - completion.c: their completions; field.c: fields of failed ones
 *  - ending.c: destroying what outstanding requests use
 *  - event.c: events of CQs
 *  - wait.c: waits for them
 *  - modify.c: why ibv_modify_qp() fails
 *  - identifier.c: identifiers of the rdma_cm
 *  - attribute.c: attributes that it takes, and that do not fit
 *  - user.c: the hooks of the tap
 */
#ifndef LIBTAP_CHECK_OBJECT_H
#define LIBTAP_CHECK_OBJECT_H

#include "libtap/check/report.h"
#include "libtap/tap.h"

#include <pthread.h>

struct vnames; /* traces/calls/desc.h */
struct board_qp; /* board.h */
struct check_shared; /* shared_queue.c */

#define CHECK_SGES  4u /* of a work request, that are kept */
#define CHECK_DEPTH 8192u /* of a queue, that is followed */

/** enum check_guardable - which requests for memory may have guards. */
enum check_guardable {
	CHECK_UNGUARDED,
	CHECK_GUARDS_SENDS, /* shared memory */
	CHECK_GUARDS_SHARED, /* all requests: shared memory that the device reaches by itself */
	CHECK_GUARDS_ALL,
};

/**
 * struct check_wr - an outstanding work request.
 * @stack: who posted it
 * @is_read: a READ or atomic, which writes to @sge
 * @mr: ordinals of the regions of @sge, 0: none; @guardable: of these
 * @guard: entries of guard.c, 0: none
 * @hash: of what it reads, if it is @hashed
 * @ah: of a datagram; @ah_ord: its ordinal, 0: none
 * @bytes: of all its data segments
 * @access: its number on the board, 0: none
 */
struct check_wr {
	u64 wr_id;
	check_stack stack;
	u32 opcode; /* enum ibv_wr_opcode, of sends */
	bool signaled;
	bool is_read;
	u8 n_sge;
	struct ibv_sge sge[CHECK_SGES];
	u32 mr[CHECK_SGES];
	u8 guardable[CHECK_SGES]; /* enum check_guardable */
	u16 guard[CHECK_SGES];
	u64 raddr;
	u32 rkey;
	u32 ah_ord;
	u64 bytes;
	u64 access;
	const struct ibv_ah *ah;
	bool hashed;
	u64 hash;
};

/**
 * struct check_queue - a send or receive queue.
 * @cap: requests that it holds, as the library says
 * @depth: entries of @ring, which also holds requests until they are refused
 * @head: the oldest of @n entries of @ring; @n_signaled of them are signaled, @n_reads are READs or
 *	atomics
 * @pushed: number of all that were ever posted, also refused ones
 * @batch: the newest entries, of the current batch of ibv_wr_*(); @batch_fence: of the last one
 * @lost: which requests are outstanding is not known
 * @failed: status of the first failed completion that was polled, at @failed_stack; requests posted
 *	since then: @posts_after
 */
struct check_queue {
	struct check_wr *ring;
	u32 cap;
	u32 depth;
	u64 pushed;
	u32 head;
	u32 n;
	u32 n_signaled;
	u32 n_reads;
	u32 batch;
	bool batch_fence;
	bool lost;
	enum ibv_wc_status failed;
	check_stack failed_stack;
	u32 posts_after;
};

/**
 * struct check_performance - what a queue pair has seen: @signaled requests, one after the other,
 *	while others were outstanding; @small requests that would be inline; @unaligned segments
 * @used: it has posted a send request, and counts among the queue pairs in use
 */
struct check_performance {
	u32 signaled;
	u32 small;
	u32 unaligned;
	bool used;
};

/**
 * struct check_imm - immediate data of a queue pair. @small: number of values, each other than the
 *	one before and than 0, that are small in the CPU's byte order; @latest: of them
 * @others: it has had larger ones
 */
struct check_imm {
	u32 small;
	u32 latest;
	bool others;
};

/**
 * struct check_lengths - of the messages of a queue pair. @latest: of the one before
 * @varies: it was another one at some time
 */
struct check_lengths {
	u32 latest;
	bool varies;
};

/**
 * struct check_counts - messages of a queue pair. @receives: that were ever posted; @messages: that
 *	were ever sent
 * @arrived: whose receives were polled, BOARD_ALL: nobody counts them
 */
struct check_counts {
	u64 receives;
	u64 messages;
	u64 arrived;
};

/**
 * struct check_qp - @sig_all, @cap: as created; @shared: with an SRQ. @lock protects the queues.
 * @asked_inline: max_inline_data that the program has asked for
 * @place: on the board; @peer_place: of its peer, if known
 * @counts: those of @place, or @own_counts if it has none
 * @sought: a message has arrived before it had a place
 * @sends_ready, @receives_ready: it was in a state that takes such requests
 */
struct check_qp {
	pthread_mutex_t lock;
	struct check_queue sq;
	struct check_queue rq;
	bool sig_all;
	bool shared;
	bool sends_ready;
	bool receives_ready;
	struct ibv_qp_cap cap;
	u32 asked_inline;
	struct board_qp *place;
	const struct board_qp *peer_place;
	struct check_counts *counts;
	struct check_counts own_counts;
	bool sought;
	struct check_performance performance;
	struct check_imm imm;
	struct check_lengths lengths;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
};

/**
 * struct check_cq - @outstanding: requests of all queues that may make a completion; @sends: those
 *	that are signaled sends
 * @depth: entries of all queues that complete in it; @shared: queue pairs whose receives are those
 *	of an SRQ
 * @exceeded: more were outstanding than it has entries
 * @events: taken and not acknowledged, the latest at @event_stack
 * @polled: since its creation
 * @armed: by the thread of this number that has not emptied it since, at @arm_stack, after
 *	@arm_posted posts of sends; @arm_sends: while sends were outstanding
 * @was_armed: since its creation
 * @contended: polls that began while another thread polled it
 * @hidden: the undefined fields of its current entry, as an extended CQ
 */
struct check_cq {
	u32 outstanding;
	u32 sends;
	u32 depth;
	u32 shared;
	bool exceeded;
	u32 events;
	check_stack event_stack;
	bool polled;
	u32 armed;
	check_stack arm_stack;
	u64 arm_posted;
	bool arm_sends;
	bool was_armed;
	u32 contended;
	bool hidden;
};

/**
 * struct check_mr - @uses: outstanding requests that name it. @gone: where it was deregistered
 * @target_from, @target_to: from the first to the last byte that a receive or READ ever named
 * @guardable: which requests for its pages may have guards
 */
struct check_mr {
	u64 addr;
	u64 len;
	u64 iova;
	u32 lkey;
	u32 rkey;
	u32 access;
	bool has_access;
	u32 uses;
	enum check_guardable guardable;
	u64 target_from;
	u64 target_to;
	const void *pd;
	check_stack gone;
};

/** struct check_ah - @uses: outstanding requests that name it. @gid: to which it leads, or zeros */
struct check_ah {
	u32 uses;
	union ibv_gid gid;
};

/**
 * struct check_ctx - @asked_device, @asked_port: by ibv_query_device(), ibv_query_port()
 * @reads_events: by ibv_get_async_event()
 * @qps_used: queue pairs that have posted send requests
 */
struct check_ctx {
	bool asked_device;
	bool asked_port;
	bool reads_events;
	u32 qps_used;
};

/**
 * struct check_srq - @has_limit: the program has set srq_limit
 * @shared: its receives (shared_queue.c); NULL: nobody wants to know
 */
struct check_srq {
	bool has_limit;
	struct check_shared *shared;
};

/** struct check_channel - @is_read: events of it were taken. */
struct check_channel {
	bool is_read;
};

/** struct check_id - @initiator_depth: of the request that it @is_requested by. */
struct check_id {
	bool is_requested;
	u8 initiator_depth;
};

/**
 * struct check_use - an outstanding WRITE or atomic of a peer to memory that the CPU has used.
 * @own: the place of this process's queue pair; @process, @qp: whose request it is
 * @stack: who posted it, in that process
 */
struct check_use {
	const struct board_qp *own;
	u32 process;
	u32 qp;
	bool atomic;
	u64 wr_id;
	check_stack stack;
	u64 from;
	u64 to;
};

/** enum check_side - a queue that threads use. */
enum check_side {
	CHECK_SENDS,
	CHECK_RECEIVES,
	CHECK_COMPLETIONS,
};

/**
 * struct check_obj - an object.
 * @stack: where it was created
 * @single: threads must not use it at the same time, until that was reported
 * @kept: an event of a synchronous identifier, which rdma_destroy_id() acknowledges
 * @use: of thread.c: its sends; its receives, or the CQ
 * @events: asynchronous events, or those of the rdma_cm, taken and not acknowledged, the latest at
 *	@event_stack
 * @next: in the list of its kind
 */
struct check_obj {
	struct tap_obj *tap;
	check_stack stack;
	u32 ord;
	bool single;
	bool kept;
	u64 use[2];
	u32 events;
	check_stack event_stack;
	struct check_obj *next;
	struct check_obj **link;
	union {
		struct check_qp qp;
		struct check_cq cq;
		struct check_mr mr;
		struct check_ah ah;
		struct check_id id;
		struct check_ctx ctx;
		struct check_srq srq;
		struct check_channel channel;
	};
};

/* --- object.c --- */

/**
 * check_obj_of() - what the checker keeps of an object. Return: NULL: nothing, or it belongs to the
 * parent of a process that was forked.
 */
static inline struct check_obj *check_obj_of(const struct tap_obj *o)
{
	return o && o->ord ? o->user[TAP_CHECK] : NULL;
}

/** check_obj_find() - the same, by address. */
static inline struct check_obj *check_obj_find(enum vobj kind, const void *obj)
{
	return check_obj_of(obj ? tap_obj_find(kind, obj) : NULL);
}

/** check_obj_new() - an object was registered; check_obj_gone(): it is about to be forgotten. */
struct check_obj *check_obj_new(struct tap_obj *o);
void check_obj_gone(struct check_obj *c);
/**
 * check_obj_for_each() - call @fn for each QP, CQ or MR, until it returns true. Objects are neither
 * made nor destroyed meanwhile.
 */
bool check_obj_for_each(enum vobj kind, bool (*fn)(struct check_obj *c, void *arg), void *arg);
/** check_obj_report_leaks() - report what exists at the end of the program. */
void check_obj_report_leaks(void);
/**
 * check_obj_fork() - in a child: the parent's objects are not its own.
 * Return: a region of the parent, or NULL.
 */
const struct check_obj *check_obj_fork(void);

/** check_enum_name() - the name of a value, as in verbs.h, or "?". */
const char *check_enum_name(const struct vnames *names, u64 value);
/** check_flag_names() - the names of the bits of @flags, "A | B", in @text. Return: @text */
const char *check_flag_names(const struct vnames *names, u32 flags, char *text, size_t size);

/* --- thread.c --- */

/** check_thread_self() - the number of the calling thread, from 1 on. */
u32 check_thread_self(void);
/** check_thread_call() - a parent domain, CQ or queue pair was created. */
void check_thread_call(const struct tap_call *c);
/**
 * check_thread_enter(), check_thread_leave() - around a call that uses a queue.
 * Return: whether another thread is in such a call, if anybody wants to know.
 */
bool check_thread_enter(struct check_obj *c, enum check_side side);
void check_thread_leave(struct check_obj *c, enum check_side side);

/* --- fork.c --- */

/** check_fork_init() - the program has called ibv_fork_init(). */
void check_fork_init(void);
/** check_fork_used() - an object is used: "posts to", "polls"; check_fork_called(): by a call. */
void check_fork_used(const struct tap_obj *o, const char *how);
void check_fork_called(const struct tap_call *c);
/** check_fork_child() - in a child. @mr: a region of the parent, or NULL */
void check_fork_child(const struct check_obj *mr);

/* --- memory.c --- */

/** check_mr_new() - a region was registered. */
void check_mr_new(struct check_obj *c);
/** check_mr_call() - a call has registered it with these rights, or changed it. */
void check_mr_call(const struct tap_call *call);
/** check_mr_keep() - remember a region that is about to be forgotten. */
void check_mr_keep(const struct check_obj *c);
/** check_mr_was_registered() - whether a region that is gone was the same memory. */
bool check_mr_was_registered(u64 addr, u64 len, check_stack *gone);
/** check_mr_explain() - why a data segment of a request to @qp failed. @write: it is written. */
void check_mr_explain(const struct check_obj *qp, const struct ibv_wc *wc,
		      const struct check_wr *wr, bool write);
/** check_mr_explain_remote() - why a request was refused by its target, in this process. */
void check_mr_explain_remote(const struct check_obj *qp, const struct ibv_wc *wc,
			     const struct check_wr *wr);
/** check_mr_guardable() - which requests for its memory may have guards, if it is writable. */
enum check_guardable check_mr_guardable(const struct check_obj *c);
/** check_mr_add_target() - the device may write there from now on. */
void check_mr_add_target(struct check_obj *c, u64 from, u64 to);
/** check_mr_fork() - in a child: the lock may be that of a thread that is not here. */
void check_mr_fork(void);

/* --- queue.c --- */

/** check_queue_entry() - an outstanding request, counted from the oldest one. */
static inline struct check_wr *check_queue_entry(const struct check_queue *q, u32 i)
{
	return &q->ring[(q->head + i) % q->depth];
}

/** check_queue_add() - add a request. Return: its entry, without regions yet; NULL: lost. */
struct check_wr *check_queue_add(const struct check_obj *qp, struct check_queue *q,
				 const struct check_wr *wr);
/** check_queue_use_ah() - an entry has its address handle now. */
void check_queue_use_ah(struct check_wr *wr);
/** check_queue_find_guardable() - whether pages of a new entry's data segments may have guards. */
void check_queue_find_guardable(const struct check_obj *queue, struct check_wr *wr);
/** check_queue_use_regions() - an entry has its data segments now. */
void check_queue_use_regions(const struct check_obj *qp, struct check_wr *wr);
/** check_queue_retire() - remove the oldest entries. */
void check_queue_retire(const struct check_obj *qp, struct check_queue *q, u32 n);
/** check_queue_withdraw() - remove the newest entries, which were refused. */
void check_queue_withdraw(const struct check_obj *qp, struct check_queue *q, u32 n);
/** check_queue_lose() - which requests are outstanding is not known any more. */
void check_queue_lose(const struct check_obj *qp, struct check_queue *q);

void check_qp_new(struct check_obj *c);
void check_qp_gone(struct check_obj *c);
/** check_qp_lose() - nothing is known about its queues from now on. */
void check_qp_lose(struct check_obj *c);
/** check_qp_clear() - its queues are empty. */
void check_qp_clear(struct check_obj *c);
/** check_qp_peer() - the queue pair of this process that it is connected with, or NULL. */
struct check_obj *check_qp_peer(const struct check_obj *c);
/** check_cq_lose() - nothing is known about the queues that complete in a CQ. */
void check_cq_lose(struct check_obj *cq);

#endif
