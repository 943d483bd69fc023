/* SPDX-License-Identifier: MIT */
/**
 * DOC: receive work queues and indirection tables.
 */
#include "libshim/objects.h"

struct ibv_wq *shim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	(void)wq;
	(void)attr;
	return EOPNOTSUPP;
}

int shim_destroy_wq(struct ibv_wq *wq)
{
	(void)wq;
	return EOPNOTSUPP;
}

struct ibv_rwq_ind_table *shim_create_rwq_ind_table(struct ibv_context *ibctx,
						    struct ibv_rwq_ind_table_init_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	(void)table;
	return EOPNOTSUPP;
}

void wq_consume(const struct cqe *e)
{
	(void)e;
}

int rss_fill(const struct ibv_qp_init_attr_ex *attr, struct cmd_qp *c)
{
	(void)attr;
	(void)c;
	return -EOPNOTSUPP;
}
