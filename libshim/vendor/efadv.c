/* SPDX-License-Identifier: MIT */
/**
 * DOC: the functions of libefa, for devices of the profile efa: efadv(7).
 *
 * libefa knows its devices by the provider that made them, and refuses emulated ones. Structures
 * are those of rdma-core 65. Each has its size passed along: members beyond that are not touched,
 * and ones that are not known here have to be zero.
 *
 * Contexts that are not emulated go to the installed libefa.
 */
#include "libshim/vendor/efadv.h"

#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/client/client.h"
#include "libshim/interpose/export.h"
#include "libshim/interpose/interpose.h"
#include "libshim/verbs/ahn.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/qp.h"

#define EFA_MAX_RDMA (1u << 30)

enum efa_device_caps {
	EFA_CAP_RDMA_READ = 1 << 0,
	EFA_CAP_RNR_RETRY = 1 << 1,
	EFA_CAP_CQ_WITH_SGID = 1 << 2,
	EFA_CAP_RDMA_WRITE = 1 << 3,
};

/* The function of libefa, or NULL. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		static void *slot;                                                                 \
		(__typeof__(&(name)))real_symbol(&slot, REAL_EFA, #name);                          \
	})

/* Whether the size that a program passes along has the member. */
#define HAS(type, member, size) ((size) >= offsetof(type, member) + sizeof(((type *)0)->member))

/* An emulated context, whatever its device. */
static struct shim_context *efa_emulated(struct ibv_context *ibctx)
{
	return ibctx ? shim_context_of(ibctx) : NULL;
}

static bool is_efa(const struct shim_context *ctx)
{
	return lim_is_efa(&ctx->dev->info.lim);
}

/* Whether what a program passes beyond the members that are known here is all zero. */
static bool is_rest_zero(const void *attr, size_t known, u32 size)
{
	const u8 *at = attr;
	size_t i;

	for (i = known; i < size; i++)
		if (at[i])
			return false;
	return true;
}

/** efadv_query_device() - efadv_query_device(3). Return: 0 or errno value. */
SHIM_EXPORT int efadv_query_device(struct ibv_context *ibctx, struct efadv_device_attr *attr,
				   uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibctx);
	const struct hca_limits *lim;
	struct hca_dev buf;

	if (!ctx) {
		__typeof__(&efadv_query_device) fn = REAL(efadv_query_device);

		return fn ? fn(ibctx, attr, inlen) : EOPNOTSUPP;
	}
	if (!is_efa(ctx))
		return EOPNOTSUPP;
	if (!HAS(struct efadv_device_attr, inline_buf_size_ex, inlen))
		return EINVAL;
	lim = shim_limits_now(ctx, &buf);
	memset(attr, 0, inlen);
	attr->max_sq_wr = lim->max_qp_wr;
	attr->max_rq_wr = lim->max_qp_wr;
	attr->max_sq_sge = (u16)lim->max_sge;
	attr->max_rq_sge = (u16)lim->max_sge;
	attr->inline_buf_size = (u16)lim->max_inline;
	attr->inline_buf_size_ex = (u16)lim->max_inline;
	if (HAS(struct efadv_device_attr, device_caps, inlen))
		attr->device_caps = EFA_CAP_RNR_RETRY | EFA_CAP_CQ_WITH_SGID;
	if (HAS(struct efadv_device_attr, max_rdma_size, inlen)) {
		attr->max_rdma_size = min_u32(lim->max_msg, EFA_MAX_RDMA);
		attr->device_caps |= EFA_CAP_RDMA_READ | EFA_CAP_RDMA_WRITE;
	}
	return 0;
}

/** efadv_query_ah() - efadv_query_ah(3). Return: 0 or errno value. */
SHIM_EXPORT int efadv_query_ah(struct ibv_ah *ibah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibah->context);

	if (!ctx) {
		__typeof__(&efadv_query_ah) fn = REAL(efadv_query_ah);

		return fn ? fn(ibah, attr, inlen) : EOPNOTSUPP;
	}
	if (!is_efa(ctx))
		return EOPNOTSUPP;
	if (!HAS(struct efadv_ah_attr, ahn, inlen))
		return EINVAL;
	memset(attr, 0, inlen);
	attr->ahn = ((const struct shim_ah *)ibah)->ahn;
	return 0;
}

/* Refuse what SRD queue pairs do not have. */
static int efa_qp_check(const struct shim_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!is_efa(ctx))
		return -EOPNOTSUPP;
	if (attr->comp_mask & ~(u32)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return -EOPNOTSUPP;
	return attr->srq ? -EINVAL : 0;
}

