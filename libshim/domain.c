/* SPDX-License-Identifier: MIT */
/**
 * DOC: thread and parent domains.
 */
#include "libshim/objects.h"

struct ibv_td *shim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_dealloc_td(struct ibv_td *td)
{
	(void)td;
	return EOPNOTSUPP;
}

struct ibv_pd *shim_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}
