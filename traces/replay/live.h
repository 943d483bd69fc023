/* SPDX-License-Identifier: MIT */
/** DOC: what the trace of a live program has. */
#ifndef TRACES_REPLAY_LIVE_H
#define TRACES_REPLAY_LIVE_H

#include "traces/replay/replay.h"

/* --- live.c --- */

/**
 * rp_line_is_listen(), rp_line_is_request(), rp_line_is_any() - whether a line is rdma_listen(),
 * took a connection request, is any call.
 */
bool rp_line_is_listen(const char *line);
bool rp_line_is_request(const char *line);
bool rp_line_is_any(const char *line);
/**
 * rp_count_calls() - count the calls of a program that match.
 * @first, @last: set to the numbers by which the first and the last of them ended, if there are
 *	any; or NULL
 */
uint32_t rp_count_calls(const struct vt_program *p, bool (*is)(const char *line), uint64_t *first,
			uint64_t *last);
/**
 * rp_live_count() - count matching calls of programs whose trace is being written to @dir.
 * @played: of the played programs or the real one; otherwise of the live program
 */
uint32_t rp_live_count(const char *dir, bool played, bool (*is)(const char *line));
/**
 * rp_live_find_num() - the live program's key or QP number for a recorded one. Waits until it
 * exists, and sets rp_made.delta. Returns 0: there is none.
 */
uint32_t rp_live_find_num(const struct rp_prog *g, const struct rp_num *n);
/**
 * rp_live_is_running() - whether a program of the live command is running: the command may leave
 * some behind.
 */
bool rp_live_is_running(const char *dir);

/* --- live_exit.c --- */

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
