/* SPDX-License-Identifier: MIT */
/** DOC: finds the functions of the library below. */
#ifndef LIBTAP_NEXT_SYMBOL_H
#define LIBTAP_NEXT_SYMBOL_H

#include "emulator/types.h"
#include "libshim/interpose/export.h"

/** tap_next_symbol_find() - find a function for tap_next_symbol(), and cache it in @slot. */
void *tap_next_symbol_find(void **slot, const char *name);
/**
 * tap_next_symbol_loaded() - the next one in lookup order, of a library that the program has loaded
 * already. Return: NULL: there is none.
 */
void *tap_next_symbol_loaded(void **slot, const char *name);

/**
 * tap_next_symbol() - the function that the program would call without the tap: the next one in
 * lookup order or, if the program loads the RDMA libraries at run time, the installed library's.
 * Return: NULL: there is none.
 */
static inline void *tap_next_symbol(void **slot, const char *name)
{
	void *fn = load_acquire(slot);

	return likely(fn) ? fn : tap_next_symbol_find(slot, name);
}

#endif
