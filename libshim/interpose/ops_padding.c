/* SPDX-License-Identifier: MIT */
/* The block behind verbs_context.priv, see shim_priv_guard(). */
#include "libshim/interpose/interpose.h"

const char interpose_soname[] = "librdmaemu.so";

#define GUARD_WORDS 1024 /* 8 KiB; the table of rdma-core 65 has about 120 entries */

static int guard_op(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

void *shim_priv_guard(void)
{
	/*
	 * Filled at first use: as initialised data it would cost every process of the container
	 * a thousand relocations. Threads may fill it at once, with the same words.
	 */
	static void *block[GUARD_WORDS];
	u32 i;

	if (load_acquire(&block[GUARD_WORDS - 1]))
		return block;
	for (i = 0; i < GUARD_WORDS; i++)
		store_release(&block[i], (void *)guard_op);
	return block;
}
