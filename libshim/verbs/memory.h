/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory that the HCA may access: regions, windows, device memory.
 */
#ifndef LIBSHIM_VERBS_MEMORY_H
#define LIBSHIM_VERBS_MEMORY_H

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

/* --- advise.c --- */

int shim_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg, uint32_t n);

/* --- mr.c --- */

/**
 * rdmaemu_has_alias() - whether the device does without the program's own mapping of a region, for
 * the checker, which finds it by dlsym(3). It is one of this library's regions.
 */
SHIM_EXPORT bool rdmaemu_has_alias(const struct ibv_mr *mr);
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
