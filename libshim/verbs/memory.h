/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory that the HCA may use: regions, windows, device memory.
 */
#ifndef LIBSHIM_VERBS_MEMORY_H
#define LIBSHIM_VERBS_MEMORY_H

#include "libshim/verbs/objects.h"

/* --- mem.c ---------------------------------------------------------------------------------- */

/** shim_mr_shadow_set() - record a region for small copies by this process. Return: 0 or -ENOMEM. */
int shim_mr_shadow_set(u32 key, u32 pd, u32 access, u64 addr, u64 iova, u64 len);
void shim_mr_shadow_clear(u32 key);

/* In place of access rights: the index is a window's. */
#define SHADOW_WINDOW (1u << 31)

/** struct mr_known - what is known of a key's index. */
struct mr_known {
	u32 key;
	u32 pd;
	u32 access;
	u64 addr;
	u64 iova;
	u64 len;
};

/** shim_mr_shadow_get() - what this process knows of the index of @key. Return: false for nothing. */
bool shim_mr_shadow_get(u32 key, struct mr_known *known);
/**
 * shim_mr_shadow_find() - where [addr, addr+len) as a request names it lies in this process.
 * @pd: HCA index of the protection domain that must match, or ~0 for any
 * @access: rights that are needed (0: local read)
 * Return: address, or NULL when the HCA would refuse it. Takes no lock.
 */
void *shim_mr_shadow_find(u32 lkey, u32 pd, u32 access, u64 addr, u64 len);
/** shim_mr_shadow_forget() - in a forked child. */
void shim_mr_shadow_forget(void);

/* --- prefault.c ----------------------------------------------------------------------------- */

/**
 * shim_mem_prefault() - check that memory is there, as pinning would, and fault it in.
 * Return: 0, -EFAULT (unmapped, or @write and read-only) or -ENOMEM.
 */
int shim_mem_prefault(const void *addr, size_t len, bool write);

/* --- advise.c ------------------------------------------------------------------------------- */

int shim_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg, uint32_t n);

/* --- mr.c ----------------------------------------------------------------------------------- */

/**
 * shim_mr_new() - register what *cmd says, and name it @addr and @len.
 * Return: NULL with errno.
 */
struct shim_mr *shim_mr_new(struct ibv_pd *pd, enum shim_mr_type type, struct hca_cmd *cmd,
			    void *addr, size_t len);
/** shim_mr_check_access() - ibv_reg_mr(3), what it says of access flags. Return: 0 or -EINVAL. */
int shim_mr_check_access(u32 access);
/** shim_mr_unimport() - forget a region without touching what there is in the HCA. */
void shim_mr_unimport(struct shim_mr *mr);
/**
 * rdmaemu_next_key() - the next region that this thread registers, or window that it allocates, gets this key, or
 * there is an error: EBUSY where the key's index is in use, EINVAL where there is none such. 0: any key.
 *
 * For rdmaemu-replay, which finds it by dlsym(3): keys that were recorded are known to others.
 */
SHIM_EXPORT void rdmaemu_next_key(u32 key);
/** shim_mr_wanted_key() - that key, once; 0: any. */
u32 shim_mr_wanted_key(void);

/* --- mw.c, dm.c, dmabuf.c, import.c --------------------------------------------------------- */

struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shim_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shim_dealloc_mw(struct ibv_mw *mw);
/** shim_mw_fill_bind() - the work request that binds @mw. Return: 0 or an errno value. */
int shim_mw_fill_bind(struct shim_qp *qp, struct sq_wqe *w, struct ibv_mw *mw, u32 rkey,
		      const struct ibv_mw_bind_info *info);
struct ibv_mr *shim_alloc_null_mr(struct ibv_pd *pd);
/** shim_context_fd_make() - the descriptor of a new context of device @dev, whose number goes to *id. */
int shim_context_fd_make(u32 dev, u64 *id);
struct ibv_dm *shim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr);
int shim_free_dm(struct ibv_dm *dm);
struct ibv_mr *shim_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access);

#endif
