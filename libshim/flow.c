/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow steering.
 */
#include "libshim/objects.h"

struct ibv_flow *shim_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	(void)qp;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_destroy_flow(struct ibv_flow *flow)
{
	(void)flow;
	return EOPNOTSUPP;
}
