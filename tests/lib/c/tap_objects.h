/* SPDX-License-Identifier: MIT */
/**
 * DOC: for unit tests of the tap's data path: a library below it with one object of each kind.
 */
#ifndef TESTS_LIB_C_TAP_OBJECTS_H
#define TESTS_LIB_C_TAP_OBJECTS_H

#include "tests/lib/c/tap_stub.h"

extern struct verbs_context low_context;
extern struct ibv_pd low_pd;
extern struct ibv_cq_ex low_cq_ex;
extern struct ibv_cq low_cq;
extern struct ibv_qp_ex low_qp_ex;
extern struct ibv_qp *const low_qp; /* the same */
extern struct ibv_comp_channel low_channel;
extern struct ibv_dm low_dm;

/** low_ret - what the next post or poll returns, 0: it works. */
extern int low_ret;
/** low_entries, low_events - left in the CQs, and in the channel. */
extern u32 low_entries;
extern u32 low_events;

/** low_make_objects() - start anew; the users that are on see how all objects are made. */
void low_make_objects(bool a_is_on);
/** low_destroy_objects() - destroy them all. */
void low_destroy_objects(void);

/** low_fail_first() - for stub_user.poll_end: the first completion of a poll has failed. */
void low_fail_first(struct tap_poll *p);
/** low_hold_once() - takes everything out, once, and lets the tap poll again. */
void low_hold_once(struct tap_poll *p);

#endif
