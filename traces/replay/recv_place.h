/* SPDX-License-Identifier: MIT */
/** DOC: which received data can be compared. The caller holds the lock. */
#ifndef TRACES_REPLAY_RECV_PLACE_H
#define TRACES_REPLAY_RECV_PLACE_H

#include "traces/replay/replay.h"

/** rp_places_init() - find out where data lands. Returns 0 or -ENOMEM. */
int rp_places_init(struct rp_prog *g);
/**
 * rp_place_taken(), rp_place_left() - a receive was posted, or is not posted any more.
 * rp_place_left() returns whether its bytes can be compared.
 */
void rp_place_taken(struct rp_prog *g, const struct vt_wr *wr);
bool rp_place_left(struct rp_prog *g, const struct vt_wr *wr);
/** rp_place_written() - the replay overwrites received data at a recorded address. */
void rp_place_written(struct rp_prog *g, uint64_t addr, uint64_t len);

#endif
