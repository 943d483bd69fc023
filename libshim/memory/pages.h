/* SPDX-License-Identifier: MIT */
/**
 * DOC: pages of regions: faulted in (prefault.c), or mapped a second time (alias.c).
 */
#ifndef LIBSHIM_MEMORY_PAGES_H
#define LIBSHIM_MEMORY_PAGES_H

#include "emulator/types.h"

/* --- prefault.c --- */

/** SHIM_POPULATE_MAX - bytes of a region that are all faulted in: some 30 ms. */
#define SHIM_POPULATE_MAX (64u << 20)

/**
 * shim_mem_prefault() - check that memory exists, as pinning would, and fault all of it in.
 * Return: 0 or -EFAULT (unmapped, after the end of a file, or @write and read-only).
 */
int shim_mem_prefault(const void *addr, size_t len, bool write);
/**
 * shim_mem_pin() - the same for a region: no access to it may fail later.
 * A large region is faulted in only where the kernel might refuse a page later.
 */
int shim_mem_pin(const void *addr, size_t len, bool write);

/* --- alias.c --- */

/**
 * shim_alias_make() - a second mapping of the pages of shared memory, if RDMAEMU_ALIAS asks for it.
 * Return: its first page, and its length in *map_len; NULL: there is none
 */
void *shim_alias_make(u64 addr, u64 len, size_t *map_len);

#endif
