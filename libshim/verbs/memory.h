/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory that the HCA may access: regions, windows, device memory.
 */
#ifndef LIBSHIM_VERBS_MEMORY_H
#define LIBSHIM_VERBS_MEMORY_H

#include "emulator/limits.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

enum shim_mr_type {
	MRT_USER,
	MRT_NULL,
	MRT_DM,
	MRT_DMABUF,
	MRT_IMPORTED,
};

/**
 * struct shim_mr - a memory region.
 * @map: MRT_DMABUF: its mapping; MRT_USER: its alias, or NULL; of @map_len bytes
 */
struct shim_mr {
	struct ibv_mr mr;
	u32 magic;
	u32 type; /* enum shim_mr_type */
	u32 access;
	u64 iova;
	u64 lend; /* MRT_USER: for lend_region_drop() */
	struct shim_dm *dm; /* MRT_DM */
	void *map;
	size_t map_len;
};

struct shim_mw {
	struct ibv_mw mw;
	u32 magic;
};

/**
 * struct shim_dm - device memory.
 * @epoch: of the process that allocated or imported it
 * @users: regions of this process on it
 */
struct shim_dm {
	struct ibv_dm dm;
	u32 magic;
	u32 epoch;
	u32 users;
	u64 len;
	u8 *map;
};

static inline struct shim_mw *shim_mw_of(struct ibv_mw *ibmw)
{
	struct shim_mw *mw = (struct shim_mw *)ibmw;

	return mw && mw->magic == MAGIC_MW ? mw : NULL;
}

#define MR_SHADOW_CHUNK	 1024u
#define MR_SHADOW_CHUNKS (HCA_MAX_MR / MR_SHADOW_CHUNK)

/** struct mr_shadow - what is known of a region of this process: mem.c. */
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

/* --- mem.c --- */

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

/* --- prefault.c --- */

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

/* --- advise.c --- */

int shim_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg, uint32_t n);

/* --- alias.c --- */

/**
 * shim_alias_make() - a second mapping of the pages of shared memory, if RDMAEMU_ALIAS asks for it.
 * Return: its first page, and its length in *map_len; NULL: there is none
 */
void *shim_alias_make(u64 addr, u64 len, size_t *map_len);
/**
 * rdmaemu_has_alias() - whether the device does without the program's own mapping of a region, for
 * the checker, which finds it by dlsym(3). It is one of this library's regions.
 */
SHIM_EXPORT bool rdmaemu_has_alias(const struct ibv_mr *mr);

/* --- mr.c --- */

/**
 * shim_mr_new() - register a region with *cmd and set its public @addr and @len.
 * Return: NULL with errno.
 */
struct shim_mr *shim_mr_new(struct ibv_pd *pd, enum shim_mr_type type, struct hca_cmd *cmd,
			    void *addr, size_t len);
/** shim_mr_check_access() - check access flags as ibv_reg_mr(3) describes. Return: 0 or -errno. */
int shim_mr_check_access(u32 access);
/** shim_mr_unimport() - free a region and leave its counterpart in the HCA alone. */
void shim_mr_unimport(struct shim_mr *mr);
/**
 * rdmaemu_next_key() - the next region that this thread registers, or window that it allocates,
 * gets this key, or fails: EBUSY if the key's index is in use, EINVAL if no such index exists. 0:
 * any key.
 *
 * For rdmaemu-replay, which finds it by dlsym(3): recorded keys are known to peers.
 */
SHIM_EXPORT void rdmaemu_next_key(u32 key);
/** shim_mr_wanted_key() - that key, once; 0: any. */
u32 shim_mr_wanted_key(void);
struct ibv_mr *shim_alloc_null_mr(struct ibv_pd *pd);

/* --- mw.c --- */

struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shim_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shim_dealloc_mw(struct ibv_mw *mw);

/* --- dm.c --- */

struct ibv_dm *shim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr);
int shim_free_dm(struct ibv_dm *dm);
struct ibv_mr *shim_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access);

#endif
