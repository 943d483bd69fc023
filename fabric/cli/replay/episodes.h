/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay DIR --as PROGRAM -- OTHER`: what of a trace is played, and what the real program is asked.
 *
 * Theory of operation
 * -------------------
 * An episode is what became of one live command: the programs that have the line "episode N" in pN/program, of
 * which those with "as PROGRAM" are that program's part, one after the other, and "request COMMAND" is the live
 * command. Programs without such lines, written by `rdmaemu record`, are an episode as well: its PROGRAM is
 * found by name or number, its command is that of any other program there.
 */
#ifndef FABRIC_CLI_REPLAY_EPISODES_H
#define FABRIC_CLI_REPLAY_EPISODES_H

#include "fabric/common/opts.h"
#include "traces/vtrace/read.h"

#define EPISODE_REQUEST 8192

/**
 * struct episode - what is to be done.
 * @n, @part: indexes in the trace of what is played, one after the other
 * @real: the real program is run: at once where nothing is played, else when the played one's record is over
 * @nth: number of the episode that is recorded, if @real
 * @request: the live command
 * @command: the real program's, for sh(1)
 * @node, @live_node: where they run; "": on the host's own
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
 * episode_choose() - find the episode that a live command is played, by o->mode.
 * @d: the trace; NULL: there is none yet
 * Return: 0, or -1 after one line on stderr.
 */
int episode_choose(struct episode *e, const struct opts *o, const struct vt_dir *d, char **live);

#endif
