/* SPDX-License-Identifier: MIT */
/*
 * Functions of libmlx5: mlx5dv(7). Its header need not be installed: structs are as far as they are
 * used here.
 */
#include "libtap/call.h"
#include "libtap/direct/policy.h"
#include "libtap/process.h"

/** struct mlx5dv_context - what mlx5dv_query_device() always fills in. */
struct mlx5dv_context {
	u8 version;
	u64 flags;
	u64 comp_mask;
};

/** struct mlx5dv_obj - pairs of an object of verbs and the struct for its insides, by kind. */
struct mlx5dv_obj {
	struct {
		void *in;
		void *out;
	} kind[4];
};

/* Bits of mlx5dv_init_obj(): those of objects with queues. Others describe a PD, AH or DM. */
enum mlx5dv_obj_type {
	MLX5DV_OBJ_QP = 1 << 0,
	MLX5DV_OBJ_CQ = 1 << 1,
	MLX5DV_OBJ_SRQ = 1 << 2,
	MLX5DV_OBJ_RWQ = 1 << 3,
};
#define MLX5DV_OBJ_QUEUES (MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ | MLX5DV_OBJ_RWQ)

SHIM_EXPORT bool wrap_mlx5dv_is_supported(struct ibv_device *device) __asm__("mlx5dv_is_supported");
SHIM_EXPORT int
wrap_mlx5dv_query_device(struct ibv_context *ctx,
			 struct mlx5dv_context *attrs) __asm__("mlx5dv_query_device");
SHIM_EXPORT int wrap_mlx5dv_init_obj(struct mlx5dv_obj *obj, u64 types) __asm__("mlx5dv_init_obj");
SHIM_EXPORT void *wrap_mlx5dv_devx_obj_create(struct ibv_context *ctx, const void *in, size_t inlen,
					      void *out,
					      size_t outlen) __asm__("mlx5dv_devx_obj_create");

bool wrap_mlx5dv_is_supported(struct ibv_device *device)
{
	static void *slot;
	__typeof__(&wrap_mlx5dv_is_supported) lower;

	lower = (__typeof__(lower))direct_next(&slot, REAL_MLX5, "mlx5dv_is_supported");
	return lower && !direct_is_hidden() && lower(device);
}

/* Hidden, it answers as for a device without its features: perftest gives up on an error. */
int wrap_mlx5dv_query_device(struct ibv_context *ctx, struct mlx5dv_context *attrs)
{
	static void *slot;
	__typeof__(&wrap_mlx5dv_query_device) lower;

	if (direct_is_hidden()) {
		if (!ctx || !attrs)
			return EINVAL;
		*attrs = (struct mlx5dv_context){ 0 };
		return 0;
	}
	lower = (__typeof__(lower))direct_next(&slot, REAL_MLX5, "mlx5dv_query_device");
	return lower ? lower(ctx, attrs) : EOPNOTSUPP;
}

int wrap_mlx5dv_init_obj(struct mlx5dv_obj *obj, u64 types)
{
	static void *slot;
	__typeof__(&wrap_mlx5dv_init_obj) lower;
	int ret;

	lower = (__typeof__(lower))direct_next(&slot, REAL_MLX5, "mlx5dv_init_obj");
	if (!lower || direct_is_hidden())
		return EOPNOTSUPP;
	if (types & MLX5DV_OBJ_QUEUES && !direct_may_pass("mlx5dv_init_obj"))
		return EOPNOTSUPP;
	ret = lower(obj, types);
	if (!ret && types & MLX5DV_OBJ_QP)
		direct_queues_opened(obj->kind[0].in, "mlx5dv_init_obj");
	return ret;
}

/* Objects of the device's firmware, which verbs know nothing of. */
void *wrap_mlx5dv_devx_obj_create(struct ibv_context *ctx, const void *in, size_t inlen, void *out,
				  size_t outlen)
{
	static void *slot;
	static bool noted;
	__typeof__(&wrap_mlx5dv_devx_obj_create) lower;

	lower = (__typeof__(lower))direct_next(&slot, REAL_MLX5, "mlx5dv_devx_obj_create");
	if (!lower) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!direct_may_pass("mlx5dv_devx_obj_create"))
		return NULL;
	if (!exchange(&noted, true) && tap_enter()) {
		tap_note("mlx5dv_devx_obj_create: its objects are not seen");
		tap_leave();
	}
	return lower(ctx, in, inlen, out, outlen);
}

/* clang-format off: a table */
DIRECT_CREATE(REAL_MLX5, mlx5dv_open_device, struct ibv_context *, ibv_open_device,
	      (struct ibv_device * device, void *attr), (device, attr), device, 0)
DIRECT_CREATE(REAL_MLX5, mlx5dv_create_qp, struct ibv_qp *, ibv_create_qp_ex,
	      (struct ibv_context * ctx, struct ibv_qp_init_attr_ex *attr, void *mlx5),
	      (ctx, attr, mlx5), ctx, attr)
DIRECT_CREATE(REAL_MLX5, mlx5dv_create_cq, struct ibv_cq_ex *, ibv_create_cq_ex,
	      (struct ibv_context * ctx, struct ibv_cq_init_attr_ex *attr, void *mlx5),
	      (ctx, attr, mlx5), ctx, attr)
DIRECT_CREATE(REAL_MLX5, mlx5dv_create_wq, struct ibv_wq *, ibv_create_wq,
	      (struct ibv_context * ctx, struct ibv_wq_init_attr *attr, void *mlx5),
	      (ctx, attr, mlx5), ctx, attr)
/* clang-format on */
