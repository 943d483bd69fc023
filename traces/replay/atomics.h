/* SPDX-License-Identifier: MIT */
/** DOC: words of memory that peers modify by atomics. */
#ifndef TRACES_REPLAY_ATOMICS_H
#define TRACES_REPLAY_ATOMICS_H

#include "traces/replay/world.h"

/** rp_words_init() - find the words that peers modify by atomics. Returns 0 or -ENOMEM. */
int rp_words_init(struct rp_world *w);
/**
 * rp_word_find() - the word that contains the byte at @addr of an MR. Returns NULL: no atomics
 * there.
 */
struct rp_word *rp_word_find(const struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr);
/**
 * rp_words_put() - write recorded bytes of an MR, except words whose value atomics determine.
 * @addr: address of the first byte, as atomics use it; @at: its local address
 */
void rp_words_put(const struct rp_world *w, uint32_t prog, const struct vt_rec *rec, uint64_t addr,
		  uint8_t *at);

#endif
