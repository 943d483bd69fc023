/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests on real devices that complete with an error because a rule says so: `wc` of
 * rdmaemu-faults(7).
 */
#ifndef LIBTAP_USERS_WORK_FAULTS_H
#define LIBTAP_USERS_WORK_FAULTS_H

#include "libtap/tap.h"
#include "libtap/users/defer_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/work_hits.h"

/* --- work_faults.c --- */

/** work_fault_is_due() - whether posts have to be passed to work_fault_post(). */
static inline bool work_fault_is_due(void)
{
	return tap_fabric_has_work() || work_hits_are_due() || defer_faults_hold();
}

/**
 * work_fault_is_free() - whether no rule is about the requests of a chain, and nothing else changes
 * them: the library may get them as they are. They count then.
 * @o: the QP, which work_qp_of() knows
 */
bool work_fault_is_free(const struct tap_obj *o, bool recv, const void *chain);
/**
 * work_fault_post() - hook post_begin, of sends and of receives of a QP. The library sees the
 * errno of the call, and the program what the library left there.
 */
enum tap_verdict work_fault_post(struct tap_post *p);
/** work_fault_wr() - hook wr. */
void work_fault_wr(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op);
/** work_fault_batch_begin() - a batch is about to be posted. */
void work_fault_batch_begin(const struct tap_batch *b);
/** work_fault_batch_end() - hook wr_batch_end. */
void work_fault_batch_end(struct tap_batch *b);
/** work_fault_poll() - hook poll_end. */
void work_fault_poll(struct tap_poll *p);
/** work_fault_cqex() - hook cqex_end. */
void work_fault_cqex(struct tap_cqex *p);
/* --- work_hits.c --- */

/** work_fault_object_new(), work_fault_object_gone() - hooks of these names. */
void work_fault_object_new(struct tap_obj *o);
void work_fault_object_gone(struct tap_obj *o);
/** work_fault_call_begin() - hook call_begin: a queue pair may be destroyed. */
void work_fault_call_begin(const struct tap_call *c);
/** work_fault_call_end() - hook call_end: a queue pair may have been reset. */
void work_fault_call_end(const struct tap_call *c);

#endif
