/* SPDX-License-Identifier: MIT */
/* Carries out every call of VCALLS(), with arguments from 64-bit words. */
#include "traces/replay/play.h"

#include <dlfcn.h>
#include <errno.h>
#include <rdma/rdma_verbs.h>

/* Exported by the library, but not declared in verbs.h. */
static int invoke_query_gid_type(struct ibv_context *ctx, uint8_t port, unsigned int index,
				 uint32_t *type)
{
	int (*next)(struct ibv_context *, uint8_t, unsigned int, uint32_t *);

	next = (int (*)(struct ibv_context *, uint8_t, unsigned int, uint32_t *))dlsym(
		RTLD_DEFAULT, "ibv_query_gid_type");
	if (next)
		return next(ctx, port, index, type);
	errno = ENOSYS;
	return -1;
}

/* verbs.h has macros of these names that call other functions. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#define ibv_query_gid_type invoke_query_gid_type

#define INT(e) (uint64_t)(int64_t)(e)
#define PTR(e) (uint64_t)(uintptr_t)(e)

#define RUN_void(e)  ((e), 0)
#define RUN_int(e)   INT(e)
#define RUN_err(e)   INT(e)
#define RUN_m1(e)    INT(e)
#define RUN_rereg(e) INT(e)
#define RUN_count(e) INT(e)
#define RUN_index(e) INT(e)
#define RUN_fork(e)  INT(e)
#define RUN_devs(e)  PTR(e)
#define RUN_ctxs(e)  PTR(e)
#define RUN_ctx(e)   PTR(e)
#define RUN_pd(e)    PTR(e)
#define RUN_mr(e)    PTR(e)
#define RUN_mw(e)    PTR(e)
#define RUN_cq(e)    PTR(e)
#define RUN_cq_ex(e) PTR(e)
#define RUN_srq(e)   PTR(e)
#define RUN_qp(e)    PTR(e)
#define RUN_ah(e)    PTR(e)
#define RUN_ch(e)    PTR(e)
#define RUN_xrcd(e)  PTR(e)
#define RUN_td(e)    PTR(e)
#define RUN_dm(e)    PTR(e)
#define RUN_wq(e)    PTR(e)
#define RUN_ind(e)   PTR(e)
#define RUN_flow(e)  PTR(e)
#define RUN_cnt(e)   PTR(e)
#define RUN_evch(e)  PTR(e)

#define ARG(i, kind, label)    , (VA_##kind)(uintptr_t)args[i]
#define CALL(name, ...)	       CALL_(name, __VA_ARGS__)
#define CALL_(name, none, ...) name(__VA_ARGS__)

#define CASE(name, ret, way, ...)                                                                  \
	case VCALL_##name:                                                                         \
		return RUN_##ret(CALL(name, none VCALL_MAP(ARG, ##__VA_ARGS__)));

uint64_t rp_call_invoke(enum vcall call, const uint64_t *args)
{
	switch (call) {
		VCALLS(CASE)
	default:
		errno = ENOSYS;
		return 0;
	}
}
