/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows.
 */
#include "libshim/objects.h"

struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	return fail_null(-EOPNOTSUPP);
}

int shim_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EOPNOTSUPP;
}

int shim_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

int mw_fill_bind(struct shim_qp *qp, struct sq_wqe *w, struct ibv_mw *mw, u32 rkey,
		 const struct ibv_mw_bind_info *info)
{
	(void)qp;
	(void)w;
	(void)mw;
	(void)rkey;
	(void)info;
	return EOPNOTSUPP;
}
