/* SPDX-License-Identifier: MIT */
/*
 * The world's memory, brought back for each input of a fuzzer. While wire_make_frozen() runs, each
 * allocation has pages of its own. The fabric process allocates nothing later.
 */
#include "tests/lib/c/frozen.h"
#include "tests/lib/wire/wire_calls.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#define PAGE	    4096ul
#define ALLOCATIONS 48u

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);

static _Thread_local bool making;
static struct {
	u8 *mem;
	size_t size;
} allocation[ALLOCATIONS];
static u32 n_allocations;
static struct wire_world kept;

static void *allocation_note(void *mem, size_t size)
{
	WIRE_MUST(n_allocations < ALLOCATIONS);
	allocation[n_allocations].mem = mem;
	allocation[n_allocations++].size = size;
	return mem;
}

static void *allocation_map(size_t size)
{
	void *mem;

	making = false; /* frozen_map() calls mmap() */
	mem = allocation_note(frozen_map(size), size);
	making = true;
	return mem;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return making ? allocation_map(n * size) : __real_calloc(n, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	WIRE_MUST(!making || align <= PAGE);
	return making ? allocation_map(size) : __real_aligned_alloc(align, size);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *mem = __real_mmap(at, len, prot, flags, fd, off);

	return making && mem != MAP_FAILED ? allocation_note(mem, len) : mem;
}

/* A sanitizer finds accesses past the end of an allocation, which its own allocator would find. */
static void allocation_freeze(u8 *mem, size_t size)
{
	size_t rest = -size & (PAGE - 1);

	frozen_add(mem, size);
	ASAN_POISON_MEMORY_REGION(mem + size, rest);
}

void wire_make_frozen(void (*live)(void))
{
	u32 i;

	if (wire.f)
		return;
	making = true;
	wire_make();
	making = false;
	live();
	for (i = 0; i < n_allocations; i++)
		allocation_freeze(allocation[i].mem, allocation[i].size);
	kept = wire;
}

void wire_restore(void)
{
	frozen_restore();
	wire = kept;
}
