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
 *  - memory.c: regions, also those deregistered lately
 *  - queue.c: queues of outstanding work requests
 *  - request.c: mistakes that a work request shows when it is posted
 *  - buffer.c: memory that they own
 *  - post.c: posting them
 *  - completion.c: their completions
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

#define CHECK_SGES  4u /* of a work request, that are kept */
#define CHECK_DEPTH 8192u /* of a queue, that is followed */

/**
 * struct check_wr - an outstanding work request.
 * @stack: who posted it
 * @is_read: a READ or atomic, which writes to @sge
 * @mr: ordinals of the regions of @sge, 0: none
 * @hash: of what it reads, if it is @hashed
 * @ah: of a datagram; @ah_ord: its ordinal, 0: none
 * @bytes: of all its data segments
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
	u64 raddr;
	u32 rkey;
	u32 ah_ord;
	u64 bytes;
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
 * struct check_qp - @sig_all, @cap: as created; @shared: with an SRQ. @lock protects the queues.
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
 * @armed: by a thread that has not emptied it since, at @arm_stack, after @arm_posted posts of
 *	sends; @arm_sends: while sends were outstanding
 * @was_armed: since its creation
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
	const void *armed;
	check_stack arm_stack;
	u64 arm_posted;
	bool arm_sends;
	bool was_armed;
};

/**
 * struct check_mr - @uses: outstanding requests that name it. @gone: where it was deregistered
 * @target_from, @target_to: from the first to the last byte that a receive or READ ever named
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
	u64 target_from;
	u64 target_to;
	const void *pd;
	check_stack gone;
};

/** struct check_ah - @uses: outstanding requests that name it. */
struct check_ah {
	u32 uses;
};

