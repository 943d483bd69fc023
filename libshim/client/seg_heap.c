/* SPDX-License-Identifier: MIT */
/**
 * DOC: the allocator of the segment's heap, which holds the rings.
 *
 * Theory of operation
 * -------------------
 * The heap is a sequence of blocks without gaps, each free or used; no two free blocks adjoin. The
 * descriptions of blocks lie in process memory, since peers can write the segment. Each is linked
 * to its neighbours; free ones are on a list by size class, used ones in a hash table by offset.
 *
 * Free memory is always zero. Freeing a block cuts its whole pages out of the segment's file
 * (MADV_REMOVE), and pages that have become wholly free with it, and clears the edges. So an
 * allocation clears nothing, and untouched rings cost no memory.
 *
 * The segment is mapped as far as the heap has used it (shim_ops_grow()).
 *
 * The heap outlives fork(): used blocks stay used in the child, so an inherited object that the
 * child frees is never mistaken for one of the child's own.
 */
#include "libshim/client/seg_heap.h"

#include "emulator/seg.h"
#include "libshim/client/client.h"
#include "libshim/client/engine_ops.h"
#include "libshim/interpose/syscall.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GRAIN	  64u
#define PAGE	  4096u
#define N_CLASSES 39u /* by the position of the size's highest bit */
#define N_BUCKETS 4096u
#define MAX_TRIES 32u /* blocks of a class to try before the next class */

/**
 * struct block - a piece of the heap.
 * @prev, @next: neighbours by offset
 * @link, @back: free: others of its size class; used: @link is the hash chain
 */
struct block {
	u64 off;
	u64 size;
	struct block *prev, *next;
	struct block *link, **back;
	bool used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *classes[N_CLASSES];
static struct block *buckets[N_BUCKETS];
static bool ready;

void shim_seg_heap_lock(void)
{
	pthread_mutex_lock(&lock);
}

void shim_seg_heap_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void shim_seg_heap_forked(void)
{
	pthread_mutex_unlock(&lock);
}

static u32 block_size_class(u64 size)
{
	return min_u32(63u - (u32)__builtin_clzll(size), N_CLASSES - 1);
}

static struct block **block_bucket(u64 off)
{
	return &buckets[(off / GRAIN * 0x9e3779b97f4a7c15ULL) >> 52];
}
_Static_assert(N_BUCKETS == 1u << (64 - 52), "block_bucket() takes the product's top bits");

static void free_list_insert(struct block *b)
{
	struct block **head = &classes[block_size_class(b->size)];

	b->used = false;
	b->link = *head;
	b->back = head;
	if (*head)
		(*head)->back = &b->link;
	*head = b;
}

static void free_list_remove(struct block *b)
{
	*b->back = b->link;
	if (b->link)
		b->link->back = b->back;
}

int shim_seg_heap_init(void)
{
	struct block *b;
	int ret = 0;

	shim_seg_heap_lock();
	if (!ready) {
		b = calloc(1, sizeof(*b));
		if (b) {
			b->off = SEG_HEAP_OFF;
			b->size = SEG_SIZE - SEG_HEAP_OFF;
			free_list_insert(b);
			ready = true;
		} else {
			ret = -ENOMEM;
		}
	}
	shim_seg_heap_unlock();
	return ret;
}

/* Bytes in front of @b's first offset that is fit for an allocation of @align. */
static u64 block_padding(const struct block *b, u64 align)
{
	return ALIGN_UP(b->off, align) - b->off;
}

static struct block *block_find_in_class(u32 class, u64 size, u64 align, u32 tries)
{
	struct block *b;

	for (b = classes[class]; b && tries; b = b->link, tries--)
		if (b->size >= size + block_padding(b, align))
			return b;
	return NULL;
}

static struct block *block_find(u64 size, u64 align)
{
	struct block *b = NULL;
	u32 c;

