/* SPDX-License-Identifier: MIT */
/** DOC: results that may differ on another kind of device. */
#ifndef TRACES_REPLAY_TOLERANCE_H
#define TRACES_REPLAY_TOLERANCE_H

#include "traces/replay/identity.h"

/**
 * rp_result_is_tolerated() - whether the result of a call depends only on the devices, so that it
 * is not compared.
 */
bool rp_result_is_tolerated(const struct rp_thread *t, const char *line);
/**
 * rp_word_is_tolerated() - the same for one word of a result. @name: bytes of its key; @got: the
 * word of this run, or NULL
 */
bool rp_word_is_tolerated(const struct rp_thread *t, const char *want, const char *got,
			  size_t name);

#endif
