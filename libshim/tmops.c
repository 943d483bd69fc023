/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching, ibv_post_srq_ops(3).
 */
#include "libshim/objects.h"

int shim_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	(void)srq;
	(void)op;
	(void)bad_op;
	return EOPNOTSUPP;
}
