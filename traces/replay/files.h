/* SPDX-License-Identifier: MIT */
/** DOC: file descriptors that the program passed to calls. */
#ifndef TRACES_REPLAY_FILES_H
#define TRACES_REPLAY_FILES_H

#include "traces/replay/replay.h"

/** rp_files_learn() - note the files that a recorded call names. Returns 0 or -ENOMEM. */
int rp_files_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec);
/** rp_files_make() - create the files that are not those of contexts. Returns 0 or -errno. */
int rp_files_make(struct rp_world *w);
/** rp_file_fd() - the local descriptor of a recorded file. */
uint64_t rp_file_fd(const struct rp_prog *g, uint64_t file, uint64_t when);

#endif
