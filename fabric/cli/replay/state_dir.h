/* SPDX-License-Identifier: MIT */
/**
 * DOC: state directories of `rdmaemu replay`: making one, and removing those of replays that were
 * killed.
 *
 * Each has a file that its replay, and all programs that it has started, hold a lock on, by a
 * descriptor that outlives exec. Once no process holds the lock and no fabric answers there, the
 * directory is unused. The parent directory is locked while one is made and while others are
 * checked, so no process sees one that is half made.
 */
#ifndef FABRIC_CLI_REPLAY_STATE_DIR_H
#define FABRIC_CLI_REPLAY_STATE_DIR_H

#include <limits.h>

/**
 * replay_dir_make() - make a new directory, private to this process, and remove unused ones.
 * @dir: the state directory to make it in; @path: receives its path
 * Return: 0, or -1 after one line on stderr.
 */
int replay_dir_make(const char *dir, char path[PATH_MAX]);

#endif
