/* SPDX-License-Identifier: MIT */
/** DOC: what rdmaemu-replay was told, and the processes that it starts. */
#ifndef TRACES_REPLAY_RUN_H
#define TRACES_REPLAY_RUN_H

#include "traces/replay/replay.h"

#include <sys/types.h>

/** struct rp_args - the command line. */
struct rp_args {
	const char *dir;
	const char *run; /* rdmaemu; NULL: on the devices that there are */
	const char *fabric;
	bool devices; /* a part: on those that there are */
	bool capabilities; /* are compared in any case */
	bool pace;
	bool json;
	uint64_t timeout;
	const char *ignore; /* fields */
	const char *unexpected; /* what to do then; NULL: fail */
	long part; /* index of the program to play; -1: all, by processes of their own */
	int share;
	/* Against a live program: */
	bool as;
	uint32_t n_as;
	uint32_t nth[VT_MAX_PROGS]; /* what is played, one after the other */
	char **live; /* the live program's command */
	const char *trace; /* where it is recorded */
	const char *name; /* what is played, in the words of who has asked for it */
	const char *request; /* the live command, as a line */
	const char *real; /* the real program's command, for sh(1); NULL: it is not asked */
	const char *keep; /* trace directory that gets what was recorded with it */
	const char *episode; /* its number there */
	const char *node, *live_node; /* NULL: the host's own */
	bool live_first;
};

/** rp_complain() - a line on stderr. Returns 2, the exit status. */
int rp_complain(const char *text);

/* --- start.c ----------------------------------------------------------------------------- */

/** rp_start_part() - play a program of the trace in a process of its own. @fd: what all share. Returns its pid or -1. */
pid_t rp_start_part(const struct rp_args *a, const struct rp_world *w, uint32_t nth, int fd);
/** rp_start_live(), rp_start_real() - run the live and the real program. @again: the real one is not the first. */
pid_t rp_start_live(const struct rp_args *a);
pid_t rp_start_real(const struct rp_args *a);
/** rp_run_command() - run an rdmaemu command of these words on the fabric, to its end. Returns its exit status. */
int rp_run_command(const struct rp_args *a, const char *const words[]);
/** rp_wait() - a child's end, or -1: it is still there after @timeout ns. */
int rp_wait(pid_t pid, uint64_t timeout);
/** rp_program_ended() - a program's process has ended, and with it all that it had. */
void rp_program_ended(struct rp_world *w, uint32_t nth, int status);

/* --- live_session.c, result.c ---------------------------------------------------------------------- */

/** rp_live_session() - some recorded programs or the real one, and a live one in place of the others. Returns the exit status. */
int rp_live_session(const struct rp_args *a, struct rp_world *w);

/** rp_result_add() - add up what was done. */
void rp_result_add(struct rp_count *sum, const struct rp_world *w);
/**
 * result_show() - say what was done and what differs.
 * @why: NULL: nothing does. @kept: number of programs that were added to the trace
 */
void result_show(const struct rp_args *a, uint32_t programs, const struct rp_count *c,
		 const char *why, uint32_t kept);
/** rp_result_divergence() - the divergence, or NULL. */
const char *rp_result_divergence(struct rp_world *w);

#endif
