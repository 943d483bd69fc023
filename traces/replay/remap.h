/* SPDX-License-Identifier: MIT */
/** DOC: recorded lines, rewritten for the local devices. */
#ifndef TRACES_REPLAY_REMAP_H
#define TRACES_REPLAY_REMAP_H

#include "traces/replay/identity.h"

/**
 * rp_line_remap() - rewrite a recorded line for the local devices. Returns NULL: it does not fit.
 * @len: set
 */
const char *rp_line_remap(struct rp_thread *t, const char *line, size_t *len);

#endif
