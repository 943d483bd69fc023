/* SPDX-License-Identifier: MIT */
/** DOC: memory of the program, and its MRs. */
#ifndef TRACES_REPLAY_MEMORY_H
#define TRACES_REPLAY_MEMORY_H

#include "traces/replay/replay.h"

/**
 * rp_memory_init() - map all memory that the program registers. Returns 0 or -errno, with @err set.
 */
int rp_memory_init(struct rp_prog *g, struct vt_error *err);
/** rp_addr_map() - the local address of a recorded one. */
uint64_t rp_addr_map(const struct rp_prog *g, uint64_t addr);
/**
 * rp_addr_unreadable() - an address of unreadable memory, for one that was unreadable in the
 * record.
 */
uint64_t rp_addr_unreadable(uint64_t addr);
/**
 * rp_mr_bind() - an MR was registered or changed; @base and @len are those of the recorded call.
 */
void rp_mr_bind(struct rp_prog *g, uint32_t ord, uint64_t base, uint64_t len, uint8_t *host,
		int64_t delta);
/** rp_mr_unbind() - an MR was deregistered. The caller holds the lock. */
void rp_mr_unbind(struct rp_prog *g, uint32_t ord);
/**
 * rp_mr_at() - the local address of @len bytes at the recorded @addr of an MR. Returns NULL:
 * outside of it.
 */
uint8_t *rp_mr_at(const struct rp_prog *g, uint32_t mr, uint64_t addr, uint64_t len);
/** rp_play_mem() - play VT_MEM. */
bool rp_play_mem(struct rp_thread *t, const struct vt_rec *rec);

#endif
