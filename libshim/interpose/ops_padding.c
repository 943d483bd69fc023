/* SPDX-License-Identifier: MIT */
/*
 * The table that verbs_context.priv of our contexts points to, see ops_padding() in interpose.h,
 * and the name of this library.
 */
#include "libshim/interpose/interpose.h"

const char interpose_soname[] = "librdmaemu.so";
const bool interpose_follows = false;
const bool interpose_has_cm = true;
const bool interpose_has_efa = true;

#define PADDING_WORDS 1024 /* 8 KiB; the table of rdma-core 65 has about 120 entries */

static int padding_op(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

void *ops_padding(void)
{
	/*
	 * Filled at first use: initialised data would cost every process a thousand relocations.
	 * Threads may fill it concurrently, with the same words.
	 */
	static void *block[PADDING_WORDS];
	u32 i;

	if (load_acquire(&block[PADDING_WORDS - 1]))
		return block;
	for (i = 0; i < PADDING_WORDS; i++)
		store_release(&block[i], (void *)padding_op);
	return block;
}
