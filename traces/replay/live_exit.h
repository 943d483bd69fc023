/* SPDX-License-Identifier: MIT */
/** DOC: the end of the live program. */
#ifndef TRACES_REPLAY_LIVE_EXIT_H
#define TRACES_REPLAY_LIVE_EXIT_H

#include "traces/replay/replay.h"

/** rp_live_set_gone() - tell all players that the live program has ended. @text: how */
void rp_live_set_gone(struct rp_world *w, const char *text);
/**
 * rp_live_is_over() - whether the live program has ended, and what the thread waits for cannot come
 * any more.
 */
bool rp_live_is_over(const struct rp_thread *t);
/**
 * rp_live_fail_wait() - fail with what the thread waits for, and how the live program ended.
 * Returns false.
 */
bool rp_live_fail_wait(struct rp_thread *t, const struct vt_rec *rec, const char *want);

#endif
