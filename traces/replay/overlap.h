/* SPDX-License-Identifier: MIT */
/** DOC: destructive calls that overlap others. */
#ifndef TRACES_REPLAY_OVERLAP_H
#define TRACES_REPLAY_OVERLAP_H

#include "traces/replay/replay.h"

/** rp_overlap_learn() - note from a recorded poll when QPs failed. Returns 0 or -ENOMEM. */
int rp_overlap_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec);
/**
 * rp_overlap_wait() - before a destructive call: wait for overlapping posts of peers, and for other
 * threads that take an event, which took effect before it in the record.
 */
void rp_overlap_wait(const struct rp_thread *t, const struct vt_rec *rec);

#endif
