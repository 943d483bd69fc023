/* SPDX-License-Identifier: MIT */
/** DOC: shared by the kinds of posts. */
#ifndef TRACES_REPLAY_POST_H
#define TRACES_REPLAY_POST_H

#include "traces/replay/identity.h"

/** rp_scratch_reserve() - make room in t->scratch for the work requests of a record. */
bool rp_scratch_reserve(struct rp_thread *t, const struct vt_rec *rec);
/**
 * rp_sges_make() - make the entries of a work request, and write what it sends to their memory.
 * @room: in t->scratch.bytes, for data that is in no MR; advanced past what is used
 */
void rp_sges_make(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr,
		  struct ibv_sge *to, uint8_t **room);
/**
 * rp_post_compare() - compare the result of a post. @bad: index of the refused work request, or
 * their number
 */
bool rp_post_compare(struct rp_thread *t, const struct vt_rec *rec, int ret, uint32_t bad);
/**
 * rp_imm_map() - the immediate of a work request. If a datagram's immediate is the number of its
 * own QP, it becomes the number of this run.
 */
__be32 rp_imm_map(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr);

#endif
