/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu replay --as`: a trace that may not exist yet, and what is recorded in addition. */
#ifndef FABRIC_CLI_REPLAY_LIVE_H
#define FABRIC_CLI_REPLAY_LIVE_H

#include "fabric/cli/replay/episodes.h"

/**
 * struct replay_live - a replay against a live program.
 * @trace: where the live program is recorded, with the real one: to add to @dir, or to become @dir
 * @held, @joined: descriptors of that trace and of @dir's, -1: none
 */
struct replay_live {
	struct episode e;
	char **live;
	char *dir;
	char trace[PATH_MAX];
	int held, joined;
	char list[6 * VT_MAX_PROGS];
	char nth[16];
};

/**
 * replay_live_open() - choose what to play.
 * @d: the trace, or NULL: there is none
 * Each returns 0, or -1 after one line on stderr.
 */
int replay_live_open(struct replay_live *a, struct opts *o, const struct vt_dir *d, char *dir,
		     char **live);
/** replay_live_first_key() - the first index after all keys of what is played. 0: any. */
u32 replay_live_first_key(const struct replay_live *a, const struct vt_dir *d);
/**
 * replay_live_make_trace() - make the directory for the recording. @o: with the settings of the
 * fabric
 */
int replay_live_make_trace(struct replay_live *a, struct opts *o);
/** replay_live_argv() - the arguments of rdmaemu-replay. Return: number of words, at most @max. */
int replay_live_argv(struct replay_live *a, const struct opts *o, char **argv, int max);
/** replay_live_close() - remove a recording that was not kept. */
void replay_live_close(struct replay_live *a);
/** replay_live_is_new() - whether @o wants a trace that does not exist yet at @dir. */
bool replay_live_is_new(const struct opts *o, const char *dir);
/** replay_remove_tree() - remove a directory and everything in it. */
void replay_remove_tree(const char *path);

#endif
