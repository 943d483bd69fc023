/* SPDX-License-Identifier: MIT */
/** DOC: the command line of rdmaemu-replay, and the processes that it starts. */
#ifndef TRACES_REPLAY_RUN_H
#define TRACES_REPLAY_RUN_H

#include "traces/replay/replay.h"

#include <sys/types.h>

/** struct rp_args - the command line. */
struct rp_args {
	const char *dir;
	const char *run; /* path of rdmaemu; NULL: use the devices of this machine */
	const char *fabric;
	bool devices; /* a part: use the devices of this machine */
	bool capabilities; /* compare capabilities even of other devices */
	bool pace;
	bool json;
	uint64_t timeout;
	const char *ignore; /* fields */
	const char *unexpected; /* policy; NULL: fail */
	long part; /* index of the program to play; -1: all, each in a process of its own */
	int share;
	/* With a live program: */
	bool as;
	uint32_t n_as;
	uint32_t nth[VT_MAX_PROGS]; /* programs to play, one after the other */
	char **live; /* the live program's command */
	const char *trace; /* its trace */
	const char *name; /* name of what is played, as the user gave it */
	const char *request; /* the live command as a line */
	const char *real; /* the real program's command, for sh(1); NULL: none */
	const char *keep; /* trace directory that what it does is added to */
	const char *episode; /* the new episode's number */
	const char *node, *live_node; /* NULL: the host itself */
	bool live_first;
};

/* --- start.c --- */

/**
 * rp_start_part() - play a program of the trace in a process of its own. @fd: the shared memory.
 * Returns its pid or -1.
 */
pid_t rp_start_part(const struct rp_args *a, const struct rp_world *w, uint32_t nth, int fd);
/** rp_start_live(), rp_start_real() - start the live and the real program. Returns a pid or -1. */
pid_t rp_start_live(const struct rp_args *a);
pid_t rp_start_real(const struct rp_args *a);
/**
 * rp_run_command() - run an rdmaemu command on the fabric until it ends. Returns its exit status.
 */
int rp_run_command(const struct rp_args *a, const char *const words[]);
/** rp_wait() - wait for a child. Returns its status, or -1 after @timeout ns. */
int rp_wait(pid_t pid, uint64_t timeout);
/** rp_program_ended() - a program's process has ended, and all its objects are gone. */
void rp_program_ended(struct rp_world *w, uint32_t nth, int status);

/* --- live_session.c --- */

/**
 * rp_live_session() - run recorded programs or the real one against a live program. Returns the
 * exit status.
 */
int rp_live_session(const struct rp_args *a, struct rp_world *w);

/* --- result.c --- */

/** rp_complain() - print a line to stderr. Returns 2, the exit status. */
int rp_complain(const char *text);
/** rp_result_add() - add up the counts of a part. */
void rp_result_add(struct rp_count *sum, const struct rp_world *w);
/**
 * rp_result_show() - print what was done and what differs.
 * @why: the divergence, or NULL. @kept: number of programs added to the trace
 */
void rp_result_show(const struct rp_args *a, uint32_t programs, const struct rp_count *c,
		    const char *why, uint32_t kept);
/** rp_result_divergence() - the divergence, or NULL. */
const char *rp_result_divergence(struct rp_world *w);

#endif
