/* SPDX-License-Identifier: MIT */
/* Functions of libefa: efadv_query_device(3) and others. */
#include "libtap/call.h"
#include "libtap/direct/policy.h"
#include "libtap/process.h"

SHIM_EXPORT int wrap_efadv_query_device(struct ibv_context *ctx, void *attr,
					u32 len) __asm__("efadv_query_device");

int wrap_efadv_query_device(struct ibv_context *ctx, void *attr, u32 len)
{
	static void *slot;
	__typeof__(&wrap_efadv_query_device) lower;

	lower = (__typeof__(lower))direct_next(&slot, REAL_EFA, "efadv_query_device");
	return lower && !direct_is_hidden() ? lower(ctx, attr, len) : EOPNOTSUPP;
}

/* clang-format off: a table */
DIRECT_CREATE(REAL_EFA, efadv_create_qp_ex, struct ibv_qp *, ibv_create_qp_ex,
	      (struct ibv_context * ctx, struct ibv_qp_init_attr_ex *attr, void *efa, u32 len),
	      (ctx, attr, efa, len), ctx, attr)
DIRECT_CREATE(REAL_EFA, efadv_create_driver_qp, struct ibv_qp *, ibv_create_qp,
	      (struct ibv_pd * pd, struct ibv_qp_init_attr *attr, u32 type), (pd, attr, type), pd,
	      attr)
DIRECT_CREATE(REAL_EFA, efadv_create_cq, struct ibv_cq_ex *, ibv_create_cq_ex,
	      (struct ibv_context * ctx, struct ibv_cq_init_attr_ex *attr, void *efa, u32 len),
	      (ctx, attr, efa, len), ctx, attr)
/* clang-format on */
