/* SPDX-License-Identifier: MIT */
/** DOC: finds the functions of the library below. */
#ifndef TRACES_RECORD_NEXT_SYMBOL_H
#define TRACES_RECORD_NEXT_SYMBOL_H

#include "libshim/interpose/interpose.h"

/**
 * rec_next_symbol() - the function that the program would call without the recorder: the next one
 * in lookup order or, if the program loads the RDMA libraries at run time, the installed library's.
 * Return: NULL: there is none.
 */
static inline void *rec_next_symbol(void **slot, const char *name)
{
	void *fn = load_acquire(slot);

	if (likely(fn))
		return fn;
	fn = next_symbol_resolve(slot, name);
	/* rdma_...() and functions of rsockets begin with r. */
	return fn ? fn : real_symbol(slot, name[0] == 'r' ? REAL_CM : REAL_VERBS, name);
}

#endif
