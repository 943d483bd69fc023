/* SPDX-License-Identifier: MIT */
/** DOC: where the trace lets data land in an MR. */
#ifndef TRACES_REPLAY_WRITE_TARGET_H
#define TRACES_REPLAY_WRITE_TARGET_H

#include "traces/replay/replay.h"

/**
 * rp_mr_differs_in_targets() - whether an MR with a shadow differs from it only where the trace
 * lets peers or receives write, and where the recorded final contents are the first contents.
 */
bool rp_mr_differs_in_targets(const struct rp_prog *g, uint32_t mr);

#endif
