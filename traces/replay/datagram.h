/* SPDX-License-Identifier: MIT */
/** DOC: memory that GRHs of datagrams are written to. The caller holds the lock. */
#ifndef TRACES_REPLAY_DATAGRAM_H
#define TRACES_REPLAY_DATAGRAM_H

#include "traces/replay/identity.h"

/**
 * rp_grh_mark_mrs() - mark the MRs of a receive that a GRH may be written to, if addresses differ
 * from the record.
 */
void rp_grh_mark_mrs(struct rp_prog *g, const struct vt_wr *wr);
/** rp_mr_has_grh() - whether an MR, or another one of the same memory, is marked. */
bool rp_mr_has_grh(const struct rp_prog *g, uint32_t mr);

#endif
