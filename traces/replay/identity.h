/* SPDX-License-Identifier: MIT */
/**
 * DOC: the local devices of the programs.
 *
 * The process that plays a program describes the local devices in the format of pN/devices, and
 * publishes the text in shared memory. Recorded lines are rewritten with the pairs of
 * traces/compare/ before they are parsed, both what goes in and the expected result. If both sides
 * are equal there are no pairs, and lines are used unchanged.
 */
#ifndef TRACES_REPLAY_IDENTITY_H
#define TRACES_REPLAY_IDENTITY_H

#include "traces/compare/compare.h"
#include "traces/replay/replay.h"

/**
 * struct rp_seen - the local devices of a program, in the format of pN/devices. In shared memory.
 */
struct rp_seen {
	bool differs; /* from the recorded devices */
	char text[VT_DEVICES_TEXT / 4];
};

/* --- identity.c --- */

/** rp_map_own() - build g->map from the program's own devices. Returns 0 or -errno. */
int rp_map_own(struct rp_prog *g, const struct vt_devices *here);
/**
 * rp_map_make() - when all processes have published their devices, add them to g->map, which stays
 * NULL if nothing differs. Returns 0 or -errno.
 */
int rp_map_make(struct rp_prog *g);
/* --- datagram.c: the caller holds the lock --- */

/**
 * rp_grh_mark_mrs() - mark the MRs of a receive that a GRH may be written to, if addresses differ
 * from the record.
 */
void rp_grh_mark_mrs(struct rp_prog *g, const struct vt_wr *wr);
/** rp_mr_has_grh() - whether an MR, or another one of the same memory, is marked. */
bool rp_mr_has_grh(const struct rp_prog *g, uint32_t mr);

#endif
