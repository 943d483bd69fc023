/* SPDX-License-Identifier: MIT */
/**
 * DOC: CQ moderation, rate limits.
 */
#include "libshim/objects.h"

int shim_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return EOPNOTSUPP;
}

int shim_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	(void)qp;
	(void)attr;
	return EOPNOTSUPP;
}