	for (c = block_size_class(size); c < N_CLASSES && !b; c++)
		b = block_find_in_class(c, size, align, MAX_TRIES);
	/* The heap is nearly full: try every block. */
	for (c = block_size_class(size); c < N_CLASSES && !b; c++)
		b = block_find_in_class(c, size, align, ~0u);
	return b;
}

/* Split @b, which is on no list, at @size; the rest becomes free. Return: 0 or -ENOMEM. */
static int block_split(struct block *b, u64 size)
{
	struct block *rest;

	if (b->size == size)
		return 0;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	rest->off = b->off + size;
	rest->size = b->size - size;
	rest->prev = b;
	rest->next = b->next;
	if (b->next)
		b->next->prev = rest;
	b->next = rest;
	b->size = size;
	free_list_insert(rest);
	return 0;
}

static struct block *block_carve(u64 size, u64 align)
{
	struct block *b = block_find(size, align);
	struct block *front;
	u64 pad;

	if (!b)
		return NULL;
	free_list_remove(b);
	pad = block_padding(b, align);
	if (pad) {
		front = b;
		if (block_split(front, pad)) {
			free_list_insert(front);
			return NULL;
		}
		free_list_insert(front);
		b = front->next;
		free_list_remove(b);
	}
	/* Without memory to describe the rest, hand out the block as it is. */
	block_split(b, size);
	b->used = true;
	b->link = *block_bucket(b->off);
	*block_bucket(b->off) = b;
	return b;
}

/*
 * Make @b's memory zero again; [@whole_off, @whole_end) is the free block that it will be part of.
 */
static void block_wipe(const struct block *b, u64 whole_off, u64 whole_end)
{
	u64 end = b->off + b->size;
	u64 from = b->off / PAGE * PAGE;
	u64 to = ALIGN_UP(end, PAGE);

	/* Inherited over fork() and never mapped here. */
	if (end > shim.map.mapped)
		return;
	if (from < whole_off)
		from += PAGE;
	if (to > whole_end)
		to -= PAGE;
	/* madvise() fails for locked memory (mlockall()): clear it here then. */
	if (from >= to || sys_madvise(shim_seg_at(from), to - from, MADV_REMOVE)) {
		memset(shim_seg_at(b->off), 0, b->size);
		return;
	}
	if (b->off < from)
		memset(shim_seg_at(b->off), 0, from - b->off);
	if (end > to)
		memset(shim_seg_at(to), 0, end - to);
}

/* Take the used block that starts at @off out of the hash table. */
static struct block *block_unhash(u64 off, u64 size)
{
	struct block **at;
	struct block *b;

	for (at = block_bucket(off); *at; at = &(*at)->link) {
		b = *at;
		if (b->off == off && b->size >= size) {
			*at = b->link;
			return b;
		}
	}
	return NULL;
}

/* Append the free block @b to @a and forget @b; both are on no list. */
static void block_merge(struct block *a, struct block *b)
{
	a->size += b->size;
	a->next = b->next;
	if (b->next)
		b->next->prev = a;
	free(b);
}

/* Make the used block @b, which is in no table any more, free again. It is zero. */
static void block_release(struct block *b)
{
	struct block *prev = b->prev && !b->prev->used ? b->prev : NULL;
	struct block *next = b->next && !b->next->used ? b->next : NULL;

	if (next) {
		free_list_remove(next);
		block_merge(b, next);
	}
	if (prev) {
		free_list_remove(prev);
		block_merge(prev, b);
		b = prev;
	}
	free_list_insert(b);
}

u64 shim_seg_alloc(u64 size)
{
	u64 align = size >= PAGE ? PAGE : GRAIN;
	struct block *b = NULL;

	if (!size || size > SEG_SIZE)
		return 0;
	size = ALIGN_UP(size, align);
	shim_seg_heap_lock();
	if (ready)
		b = block_carve(size, align);
	if (b && shim_ops_grow(b->off + b->size)) {
		block_unhash(b->off, b->size);
		block_release(b);
		b = NULL;
	}
	shim_seg_heap_unlock();
	return b ? b->off : 0;
}

void shim_seg_free(u64 off, u64 size)
{
	struct block *b, *prev, *next;

	if (!off)
		return;
	shim_seg_heap_lock();
	b = block_unhash(off, size);
	if (b) {
		prev = b->prev && !b->prev->used ? b->prev : NULL;
		next = b->next && !b->next->used ? b->next : NULL;
		block_wipe(b, prev ? prev->off : b->off,
			   next ? next->off + next->size : b->off + b->size);
		block_release(b);
	}
	shim_seg_heap_unlock();
}
