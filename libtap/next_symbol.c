/* SPDX-License-Identifier: MIT */
/* The functions of the library below. */
#include "libtap/next_symbol.h"
#include "libshim/interpose/interpose.h"

void *tap_next_symbol_loaded(void **slot, const char *name)
{
	return next_symbol(slot, name);
}

void *tap_next_symbol_find(void **slot, const char *name)
{
	void *fn = next_symbol_resolve(slot, name);

	/* rdma_...() and functions of rsockets begin with r. */
	return fn ? fn : real_symbol(slot, name[0] == 'r' ? REAL_CM : REAL_VERBS, name);
}
