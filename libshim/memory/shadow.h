/* SPDX-License-Identifier: MIT */
/**
 * DOC: the shadow of the HCA's region table. See shadow.c.
 */
#ifndef LIBSHIM_MEMORY_SHADOW_H
#define LIBSHIM_MEMORY_SHADOW_H

#include "emulator/limits.h"
#include "emulator/ring.h"
#include "libshim/interpose/export.h"

#define MR_SHADOW_CHUNK	 1024u
#define MR_SHADOW_CHUNKS (HCA_MAX_MR / MR_SHADOW_CHUNK)

/** struct mr_shadow - what is known of a region of this process: shadow.c. */
struct mr_shadow {
	u32 seq;
	u32 key; /* 0: none */
	u32 pd;
	u32 access;
	u64 addr;
	u64 iova;
	u64 len;
};

extern struct mr_shadow *mr_shadow_chunks[MR_SHADOW_CHUNKS] SHIM_HIDDEN;

/** mr_shadow_at() - the entry of a key's index, or NULL. */
static inline struct mr_shadow *mr_shadow_at(u32 key)
{
	u32 index = key >> 8;
	struct mr_shadow *chunk;

	if (unlikely(index >= HCA_MAX_MR || !key))
		return NULL;
	chunk = load_acquire(&mr_shadow_chunks[index / MR_SHADOW_CHUNK]);
	return chunk ? chunk + index % MR_SHADOW_CHUNK : NULL;
}

/** mr_shadow_find() - shim_mr_shadow_find(), in line. @any_pd: @pd does not matter */
static inline __attribute__((always_inline)) void *mr_shadow_find(u32 lkey, bool any_pd, u32 pd,
								  u32 access, u64 addr, u64 len)
{
	const struct mr_shadow *s = mr_shadow_at(lkey);
	u64 off, size;
	u32 seq;

	if (unlikely(!s))
		return NULL;
	seq = load_acquire(&s->seq);
	/* A writer may be half way: the entry's number tells in the end. */
	if (unlikely((seq & 1) || load_relaxed(&s->key) != lkey ||
		     (!any_pd && load_relaxed(&s->pd) != pd) ||
		     (access && (access & ~load_relaxed(&s->access)))))
		return NULL;
	off = addr - load_relaxed(&s->iova);
	size = load_relaxed(&s->len);
	if (unlikely(off > size || len > size - off))
		return NULL;
	off += load_relaxed(&s->addr);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return likely(load_relaxed(&s->seq) == seq) ? (void *)(uintptr_t)off : NULL;
}

/* --- shadow.c --- */

/**
 * shim_mr_shadow_set() - record a region for small copies by this process. Return: 0 or -ENOMEM.
 */
int shim_mr_shadow_set(u32 key, u32 pd, u32 access, u64 addr, u64 iova, u64 len);
void shim_mr_shadow_clear(u32 key);

/* In place of access rights: the index belongs to a window. */
#define SHADOW_WINDOW (1u << 31)

/** struct mr_known - the shadow's entry for a key's index. */
struct mr_known {
	u32 key;
	u32 pd;
	u32 access;
	u64 addr;
	u64 iova;
	u64 len;
};

/** shim_mr_shadow_get() - get the shadow's entry for the index of @key. Return: false: none. */
bool shim_mr_shadow_get(u32 key, struct mr_known *known);
/**
 * shim_mr_shadow_find() - the place in this process of [addr, addr+len) of a request.
 * @pd: HCA index of the protection domain that must match, or ~0 for any
 * @access: rights that the region must have (0: local read)
 * Return: address, or NULL if the HCA would refuse it. Takes no lock.
 */
void *shim_mr_shadow_find(u32 lkey, u32 pd, u32 access, u64 addr, u64 len);
/** shim_mr_shadow_forget() - in a forked child. */
void shim_mr_shadow_forget(void);

#endif
