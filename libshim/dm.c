/* SPDX-License-Identifier: MIT */
/**
 * DOC: device memory.
 */
#include "libshim/objects.h"

struct ibv_mr *shim_alloc_null_mr(struct ibv_pd *pd)
{
	(void)pd;
	return fail_null(-EOPNOTSUPP);
}

struct ibv_dm *shim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_free_dm(struct ibv_dm *dm)
{
	(void)dm;
	return EOPNOTSUPP;
}

struct ibv_mr *shim_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access)
{
	(void)pd;
	(void)dm;
	(void)offset;
	(void)length;
	(void)access;
	return fail_null(-EOPNOTSUPP);
}
