/* SPDX-License-Identifier: MIT */
/** DOC: what the kinds of posts share. */
#ifndef TRACES_REPLAY_POST_H
#define TRACES_REPLAY_POST_H

#include "traces/replay/identity.h"

/** rp_scratch_reserve() - room for a record's work requests. */
bool rp_scratch_reserve(struct rp_thread *t, const struct vt_rec *rec);
/**
 * rp_sges_make() - entries of a work request, and what it sends in the memory they name.
 * @room: of t->scratch.bytes, for what lies in no MR; moves behind what is used
 */
void rp_sges_make(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr,
		  struct ibv_sge *to, uint8_t **room);
/** rp_post_compare() - compare what a post has returned. @bad: index of the one refused, or how many there are */
bool rp_post_compare(struct rp_thread *t, const struct vt_rec *rec, int ret, uint32_t bad);
/** rp_imm_map() - the immediate of a work request. A datagram's that is its queue pair's number is that of this run. */
__be32 rp_imm_map(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr);
/** rp_recv_repost() - post a receive again that an ignored message has taken. With the lock. */
void rp_recv_repost(struct rp_thread *t, const struct vt_rec *rec, uint32_t qp, struct rp_recv *r);

#endif
