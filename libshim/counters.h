/* SPDX-License-Identifier: MIT */
/**
 * DOC: counters objects, as flows refer to them.
 */
#ifndef LIBSHIM_COUNTERS_H
#define LIBSHIM_COUNTERS_H

#include "libshim/objects.h"

struct shim_ctr {
	union {
		struct ibv_counters counters;
		u8 room[64];
	};
	u32 magic;
	u32 handle;
};

/** ctr_of() - the shim's view of a counters object, or NULL. */
struct shim_ctr *ctr_of(struct ibv_counters *counters);

#endif
