/* SPDX-License-Identifier: MIT */
/** DOC: the mappings of a client's segment in this process. See seg_map.h. */
#include "fabric/proto/seg_map.h"

#include <sys/mman.h>

void seg_map_add(struct seg_map *m, void *base, u64 size)
{
	m->at[__builtin_ctzll(size / SEG_FIRST)] = base;
	/* Threads without a lock use the base, for what was mapped before they could know of it. */
	store_release(&m->base, base);
	store_release(&m->mapped, size);
}

void seg_map_drop(struct seg_map *m)
{
	u32 i;

	for (i = 0; i < SEG_LEVELS; i++)
		if (m->at[i])
			munmap(m->at[i], SEG_FIRST << i);
	memset(m, 0, sizeof(*m));
}
