/* SPDX-License-Identifier: MIT */
/** DOC: the order of the records of all threads. */
#ifndef TRACES_REPLAY_TURN_H
#define TRACES_REPLAY_TURN_H

#include "traces/replay/replay.h"

/** rp_turn_wait() - wait until the record may begin. Returns false: the replay has failed. */
bool rp_turn_wait(struct rp_thread *t, const struct vt_rec *rec);
/** rp_slot_enter() - the thread is at this record now; NULL: at its end. */
void rp_slot_enter(struct rp_thread *t, const struct vt_rec *rec);
/** rp_rec_may_begin() - whether all calls that had ended before @begin have ended here. */
bool rp_rec_may_begin(const struct rp_world *w, const struct rp_slot *mine, uint64_t begin);
/**
 * rp_turn_yield() - let another thread proceed whose current call had ended before @rec ended, or
 * that had begun to post by then: it may bring what @rec waits for. Waits a bounded time. Returns
 * false: there is no such thread.
 */
bool rp_turn_yield(struct rp_thread *t, const struct vt_rec *rec);

#endif
