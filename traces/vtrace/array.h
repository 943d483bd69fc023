/* SPDX-License-Identifier: MIT */
/** DOC: arrays that grow one entry at a time. */
#ifndef TRACES_VTRACE_ARRAY_H
#define TRACES_VTRACE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/**
 * vt_array_room() - make room for one more entry in an array of @n, which is full when @n is 0 or a
 * power of two. @size: of an entry, in bytes
 *
 * Return: the array, which may have moved; NULL: no memory, and the array is as before.
 */
static inline void *vt_array_room(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);
}

#endif
