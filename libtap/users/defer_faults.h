/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests of real devices that are posted late: `defer` of rdmaemu-faults(7).
 *
 * Theory of operation
 * -------------------
 * The program's post succeeds, and the library below gets a copy of the request later, as if the
 * device had not seen the doorbell yet. A queue is in this list while it holds requests. Then
 * whatever is posted to it is held, too, in its order, and it is full when it holds as many as it
 * has room for. A thread of ours posts what is due; one that posts the request for which the held
 * one waits does so itself. The device flushes or forgets requests when their queue pair goes to
 * ERR or RESET, and so it does here: ERR posts them, RESET and the end of the queue pair drop them.
 *
 * Three kinds of requests are not held but wait within the call that posts them: those of a batch
 * of ibv_wr_start(), which cannot be copied, those for which there is no memory, and all if there
 * is no thread.
 *
 * The library reads a request's address handle, memory window and region through pointers. If the
 * program destroys one of those, what names it is posted before.
 *
 * A request that the library refuses later cannot be taken back. Its queue pair goes to ERR, and
 * one without data is posted in its place, which the device flushes.
 */
#ifndef LIBTAP_USERS_DEFER_FAULTS_H
#define LIBTAP_USERS_DEFER_FAULTS_H

#include "fabric/proto/tapped.h"
#include "libtap/tap.h"

struct defer_queue;

/**
 * struct defer_post - a work request that is being posted.
 * @qp, @recv, @low: to which queue, and how
 * @wr: it, without a successor: a struct ibv_recv_wr, or a struct ibv_send_wr
 * @hit: ordinal of its hit, 0: none
 * @hold_ns, @hold_posts: what a rule says of it: struct proto_work
 */
struct defer_post {
	struct tap_obj *qp;
	bool recv;
	tap_post_fn low;
	void *wr;
	u64 hit;
	u64 hold_ns;
	u32 hold_posts;
};

/** defer_faults_start(), defer_faults_finish() - the process begins, and ends. */
void defer_faults_start(void);
void defer_faults_finish(void);
/* The queues that hold requests. */
extern struct defer_queue *defer_queues;
/** defer_faults_hold() - whether a queue holds requests: posts have to ask. */
static inline bool defer_faults_hold(void)
{
	return load_acquire(&defer_queues);
}
/** defer_fault_holds() - whether that queue does. */
bool defer_fault_holds(const struct tap_obj *qp, bool recv);
/** defer_fault_post() - hold a request, or post it. Return: 0, or an error as of a post. */
int defer_fault_post(const struct defer_post *p);
/** defer_fault_drain() - wait until the queue holds nothing. */
void defer_fault_drain(const struct tap_obj *qp, bool recv);
/** defer_fault_call_begin(), defer_fault_call_end() - hooks of these names. */
void defer_fault_call_begin(const struct tap_call *c);
void defer_fault_call_end(const struct tap_call *c);
/** defer_fault_qp_failed() - a rule has moved the queue pair to ERR. */
void defer_fault_qp_failed(const struct tap_obj *qp);
/** defer_fault_object_gone() - hook object_gone. */
void defer_fault_object_gone(const struct tap_obj *o);

#endif
