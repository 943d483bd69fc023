/* SPDX-License-Identifier: MIT */
/** DOC: whether the local devices have all that the trace needs. */
#ifndef TRACES_REPLAY_DEV_CHECK_H
#define TRACES_REPLAY_DEV_CHECK_H

#include "traces/replay/identity.h"

/**
 * rp_devices_fit() - whether the local devices have all that the trace needs. Returns false: @why
 * is set.
 */
bool rp_devices_fit(const struct rp_prog *g, const struct vt_devices *here, char *why, size_t cap);

#endif
