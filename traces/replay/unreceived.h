/* SPDX-License-Identifier: MIT */
/**
 * DOC: sends of the record that failed because their receiver had posted no receive
 * (IBV_WC_RNR_RETRY_EXC_ERR).
 */
#ifndef TRACES_REPLAY_UNRECEIVED_H
#define TRACES_REPLAY_UNRECEIVED_H

#include "traces/replay/replay.h"

/** rp_unreceived_init() - find these sends in the program's record. Returns 0 or -ENOMEM. */
int rp_unreceived_init(struct rp_prog *g);
/** rp_unreceived_await() - if such sends were just posted by @rec, wait until they have failed. */
void rp_unreceived_await(struct rp_thread *t, const struct vt_rec *rec);
/** rp_unreceived_note() - a completion was taken off its CQ. The caller holds the lock. */
void rp_unreceived_note(struct rp_prog *g, uint32_t qp, const struct ibv_wc *wc);

#endif
