/* SPDX-License-Identifier: MIT */
/** DOC: plays a program, and its records by their kinds. */
#ifndef TRACES_REPLAY_PLAY_H
#define TRACES_REPLAY_PLAY_H

#include "traces/replay/replay.h"

/* --- play.c --- */

/** rp_play_program() - play a program. Returns the exit status of its process. */
int rp_play_program(struct rp_world *w, uint32_t nth, bool pace, uint64_t timeout);

/* --- call.c, post.c, tag_ops.c, dm.c, wr.c, poll.c, event.c: the kinds of records --- */

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

/* --- event.c --- */

/**
 * rp_cq_ack_rest() - acknowledge events that the record never had; destroying @cq would wait for
 * them.
 */
void rp_cq_ack_rest(struct rp_prog *g, const struct ibv_cq *cq);

/* --- invoke.c --- */

/** rp_call_invoke() - carry out a call with parsed arguments. Returns its result. */
uint64_t rp_call_invoke(enum vcall call, const uint64_t *args);

/* --- result_compare.c --- */

/** rp_result_is_same() - whether a call of @line has the recorded result. */
bool rp_result_is_same(const struct rp_thread *t, const char *line, const char *want,
		       const char *got);

#endif
