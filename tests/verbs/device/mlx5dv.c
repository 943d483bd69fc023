/* SPDX-License-Identifier: MIT */
/*
 * Vendor libraries support no emulated device, and the call that programs make because of a vendor
 * id succeeds.
 *	app_device_mlx5dv [STATUS]
 * STATUS: of mlx5dv_query_device() of the installed libmlx5 for a context that is not emulated
 * (EOPNOTSUPP)
 */
#include "tests/lib/c/vb.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *s;

typedef int (*query_fn)(struct ibv_context *ctx, struct mlx5dv_context *attr);

static void test_query(query_fn query)
{
	struct mlx5dv_context got, untouched;
	const size_t head = offsetof(struct mlx5dv_context, cqe_comp_caps);
	int ret;

	memset(&got, 0xff, sizeof(got));
	untouched = got;
	ret = query(s->ctx, &got);
	ok(!ret && !got.version && !got.flags && !got.comp_mask,
	   "mlx5dv_query_device: 0, no flags, nothing that comp_mask asks for");
	ok(!memcmp((uint8_t *)&got + head, (uint8_t *)&untouched + head, sizeof(got) - head),
	   "it writes only what every release has");
	ok(query(NULL, &got) == EINVAL && query(s->ctx, NULL) == EINVAL, "null pointers: EINVAL");
}

/* A context of nobody's. */
static void test_foreign(query_fn query, int status)
{
	static uint64_t device[512], room[1024];
	struct ibv_context *ctx = (struct ibv_context *)&room[512];
	struct mlx5dv_context got = { .comp_mask = 0 };

	ctx->device = (struct ibv_device *)device;
	ok(query(ctx, &got) == status, "a context that is not emulated goes to libmlx5");
}

/* A function of an installed library, or NULL. */
static void *vendor(const char *soname, const char *name)
{
	void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	return lib ? dlsym(lib, name) : NULL;
}

static void test_is_supported(const char *soname, const char *name)
{
	bool (*fn)(struct ibv_device * dev) = (bool (*)(struct ibv_device *))vendor(soname, name);

	if (fn)
		ok(!fn(s->ctx->device), "%s: false", name);
	else
		ok(true, "%s # SKIP not installed", name);
}

static void test_efa(void)
{
	int (*fn)(struct ibv_context * ctx, void *attr, uint32_t len) =
		(int (*)(struct ibv_context *, void *, uint32_t))vendor("libefa.so.1",
									"efadv_query_device");
	uint64_t attr[64] = { 0 };

	if (fn)
		ok(fn(s->ctx, attr, sizeof(attr)) == EOPNOTSUPP, "efadv_query_device: EOPNOTSUPP");
	else
		ok(true, "efadv_query_device # SKIP not installed");
}

static void test_init_obj(void)
{
	int (*fn)(struct mlx5dv_obj * obj, uint64_t type) =
		(int (*)(struct mlx5dv_obj *, uint64_t))vendor("libmlx5.so.1", "mlx5dv_init_obj");
	struct mlx5dv_pd out;
	struct mlx5dv_obj obj = { .pd = { .in = s->pd, .out = &out } };

	if (fn)
		ok(fn(&obj, MLX5DV_OBJ_PD) == EOPNOTSUPP, "mlx5dv_init_obj: EOPNOTSUPP");
	else
		ok(true, "mlx5dv_init_obj # SKIP not installed");
}

static void test_open_device(void)
{
	struct ibv_context *(*fn)(struct ibv_device * dev, struct mlx5dv_context_attr * attr) =
		(struct ibv_context * (*)(struct ibv_device *, struct mlx5dv_context_attr *))
			vendor("libmlx5.so.1", "mlx5dv_open_device");
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	errno = 0;
	if (fn)
		ok(!fn(s->ctx->device, &attr) && errno == EOPNOTSUPP,
		   "mlx5dv_open_device: NULL, EOPNOTSUPP");
	else
		ok(true, "mlx5dv_open_device # SKIP not installed");
}

int main(int argc, char **argv)
{
	query_fn query = (query_fn)dlvsym(RTLD_DEFAULT, "mlx5dv_query_device", "MLX5_1.0");

	s = vb_local();
	vb_open(s);
	ok(query, "mlx5dv_query_device@MLX5_1.0 is found");
	if (query) {
		test_query(query);
		test_foreign(query, argc > 1 ? atoi(argv[1]) : EOPNOTSUPP);
	}
	test_is_supported("libmlx5.so.1", "mlx5dv_is_supported");
	test_is_supported("libhns.so.1", "hnsdv_is_supported");
	test_efa();
	test_init_obj();
	test_open_device();
	vb_close(s);
	return tap_failed != 0;
}
