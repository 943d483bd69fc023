/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay DIR --as PROGRAM -- OTHER`: which part of a trace is played, and whether the
 * real program runs.
 *
 * Theory of operation
 * -------------------
 * An episode is what followed one live command. Its programs have the line "episode N" in
 * pN/program. Those that also have "as PROGRAM" are the part of that program, played one after the
 * other; "request COMMAND" is the live command.
 *
 * Programs without such lines, which `rdmaemu record` has written, are an episode as well: PROGRAM
 * is found by name or number, and its request is the command of any other program.
 */
#ifndef FABRIC_CLI_REPLAY_EPISODES_H
#define FABRIC_CLI_REPLAY_EPISODES_H

#include "fabric/common/opts.h"
#include "traces/vtrace/read.h"

#define EPISODE_REQUEST 8192

/**
 * struct episode - what to play and to run.
 * @n, @part: indexes in the trace of the programs to play, one after the other
 * @real: run the real program: at once if nothing is played, else when the played record is over
 * @nth: number of the episode that is recorded, if @real
 * @request: the live command
 * @command: the command of the real program, for sh(1)
 * @node, @live_node: where they run; "": on the host
 */
struct episode {
	u32 n;
	u32 part[VT_MAX_PROGS];
	bool real;
	u32 nth;
	char request[EPISODE_REQUEST];
	char command[2 * EPISODE_REQUEST];
	char node[NODE_NAME_MAX + 1];
	char live_node[NODE_NAME_MAX + 1];
};

/**
 * episode_choose() - find the episode that is played to a live command, by o->mode.
 * @d: the trace; NULL: there is none yet
 * Return: 0, or -1 after one line on stderr.
 */
int episode_choose(struct episode *e, const struct opts *o, const struct vt_dir *d, char **live);

#endif
