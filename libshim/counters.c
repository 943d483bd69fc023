/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow counters.
 */
#include "libshim/objects.h"

struct ibv_counters *shim_create_counters(struct ibv_context *ibctx,
					  struct ibv_counters_init_attr *attr)
{
	(void)ibctx;
	(void)attr;
	return fail_null(-EOPNOTSUPP);
}

int shim_destroy_counters(struct ibv_counters *counters)
{
	(void)counters;
	return EOPNOTSUPP;
}

int shim_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	(void)counters;
	(void)attr;
	(void)flow;
	return EOPNOTSUPP;
}

int shim_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	(void)counters;
	(void)values;
	(void)n;
	(void)flags;
	return EOPNOTSUPP;
}
