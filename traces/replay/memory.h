/* SPDX-License-Identifier: MIT */
/** DOC: memory of the program, and its MRs. */
#ifndef TRACES_REPLAY_MEMORY_H
#define TRACES_REPLAY_MEMORY_H

#include "traces/replay/replay.h"

/* --- memory.c --- */

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

/* --- shadow.c: the caller holds the lock --- */

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

/* --- write_target.c --- */

/**
 * rp_mr_differs_in_targets() - whether an MR with a shadow differs from it only where the trace
 * lets peers or receives write, and where the recorded final contents are the first contents.
 */
bool rp_mr_differs_in_targets(const struct rp_prog *g, uint32_t mr);

#endif
