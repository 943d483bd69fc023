/* SPDX-License-Identifier: MIT */
/** DOC: failing, waiting and waking across all threads of a replay. */
#ifndef TRACES_REPLAY_SHARED_H
#define TRACES_REPLAY_SHARED_H

#include "traces/replay/replay.h"

bool rp_is_failed(const struct rp_world *w);
/** rp_fail() - end the whole replay. Only the first @text counts. */
void rp_fail(struct rp_world *w, const char *text);
/** rp_fail_devices() - fail because the local devices cannot replace the recorded ones. */
void rp_fail_devices(struct rp_world *w, const char *why);
/**
 * rp_diverge() - report a divergence. Only the first one counts. Returns false.
 * @want, @got: both sides
 */
bool rp_diverge(struct rp_thread *t, const struct vt_rec *rec, const char *what, const char *want,
		const char *got);
/**
 * rp_fail_rec() - the replay cannot continue, for a reason that is no divergence. Returns false.
 */
bool rp_fail_rec(struct rp_thread *t, const struct vt_rec *rec, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** rp_wait_step() - one step of waiting, longer each time. *@n starts at 0. */
void rp_wait_step(unsigned int *n);
/**
 * rp_slot_advance() - publish that the thread's current call ends by number @end: calls that begin
 * before it need not wait for this thread. RP_DONE: the thread has ended.
 */
void rp_slot_advance(struct rp_slot *s, uint64_t end);
/** rp_slots_wake_all() - wake all sleeping threads. */
void rp_slots_wake_all(const struct rp_world *w);

#endif
