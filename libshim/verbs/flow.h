/* SPDX-License-Identifier: MIT */
/**
 * DOC: flows and flow counters.
 */
#ifndef LIBSHIM_VERBS_FLOW_H
#define LIBSHIM_VERBS_FLOW_H

#include "libshim/verbs/objects.h"

/** struct shim_ctr - a counters object. */
struct shim_ctr {
	union {
		struct ibv_counters counters;
		u8 room[64];
	};
	u32 magic;
	u32 handle;
};

/* --- flow.c --- */

struct ibv_flow *shim_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int shim_destroy_flow(struct ibv_flow *flow);

/* --- flow_counter.c --- */

/** shim_counters_of() - the shim's view of a counters object, or NULL. */
struct shim_ctr *shim_counters_of(struct ibv_counters *counters);

struct ibv_counters *shim_create_counters(struct ibv_context *ibctx,
					  struct ibv_counters_init_attr *attr);
int shim_destroy_counters(struct ibv_counters *counters);
int shim_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int shim_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);

#endif
