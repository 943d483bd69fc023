/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests that bind memory windows.
 *
 * The engine decides whether a bind is allowed when it executes the work request
 * (emulator/verbs/mw.c). Posting refuses only what would be wrong in any state of the HCA.
 */
#include "emulator/seg.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#define BIND_ACCESS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | ACC_FLUSH)

int shim_mw_fill_bind_any(struct sq_wqe *w, const struct ibv_mw *mw, u32 rkey,
			  const struct ibv_mw_bind_info *info)
{
	const struct shim_mr *mr = (const struct shim_mr *)info->mr;

	/* ibv_alloc_null_mr(3): binding to a null MR is invalid. */
	if (mr && (mr->magic != MAGIC_MR || mr->type == MRT_NULL))
		return EINVAL;
	if ((info->mw_access_flags & ~(u32)BIND_ACCESS) || (!mr && (info->addr || info->length)))
		return EINVAL;
	w->ah = mw->handle;
	w->rkey = rkey;
	w->remote_qpn = mr ? mr->mr.lkey : 0;
	w->remote_addr = info->addr;
	w->swap = info->length;
	w->remote_qkey = info->mw_access_flags;
	return 0;
}

int shim_mw_fill_bind(struct sq_wqe *w, struct ibv_mw *mw, u32 rkey,
		      const struct ibv_mw_bind_info *info)
{
	if (!shim_mw_of(mw) || mw->type != IBV_MW_TYPE_2)
		return EINVAL;
	/* As on mlx5 and rxe, the index is the window's, whatever the request says. */
	return shim_mw_fill_bind_any(w, mw, mw->handle << 8 | (rkey & 0xff), info);
}
