/* SPDX-License-Identifier: MIT */
/** DOC: recorded contents of MRs. The caller holds the lock. */
#ifndef TRACES_REPLAY_SHADOW_H
#define TRACES_REPLAY_SHADOW_H

#include "traces/replay/replay.h"

/**
 * rp_shadow_new(), rp_shadow_free() - a shadow of @len bytes, and as many for the first contents.
 * NULL: no memory.
 */
uint8_t *rp_shadow_new(struct rp_prog *g, uint64_t len);
void rp_shadow_free(struct rp_prog *g, struct rp_mr *mr);
/** rp_shadow_find_twins() - mark a new MR and the MRs with which it shares memory as twins. */
void rp_shadow_find_twins(struct rp_prog *g, struct rp_mr *mr);
/**
 * rp_shadow_update_twins() - copy recorded contents at @at, in an MR, to the shadows of its twins.
 */
void rp_shadow_update_twins(struct rp_prog *g, uint32_t mr, const uint8_t *at, const uint8_t *bytes,
			    uint64_t len);

#endif
