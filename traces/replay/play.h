/* SPDX-License-Identifier: MIT */
/** DOC: plays a program, and its records by their kinds. */
#ifndef TRACES_REPLAY_PLAY_H
#define TRACES_REPLAY_PLAY_H

#include "traces/replay/replay.h"

/** rp_play_program() - play a program. Returns the exit status of its process. */
int rp_play_program(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout);
bool rp_play_call(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_send(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_recv(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_ops(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_dm(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_post_wr(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_poll(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_notify(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_cq_event(struct rp_thread *t, const struct vt_rec *rec);
bool rp_play_ack(struct rp_thread *t, const struct vt_rec *rec);

#endif