/** efadv_create_driver_qp() - efadv_create_driver_qp(3). Return: QP, or NULL with errno. */
SHIM_EXPORT struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
						  uint32_t driver_qp_type)
{
	struct shim_context *ctx = pd ? efa_emulated(pd->context) : NULL;
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp *qp;
	int ret;

	if (!ctx) {
		__typeof__(&efadv_create_driver_qp) fn = REAL(efadv_create_driver_qp);

		return fn ? fn(pd, attr, driver_qp_type) : fail_null(-EOPNOTSUPP);
	}
	memset(&ex, 0, sizeof(ex));
	/* The extended structure begins with the plain one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	ret = efa_qp_check(ctx, &ex);
	if (!ret && attr->qp_type != IBV_QPT_DRIVER)
		ret = -EINVAL;
	if (!ret && driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD)
		ret = -EOPNOTSUPP;
	if (ret)
		return fail_null(ret);
	qp = shim_qp_new(pd->context, &ex, QPT_SRD);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/** efadv_create_qp_ex() - efadv_create_qp_ex(3). Return: QP, or NULL with errno. */
SHIM_EXPORT struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ibctx,
					      struct ibv_qp_init_attr_ex *attr,
					      struct efadv_qp_init_attr *efa, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibctx);
	int ret;

	if (!ctx) {
		__typeof__(&efadv_create_qp_ex) fn = REAL(efadv_create_qp_ex);

		return fn ? fn(ibctx, attr, efa, inlen) : fail_null(-EOPNOTSUPP);
	}
	ret = efa_qp_check(ctx, attr);
	if (ret)
		return fail_null(ret);
	if (attr->qp_type != IBV_QPT_DRIVER ||
	    !HAS(struct efadv_qp_init_attr, driver_qp_type, inlen) || efa->comp_mask)
		return fail_null(-EINVAL);
	if (efa->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD)
		return fail_null(-EOPNOTSUPP);
	/* The only later member that is allowed is the service level: it changes nothing. */
	if (HAS(struct efadv_qp_init_attr, flags, inlen) && efa->flags)
		return fail_null(-EOPNOTSUPP);
	if (!is_rest_zero(efa, offsetof(struct efadv_qp_init_attr, reserved), inlen))
		return fail_null(-EINVAL);
	return shim_qp_new(ibctx, attr, QPT_SRD);
}

static struct shim_cq *to_cq_of_efadv(struct efadv_cq *efa)
{
	return container_of(efa, struct shim_cq, efa);
}

static int efa_read_sgid(struct efadv_cq *efa, union ibv_gid *sgid)
{
	const struct shim_cq *cq = to_cq_of_efadv(efa);
	const struct cqe *e = cq->cur;

	/* A sender with a number has no address. */
	if (!(e->flags & CQE_EXT) || e->slid != CQE_BY_GID || shim_cqe_slid(cq, e) != AHN_UNKNOWN)
		return -ENOENT;
	memcpy(sgid->raw, e->grh + CQE_SGID, sizeof(sgid->raw));
	return 0;
}

static bool efa_is_unsolicited(struct efadv_cq *efa)
{
	(void)efa;
	return false;
}

/** efadv_create_cq() - efadv_create_cq(3). Return: CQ, or NULL with errno. */
SHIM_EXPORT struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ibctx,
					      struct ibv_cq_init_attr_ex *attr,
					      struct efadv_cq_init_attr *efa, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibctx);
	struct ibv_cq_ex *ex;
	struct shim_cq *cq;

	if (!ctx) {
		__typeof__(&efadv_create_cq) fn = REAL(efadv_create_cq);

		return fn ? fn(ibctx, attr, efa, inlen) : fail_null(-EOPNOTSUPP);
	}
	if (!is_efa(ctx))
		return fail_null(-EOPNOTSUPP);
	if (!HAS(struct efadv_cq_init_attr, wc_flags, inlen) || efa->comp_mask ||
	    !is_rest_zero(efa, sizeof(*efa), inlen))
		return fail_null(-EINVAL);
	if (efa->wc_flags & ~(u64)EFADV_WC_EX_WITH_SGID)
		return fail_null(-EOPNOTSUPP);
	if (HAS(struct efadv_cq_init_attr, flags, inlen) && efa->flags)
		return fail_null(-EOPNOTSUPP);
	ex = shim_create_cq_ex(ibctx, attr);
	if (!ex)
		return NULL;
	cq = (struct shim_cq *)ex;
	cq->is_efa = true;
	if (efa->wc_flags & EFADV_WC_EX_WITH_SGID)
		cq->efa.wc_read_sgid = efa_read_sgid;
	cq->efa.wc_is_unsolicited = efa_is_unsolicited;
	return ex;
}

