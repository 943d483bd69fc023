/* SPDX-License-Identifier: MIT */
/**
 * DOC: mlx5dv_query_device(), the function of libmlx5 that programs call because of a vendor id.
 *
 * perftest 25 calls it for each device of Mellanox's vendor id, which the connectx6 profile has,
 * and gives up when it fails. libmlx5 knows its devices by the provider that made them, and refuses
 * the emulated ones with EOPNOTSUPP. So the shim answers for these: a device that has none of the
 * features that libmlx5 reports but, by profile, the real-time format of timestamps, which plain
 * verbs lead to. Programs then use plain verbs.
 *
 * The other functions of libmlx5 and those of libhns are not exported: programs ask
 * mlx5dv_is_supported() before they call them, or the user asks for them by an option. The real
 * libraries refuse emulated devices there, as they should. Those of libefa are in efadv.c.
 */
#include "libshim/interpose/export.h"
#include "libshim/interpose/interpose.h"
#include "libshim/verbs/device.h"

/**
 * struct mlx5dv_context - the members that mlx5dv_query_device() always fills in. The rest, whose
 * size depends on the release that a program was built with, is only there if @comp_mask asks for
 * it.
 */
struct mlx5dv_context {
	u8 version;
	u64 flags;
	u64 comp_mask;
};

/** enum mlx5dv_context_flags - those that an emulated device can have. */
enum mlx5dv_context_flags {
	MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS = 1 << 7,
};

SHIM_EXPORT int mlx5dv_query_device(struct ibv_context *ctx_in, struct mlx5dv_context *attrs_out);

/**
 * mlx5dv_query_device() - mlx5dv_query_device(3). Contexts that are not emulated go to the
 * installed libmlx5.
 * Return: 0 or errno value (EOPNOTSUPP: not emulated, and there is no libmlx5).
 */
int mlx5dv_query_device(struct ibv_context *ctx_in, struct mlx5dv_context *attrs_out)
{
	static void *slot;
	const struct shim_context *ctx;
	__typeof__(&mlx5dv_query_device) fn;

	if (!ctx_in || !attrs_out)
		return EINVAL;
	ctx = shim_context_of(ctx_in);
	if (ctx) {
		*attrs_out = (struct mlx5dv_context){
			.flags = ctx->dev->info.lim.real_time_ts ? MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS
								 : 0
		};
		return 0;
	}
	fn = (__typeof__(fn))real_symbol(&slot, REAL_MLX5, "mlx5dv_query_device");
	return fn ? fn(ctx_in, attrs_out) : EOPNOTSUPP;
}
