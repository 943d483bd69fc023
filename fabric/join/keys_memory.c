/* SPDX-License-Identifier: MIT */
/*
 * Memory of GMP, with which nettle multiplies points of curves. GMP ends the process when an
 * allocation fails, and takes no error. So the scratch space of a multiplication, 352 bytes in
 * nettle 3.8, is memory that each thread has from its start.
 */
#include "fabric/join/keys.h"

#include <gmp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RESERVE 4096u

/* A bump allocator: @used falls to 0 when nothing is allocated. */
static __thread struct {
	_Alignas(16) u8 bytes[RESERVE];
	size_t used, n;
} reserve;

static bool reserve_has(const void *p)
{
	return (const u8 *)p >= reserve.bytes && (const u8 *)p < reserve.bytes + RESERVE;
}

/* More than there is comes from the heap, and GMP may not get NULL. */
static void *scratch_alloc(size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;
	void *p;

	if (need >= size && need <= RESERVE - reserve.used) {
		p = reserve.bytes + reserve.used;
		reserve.used += need;
		reserve.n++;
		return p;
	}
	p = malloc(size);
	if (!p)
		abort();
	return p;
}

/* Scratch space has secrets in it. */
static void scratch_free(void *p, size_t size)
{
	explicit_bzero(p, size);
	if (!reserve_has(p))
		free(p);
	else if (!--reserve.n)
		reserve.used = 0;
}

static void *scratch_realloc(void *p, size_t size, size_t new_size)
{
	void *q = scratch_alloc(new_size);

	memcpy(q, p, size < new_size ? size : new_size);
	scratch_free(p, size);
	return q;
}

static void reserve_use(void)
{
	mp_set_memory_functions(scratch_alloc, scratch_realloc, scratch_free);
}

void keys_memory_reserve(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, reserve_use);
}
