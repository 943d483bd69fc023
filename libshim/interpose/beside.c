/* SPDX-License-Identifier: MIT */
/*
 * The shim next to the machine's own libraries (libdispatch/): it is not preloaded, so its wrappers
 * of libc are nobody's, and its variables have names of their own, since an outer run's shim may be
 * in the same process.
 */
#include "fabric/proto/env.h"
#include "libshim/interpose/interpose.h"

#include <stdlib.h>

SHIM_EXPORT void rdmaemu_stand_beside(void);

static bool is_beside;

void rdmaemu_stand_beside(void)
{
	store_release(&is_beside, true);
}

const char *shim_setting(const char *name)
{
	static const char *const other[][2] = {
		{ PROTO_ENV, PROTO_BESIDE_ENV },
		{ PROTO_NODE_ENV, PROTO_BESIDE_NODE_ENV },
		{ PROTO_RUN_ENV, PROTO_BESIDE_RUN_ENV },
	};
	size_t i;

	if (!load_acquire(&is_beside))
		return getenv(name);
	for (i = 0; i < ARRAY_SIZE(other); i++)
		if (!strcmp(name, other[i][0]))
			return getenv(other[i][1]);
	return NULL;
}