/** efadv_cq_from_ibv_cq_ex() - efadv_create_cq(3). Return: NULL: that has not made it. */
SHIM_EXPORT struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = (struct shim_cq *)ex;

	if (!efa_emulated(ex->context)) {
		__typeof__(&efadv_cq_from_ibv_cq_ex) fn = REAL(efadv_cq_from_ibv_cq_ex);

		return fn ? fn(ex) : NULL;
	}
	return cq->magic == MAGIC_CQ && cq->is_efa ? &cq->efa : NULL;
}

/** efadv_query_mr() - efadv_query_mr(3): there is no interconnect. Return: 0 or errno value. */
SHIM_EXPORT int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(mr->context);

	if (!ctx) {
		__typeof__(&efadv_query_mr) fn = REAL(efadv_query_mr);

		return fn ? fn(mr, attr, inlen) : EOPNOTSUPP;
	}
	if (!is_efa(ctx))
		return EOPNOTSUPP;
	if (inlen < sizeof(*attr))
		return EINVAL;
	memset(attr, 0, inlen);
	return 0;
}

/** efadv_query_qp_wqs() - efadv_query_qp_wqs(3): nobody else can drive the queues. */
SHIM_EXPORT int efadv_query_qp_wqs(struct ibv_qp *qp, void *sq, void *rq, uint32_t inlen)
{
	__typeof__(&efadv_query_qp_wqs) fn;

	if (efa_emulated(qp->context))
		return EOPNOTSUPP;
	fn = REAL(efadv_query_qp_wqs);
	return fn ? fn(qp, sq, rq, inlen) : EOPNOTSUPP;
}

/** efadv_query_cq() - efadv_query_cq(3): likewise. */
SHIM_EXPORT int efadv_query_cq(struct ibv_cq *cq, void *attr, uint32_t inlen)
{
	__typeof__(&efadv_query_cq) fn;

	if (efa_emulated(cq->context))
		return EOPNOTSUPP;
	fn = REAL(efadv_query_cq);
	return fn ? fn(cq, attr, inlen) : EOPNOTSUPP;
}

/* The depth does not depend on what the entries hold. Return: it, or a negative errno value. */
static int efa_max_depth(struct shim_context *ctx)
{
	struct hca_dev buf;

	return is_efa(ctx) ? (int)shim_limits_now(ctx, &buf)->max_qp_wr : -EOPNOTSUPP;
}

/** efadv_get_max_sq_depth() - efadv_get_max_sq_depth(3). Return: it, or a negative errno value. */
SHIM_EXPORT int efadv_get_max_sq_depth(struct ibv_context *ibctx, void *attr, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibctx);
	__typeof__(&efadv_get_max_sq_depth) fn;

	if (ctx)
		return efa_max_depth(ctx);
	fn = REAL(efadv_get_max_sq_depth);
	return fn ? fn(ibctx, attr, inlen) : -EOPNOTSUPP;
}

/** efadv_get_max_rq_depth() - efadv_get_max_rq_depth(3). Return: it, or a negative errno value. */
SHIM_EXPORT int efadv_get_max_rq_depth(struct ibv_context *ibctx, void *attr, uint32_t inlen)
{
	struct shim_context *ctx = efa_emulated(ibctx);
	__typeof__(&efadv_get_max_rq_depth) fn;

	if (ctx)
		return efa_max_depth(ctx);
	fn = REAL(efadv_get_max_rq_depth);
	return fn ? fn(ibctx, attr, inlen) : -EOPNOTSUPP;
}

/** efadv_qp_from_ibv_qp_ex() - for hints, which emulated queue pairs do not take. Return: NULL. */
SHIM_EXPORT void *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *ex)
{
	__typeof__(&efadv_qp_from_ibv_qp_ex) fn;

	if (efa_emulated(ex->qp_base.context))
		return NULL;
	fn = REAL(efadv_qp_from_ibv_qp_ex);
	return fn ? fn(ex) : NULL;
}

/** efadv_create_comp_cntr() - the device has none. Return: NULL with errno EOPNOTSUPP. */
SHIM_EXPORT void *efadv_create_comp_cntr(struct ibv_context *ibctx, void *attr, void *efa,
					 uint32_t inlen)
{
	__typeof__(&efadv_create_comp_cntr) fn;

	if (efa_emulated(ibctx))
		return fail_null(-EOPNOTSUPP);
	fn = REAL(efadv_create_comp_cntr);
	return fn ? fn(ibctx, attr, efa, inlen) : fail_null(-EOPNOTSUPP);
}