/** struct check_srq - @has_limit: the program has set srq_limit. */
struct check_srq {
	bool has_limit;
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
 * struct check_obj - an object.
 * @stack: where it was created
 * @events: asynchronous events, or those of the rdma_cm, taken and not acknowledged, the latest at
 *	@event_stack
 * @next: in the list of its kind
 */
struct check_obj {
	struct tap_obj *tap;
	check_stack stack;
	u32 ord;
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
/** check_obj_fork() - in a child: the parent's objects are not its own. */
void check_obj_fork(void);

/** check_enum_name() - the name of a value, as in verbs.h, or "?". */
const char *check_enum_name(const struct vnames *names, u64 value);

/* --- memory.c --- */

/** check_mr_new() - a region was registered. */
void check_mr_new(struct check_obj *c);
/** check_mr_call() - a call has registered it with these rights, or changed it. */
void check_mr_call(const struct tap_call *call);
/** check_mr_keep() - remember a region that is about to be forgotten. */
void check_mr_keep(const struct check_obj *c);
/** check_mr_explain() - why a data segment of a request to @qp failed. @write: it is written. */
void check_mr_explain(const struct check_obj *qp, const struct ibv_wc *wc,
		      const struct check_wr *wr, bool write);
/** check_mr_explain_remote() - why a request was refused by its target. */
void check_mr_explain_remote(const struct check_obj *qp, const struct ibv_wc *wc,
			     const struct check_wr *wr);
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

/* --- request.c --- */

/** check_request_target() - a request is posted that accesses remote memory at @addr. */
void check_request_target(const struct check_obj *qp, u64 wr_id, u32 opcode, u64 addr);
/** check_request_state() - whether the queue pair takes such requests; it is not locked. */
void check_request_state(struct check_obj *qp, bool send);
/** check_request_fence() - @wr is about to be added. @fence: it waits for READs */
void check_request_fence(const struct check_obj *qp, const struct check_wr *wr, bool fence);
/** check_request_id() - @wr was added. */
void check_request_id(const struct check_obj *qp, const struct check_queue *q,
		      const struct check_wr *wr);
/** check_request_refused() - say why a post has failed. */
void check_request_refused(const struct check_obj *qp, const struct tap_post *p);
/** check_request_ignores() - a request is posted, maybe after others have failed. */
void check_request_ignores(const struct check_obj *qp, struct check_queue *q);

/** check_request_reads_memory() - whether a send of this opcode reads its data segments. */
bool check_request_reads_memory(u32 opcode);
/**
 * check_request_find_overlap() - find another request of a queue that has memory of @wr.
 * @reads: only among READs and atomics
 * Return: NULL: none.
 */
const struct check_wr *check_request_find_overlap(const struct check_queue *q,
						  const struct check_wr *wr, bool reads);

/* --- buffer.c --- */

/** check_buffer_owned() - a send has its data segments, and is about to be posted. */
void check_buffer_owned(struct check_wr *wr);
/** check_buffer_returned() - its completion, or that of a later one, is polled. */
void check_buffer_returned(const struct check_obj *qp, const struct check_wr *wr);
/** check_buffer_target() - the device may write to these segments. */
void check_buffer_target(const struct tap_obj *ctx, const struct ibv_sge *sge, size_t n);
/** check_buffer_receive() - a receive was added. */
void check_buffer_receive(const struct check_obj *qp, const struct check_wr *wr);

/* --- post.c --- */

enum tap_verdict check_post_begin(struct tap_post *p);
void check_post_end(struct tap_post *p);
void check_wr_call(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op);
void check_wr_batch_end(struct tap_batch *b);
/** check_post_sends_of_thread() - how often this thread has posted sends. */
u64 check_post_sends_of_thread(void);

/* --- completion.c --- */

/** check_completion_spoil() - overwrite what a failed completion leaves undefined. */
void check_completion_spoil(struct ibv_wc *wc);
/** check_completion() - the program gets a completion of @cq. */
void check_completion(struct check_obj *cq, const struct ibv_wc *wc);

/* --- ending.c --- */

/** check_qp_ending(), check_mr_ending(), check_ah_ending() - before one is destroyed. */
void check_qp_ending(const void *qp);
void check_mr_ending(const void *mr);
void check_ah_ending(const void *ah);
/** check_busy() - a call has failed to destroy an object, which others use. */
void check_busy(enum vobj kind, const void *obj);

/* --- event.c --- */

enum tap_verdict check_cq_begin(struct tap_cqop *p);
void check_cq_end(struct tap_cqop *p);
/** check_cq_polled() - a poll has ended. @emptied: it has found less than it could have returned */
void check_cq_polled(const struct tap_obj *cq, bool emptied);
/** check_cq_ending() - before a CQ is destroyed. */
void check_cq_ending(const void *cq);
/** check_srq_limited() - ibv_modify_srq() has succeeded; check_srq_ending(): before its end. */
void check_srq_limited(const struct tap_call *c);
void check_srq_ending(const void *srq);
/** check_async_event() - an asynchronous event was taken (@by 1), or acknowledged (-1). */
void check_async_event(const struct ibv_async_event *event, int by);
/** check_cm_event() - the same of the rdma_cm. */
void check_cm_event(const struct rdma_cm_event *event, int by);
/** check_events_ending() - before an object is destroyed that may have such events. */
void check_events_ending(enum vobj kind, const void *obj);

/** check_cq_is_suspect() - this thread has armed a CQ that was polled, and not emptied it since. */
bool check_cq_is_suspect(const struct check_obj *c);
/** check_cq_report_lost() - it waits for that CQ now. */
void check_cq_report_lost(struct check_obj *c);

/* --- wait.c --- */

/** check_wait() - a thread is about to wait for descriptors. */
void check_wait(const struct pollfd *fds, size_t n);

/* --- modify.c --- */

/** check_modify_failed() - say why ibv_modify_qp() has returned EINVAL. */
void check_modify_failed(const struct tap_call *c);

/* --- identifier.c --- */

/** check_id_event() - the program has taken an event. */
void check_id_event(const struct rdma_cm_event *event);
/** check_id_connecting() - before rdma_connect(). @param: may be NULL */
void check_id_connecting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param);
/** check_id_accepting() - before rdma_accept(). @param: may be NULL */
void check_id_accepting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param);
/** check_id_ending() - before rdma_destroy_id(). */
void check_id_ending(const struct rdma_cm_id *cm_id);

/* --- attribute.c --- */

/** check_modify_done() - ibv_modify_qp() has succeeded. */
void check_modify_done(const struct tap_call *c);
/** check_modify_fork() - in a child: it has no queue pairs yet. */
void check_modify_fork(void);

#endif
