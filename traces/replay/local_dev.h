/* SPDX-License-Identifier: MIT */
/** DOC: the local devices of a program. */
#ifndef TRACES_REPLAY_LOCAL_DEV_H
#define TRACES_REPLAY_LOCAL_DEV_H

#include "traces/replay/replay.h"

/**
 * rp_local_dev_check() - publish the local devices for a program in shared memory.
 * Returns false: they cannot replace the recorded ones, and the replay fails.
 */
bool rp_local_dev_check(struct rp_prog *g);

#endif
