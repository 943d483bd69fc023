/* SPDX-License-Identifier: MIT */
/**
 * DOC: how much of a client's segment a process has mapped.
 *
 * A process maps the first SEG_FIRST bytes of a segment, and more when the client uses more: twice
 * as much each time. Each mapping begins at the segment's start, and earlier ones stay until the
 * segment is dropped, so that pointers into them remain valid: both show the same pages. So at most
 * twice the bytes in use are mapped, without a reservation of address space.
 */
#ifndef FABRIC_PROTO_SEG_MAP_H
#define FABRIC_PROTO_SEG_MAP_H

#include "emulator/seg.h"

#define SEG_LEVELS 17u
_Static_assert(SEG_FIRST << (SEG_LEVELS - 1) == SEG_SIZE, "the last level is all of it");

/**
 * struct seg_map - the mappings of one segment. All 0: there is none.
 * @mapped: bytes of the largest, 0: none
 * @base: the largest
 * @at: by level: of SEG_FIRST << level bytes
 */
struct seg_map {
	u64 mapped;
	void *base;
	void *at[SEG_LEVELS];
};

/** seg_map_size() - bytes to map, at least @used of the segment. */
static inline u64 seg_map_size(u64 used)
{
	u64 size = SEG_FIRST;

	while (size < used && size < SEG_SIZE)
		size <<= 1;
	return size;
}

/* --- seg_map.c --- */

/** seg_map_add() - @base is a mapping of @size bytes (seg_map_size()), larger than the others. */
void seg_map_add(struct seg_map *m, void *base, u64 size);
/** seg_map_drop() - unmap all of it. */
void seg_map_drop(struct seg_map *m);

#endif
