/* SPDX-License-Identifier: MIT */
/**
 * DOC: the work requests that are to complete with an error or late, from when they are posted, and
 * the queue pairs that have such: see work_faults.c.
 */
#ifndef LIBTAP_USERS_WORK_HITS_H
#define LIBTAP_USERS_WORK_HITS_H

#include "fabric/proto/tapped.h"
#include "libtap/tap.h"
#include "libtap/users/request_log.h"

/**
 * struct work_qp - what is kept of a queue pair, tap_obj.user[TAP_FAULTS].
 * @posted: its work requests while a rule was about such: sends, receives
 * @failed: a completion of ours was the last one of its sends, of its receives, before it was moved
 *	to ERR
 * @sig_all: it was created with sq_sig_all, as far as known
 * @sends_signaled: a send is to fail: those after it complete, whether they are signaled or not
 * @ending: a call is destroying it
 * @batch_hold_ns: how long the end of the current batch is deferred
 * @requests: the latest ones, for the journal
 * @listed: its place in struct real_objects, plus one; 0: none
 * @batch: the latest hit when the current batch began
 * @lent: the batch's current request has @lent_wr_id and is signaled; the program's @wr_id and
 *	@wr_flags are put back before its next one
 */
struct work_qp {
	u64 posted[2];
	u64 batch;
	u64 batch_hold_ns;
	u64 wr_id;
	u64 lent_wr_id;
	u32 wr_flags;
	bool lent;
	bool failed[2];
	bool sig_all;
	bool sends_signaled;
	bool ending;
	u32 listed;
	struct request_log requests;
};

/** work_qp_of() - what is kept of a queue pair. Return: NULL: nothing. */
static inline struct work_qp *work_qp_of(const struct tap_obj *o)
{
	return o ? o->user[TAP_FAULTS] : NULL;
}

/** work_qp_ending() - the queue pair that a call destroys. Return: NULL: none. */
struct tap_obj *work_qp_ending(const struct tap_call *c);
/** work_hits_start() - the process begins. Return: whether it can mark work requests. */
bool work_hits_start(void);
/**
 * work_hit_add() - note how a request ends that is being posted to @qp: work->status, if that is
 * not 0, and work->delay_ns late.
 * Return: its ordinal, from 1; 0: there are too many.
 */
u64 work_hit_add(struct tap_obj *qp, const struct proto_work *work);
/** work_hit_mark() - the wr_id that a hit is posted with. */
u64 work_hit_mark(u64 ordinal);
/** work_hits_latest() - the ordinal of the latest hit. */
u64 work_hits_latest(void);
/** work_hit_cancel() - the request was not posted. @ordinal: 0: it is no hit */
void work_hit_cancel(u64 ordinal);
/** work_hits_cancel_later() - likewise those of a queue pair that came after @ordinal. */
void work_hits_cancel_later(const struct tap_obj *qp, u64 ordinal);
/* Outstanding hits and failed queue pairs. */
extern u32 work_hits_concerned;
/** work_hits_are_due() - whether completions have to be passed to work_hits_complete(). */
static inline bool work_hits_are_due(void)
{
	return load_relaxed(&work_hits_concerned);
}
/**
 * work_hits_complete() - change a completion into what the program sees.
 * @cq: its CQ; @qpn: 0: unknown; @recv: of a receive
 * @wr_id, @status: the device's, which become the program's
 * Return: how late it is, in ns
 */
u64 work_hits_complete(const struct tap_obj *cq, u32 qpn, bool recv, u64 *wr_id,
		       enum ibv_wc_status *status);

#endif
