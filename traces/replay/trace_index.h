/* SPDX-License-Identifier: MIT */
/** DOC: an index of the trace: numbers, keys and objects of the record. */
#ifndef TRACES_REPLAY_TRACE_INDEX_H
#define TRACES_REPLAY_TRACE_INDEX_H

#include "traces/replay/world.h"

#include <stdlib.h>

/** rp_num_find() - the object that had a number at @when. Returns NULL: none. */
const struct rp_num *rp_num_find(const struct rp_num *num, size_t n, uint32_t value, uint32_t mask,
				 uint64_t when);
/**
 * rp_line_object() - the ordinal of the object that a call has created or changed: after " = ", or
 * the argument @arg (" id="). Returns 0: none.
 */
uint32_t rp_line_object(const char *line, enum vobj kind, const char *arg);
/**
 * rp_for_each_wr() - call @fn for each accepted work request of all programs, until it returns
 * other than 0. Returns that, or 0.
 */
int rp_for_each_wr(const struct rp_world *w,
		   int (*fn)(void *arg, uint32_t prog, const struct vt_rec *rec,
			     const struct vt_wr *wr),
		   void *arg);
/** rp_index_read() - index all programs of the trace. Returns 0 or -ENOMEM. */
int rp_index_read(struct rp_world *w);

/** rp_lower_bound() - index of the first of @n sorted elements not before @key; @n: none. */
static inline size_t rp_lower_bound(const void *base, size_t n, size_t size, const void *key,
				    int (*compare)(const void *a, const void *b))
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (compare((const uint8_t *)base + mid * size, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/** rp_sort_array() - like qsort(3), but @base may be NULL if @n is 0. */
static inline void rp_sort_array(void *base, size_t n, size_t size,
				 int (*compare)(const void *a, const void *b))
{
	if (n)
		qsort(base, n, size, compare);
}

#endif
