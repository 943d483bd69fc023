/* SPDX-License-Identifier: MIT */
/**
 * DOC: directories of state of `rdmaemu replay`: made, and those of replays that were killed cleared away.
 *
 * Each has a file on which its replay and all that it has started hold a lock, by a descriptor that outlives exec. Where
 * nobody holds that any more, and no fabric answers there, nobody uses it. The state directory is locked while one
 * is made and while others are looked at: none is seen half made.
 */
#ifndef FABRIC_CLI_REPLAY_STATE_DIR_H
#define FABRIC_CLI_REPLAY_STATE_DIR_H

#include <limits.h>

/**
 * replay_dir_make() - a new directory, private to this process; old ones that nobody uses go.
 * @dir: the state directory that it is made in; @path: receives its path
 * Return: 0, or -1 after one line on stderr.
 */
int replay_dir_make(const char *dir, char path[PATH_MAX]);

#endif
