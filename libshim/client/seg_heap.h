/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory for rings in the client's own segment.
 */
#ifndef LIBSHIM_CLIENT_SEG_HEAP_H
#define LIBSHIM_CLIENT_SEG_HEAP_H

#include "emulator/types.h"

/* --- seg_heap.c --- */

/**
 * shim_seg_heap_init() - set up the heap unless an earlier connection did. Return: 0 or -ENOMEM.
 */
int shim_seg_heap_init(void);
/**
 * shim_seg_alloc() - zeroed space, 64-byte aligned. Return: its offset in the segment, 0: ENOMEM.
 */
u64 shim_seg_alloc(u64 size);
/** shim_seg_free() - free it; whole pages return to the system. */
void shim_seg_free(u64 off, u64 size);

/* Around fork(). */
void shim_seg_heap_lock(void);
void shim_seg_heap_unlock(void);
void shim_seg_heap_forked(void);

#endif
