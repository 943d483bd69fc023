/* SPDX-License-Identifier: MIT */
/*
 * Functions of libefa: efadv(7). All of them, since programs that load libefa at run time get the
 * tap instead and look them up here.
 */
#include "libtap/call.h"
#include "libtap/direct/policy.h"
#include "libtap/process.h"

#include <infiniband/verbs.h>

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

/* --- queries, which users do not see ---------------------------------------------------------- */

/*
 * EFA_FORWARD() - define the wrapper of a function that tells about an object.
 * @hidden: its result where libefa supports no device, or lacks the function
 */
#define EFA_FORWARD(fn, type, params, names, hidden)                                               \
	SHIM_EXPORT type wrap_##fn params __asm__(#fn);                                            \
	type wrap_##fn params                                                                      \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&wrap_##fn) lower =                                                     \
			(__typeof__(lower))direct_next(&slot, REAL_EFA, #fn);                      \
                                                                                                   \
		return lower && !direct_is_hidden() ? lower names : (hidden);                      \
	}

/* clang-format off: a table */
EFA_FORWARD(efadv_query_device, int, (struct ibv_context * ctx, void *attr, u32 len),
	    (ctx, attr, len), EOPNOTSUPP)
EFA_FORWARD(efadv_query_ah, int, (struct ibv_ah * ah, void *attr, u32 len), (ah, attr, len),
	    EOPNOTSUPP)
EFA_FORWARD(efadv_query_mr, int, (struct ibv_mr * mr, void *attr, u32 len), (mr, attr, len),
	    EOPNOTSUPP)
EFA_FORWARD(efadv_cq_from_ibv_cq_ex, void *, (struct ibv_cq_ex * cq), (cq), NULL)
EFA_FORWARD(efadv_qp_from_ibv_qp_ex, void *, (struct ibv_qp_ex * qp), (qp), NULL)
EFA_FORWARD(efadv_get_max_sq_depth, int, (struct ibv_context * ctx, void *attr, u32 len),
	    (ctx, attr, len), -EOPNOTSUPP)
EFA_FORWARD(efadv_get_max_rq_depth, int, (struct ibv_context * ctx, void *attr, u32 len),
	    (ctx, attr, len), -EOPNOTSUPP)
/* clang-format on */

/* --- what leads past verbs -------------------------------------------------------------------- */

SHIM_EXPORT int wrap_efadv_query_qp_wqs(struct ibv_qp *qp, void *sq, void *rq,
					u32 len) __asm__("efadv_query_qp_wqs");
SHIM_EXPORT int wrap_efadv_query_cq(struct ibv_cq *cq, void *attr,
				    u32 len) __asm__("efadv_query_cq");
SHIM_EXPORT void *wrap_efadv_create_comp_cntr(struct ibv_context *ctx, void *attr, void *efa,
					      u32 len) __asm__("efadv_create_comp_cntr");

int wrap_efadv_query_qp_wqs(struct ibv_qp *qp, void *sq, void *rq, u32 len)
{
	static void *slot;
	__typeof__(&wrap_efadv_query_qp_wqs) lower;
	int ret;

	lower = (__typeof__(lower))direct_next(&slot, REAL_EFA, "efadv_query_qp_wqs");
	if (!lower || !direct_may_pass("efadv_query_qp_wqs"))
		return EOPNOTSUPP;
	ret = lower(qp, sq, rq, len);
	if (!ret)
		direct_queues_opened(qp, "efadv_query_qp_wqs");
	return ret;
}

int wrap_efadv_query_cq(struct ibv_cq *cq, void *attr, u32 len)
{
	static void *slot;
	__typeof__(&wrap_efadv_query_cq) lower;

	lower = (__typeof__(lower))direct_next(&slot, REAL_EFA, "efadv_query_cq");
	return lower && direct_may_pass("efadv_query_cq") ? lower(cq, attr, len) : EOPNOTSUPP;
}

/* The table of calls has no counters of completions. */
void *wrap_efadv_create_comp_cntr(struct ibv_context *ctx, void *attr, void *efa, u32 len)
{
	static void *slot;
	static bool noted;
	__typeof__(&wrap_efadv_create_comp_cntr) lower;

	lower = (__typeof__(lower))direct_next(&slot, REAL_EFA, "efadv_create_comp_cntr");
	if (!lower || direct_is_hidden()) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!exchange(&noted, true) && tap_enter()) {
		tap_note("efadv_create_comp_cntr: its calls are not recorded");
		tap_leave();
	}
	return lower(ctx, attr, efa, len);
}
