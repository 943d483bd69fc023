#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: devices of one host
# `run --real-direct`: whether a program may use a device past libibverbs, by its vendor's library, linked or loaded at
# run time. Debian's libmlx5 supports no emulated device; a stand-in for it supports all.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these; the emulator of an outer run stands for the devices
real() {
	emu "$R" run --real "$@"
}

# --- the installed library

for policy in allow refuse; do
	out=$(real --real-direct=$policy --explain -- "$T/app_device_mlx5dv" 2>&1)
	is "$policy: nothing of an emulated device is supported" "$(grep -c '^ok' <<<"$out") $(grep '^not ok' <<<"$out")" "10 "
done
# Hidden, mlx5dv_query_device() answers for all.
out=$(real --real-direct=hide -- "$T/app_device_mlx5dv" 0 2>&1)
is "hide: likewise" "$(grep -c '^ok' <<<"$out") $(grep '^not ok' <<<"$out")" "10 "

# --- a stand-in

cat >mlx5.c <<'END'
#include <infiniband/verbs.h>
#include <stdbool.h>

struct context {
	uint8_t version;
	uint64_t flags, comp_mask;
};

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return device;
}

int mlx5dv_query_device(struct ibv_context *ctx, struct context *out)
{
	*out = (struct context){ 0 };
	return !ctx;
}

int mlx5dv_init_obj(void *obj, uint64_t types)
{
	return !obj || !types;
}

void *mlx5dv_devx_obj_create(struct ibv_context *ctx, const void *in, size_t inlen, void *out, size_t outlen)
{
	return ctx;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr, void *mlx5)
{
	return ibv_create_qp_ex(ctx, attr);
}
END
cat >mlx5.map <<'END'
MLX5_1.0 { global: mlx5dv_query_device; local: *; };
MLX5_1.2 { global: mlx5dv_init_obj; };
MLX5_1.3 { global: mlx5dv_create_qp; };
MLX5_1.7 { global: mlx5dv_devx_obj_create; };
MLX5_1.8 { global: mlx5dv_is_supported; };
END
cat >direct.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct obj {
	void *in, *out;
};

struct context {
	uint8_t version;
	uint64_t flags, comp_mask;
};

bool mlx5dv_is_supported(struct ibv_device *device);
int mlx5dv_query_device(struct ibv_context *ctx, struct context *out);
int mlx5dv_init_obj(void *obj, uint64_t types);
void *mlx5dv_devx_obj_create(struct ibv_context *ctx, const void *in, size_t inlen, void *out, size_t outlen);
struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr, void *mlx5);

#ifdef LATE
static void *lib;

#define FIND(name, version) ((__typeof__(&name))dlvsym(lib, #name, version))
#else
#define FIND(name, version) name
#endif

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *cq = ctx ? ibv_create_cq(ctx, 4, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
	struct context context;
	struct obj obj[7] = { 0 };
	struct ibv_qp *qp;

#ifdef LATE
	lib = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return 1;
#endif
	if (!cq)
		return 1;
	memset(&context, 0xff, sizeof(context));
	printf("supported: %d\n", FIND(mlx5dv_is_supported, "MLX5_1.8")(list[0]));
	printf("query: %d, flags ", FIND(mlx5dv_query_device, "MLX5_1.0")(ctx, &context));
	printf("%d\n", (int)context.flags);
	qp = FIND(mlx5dv_create_qp, "MLX5_1.3")(ctx, &attr, NULL);
	printf("QP: %s\n", qp ? "made" : strerror(errno));
	obj[0].in = qp;
	obj[6].in = pd;
	printf("its queues: %s\n", strerror(FIND(mlx5dv_init_obj, "MLX5_1.2")(obj, 1)));
	printf("a PD: %s\n", strerror(FIND(mlx5dv_init_obj, "MLX5_1.2")(obj, 1 << 6)));
	printf("DEVX: %s\n", FIND(mlx5dv_devx_obj_create, "MLX5_1.7")(ctx, NULL, 0, NULL, 0) ? "made" : strerror(errno));
	fflush(stdout);
	return getchar() == 'x';
}
END
gcc -w -shared -fPIC -Wl,-soname,libmlx5.so.1 -Wl,--version-script=mlx5.map -o libmlx5.so.1 mlx5.c -libverbs &&
	gcc -o linked direct.c ./libmlx5.so.1 -libverbs && gcc -DLATE -o late direct.c -libverbs -ldl ||
	skip_all "gcc makes no program"
export LD_LIBRARY_PATH=$TEST_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

all="supported: 1
query: 0, flags 0
QP: made
its queues: Success
a PD: Success
DEVX: made"
hidden="supported: 0
query: 0, flags 0
QP: Operation not supported
its queues: Operation not supported
a PD: Operation not supported
DEVX: Operation not supported"
refused="supported: 1
query: 0, flags 0
QP: made
its queues: Operation not supported
a PD: Success
DEVX: Operation not supported"
for how in linked late; do
	is "$how: without an option" "$(limit "$R" run -- "$R" run --real -- ./$how </dev/null)" "$all"
	is "$how: allowed" "$(real --real-direct=allow -- ./$how </dev/null)" "$all"
	is "$how: hidden" "$(real --real-direct=hide -- ./$how </dev/null 2>&1)" "$hidden"
	is "$how: refused" "$(real --real-direct=refuse -- ./$how </dev/null 2>err)" "$refused"
	is "$how: lines say so" "$(cat err)" "rdmaemu: $how: mlx5dv_init_obj: refused: nobody sees what goes past verbs
rdmaemu: $how: mlx5dv_devx_obj_create: refused: nobody sees what goes past verbs"
done
is "the variable does the same" "$(RDMAEMU_REAL_DIRECT=hide real --fresh --explain -- ./linked </dev/null 2>/dev/null)" "$hidden"
is "the option wins" "$(RDMAEMU_REAL_DIRECT=hide real --real-direct=allow -- ./linked </dev/null)" "$all"

# --- what is seen of it

echo "fail call=ibv_create_qp_ex errno=ENOMEM" >rules
is "objects of the vendor's calls are known" "$(real --fresh --scenario rules --must-fire -- ./linked </dev/null 2>&1 | grep QP:)" \
	"QP: Cannot allocate memory"
mkfifo in
real --explain --fabric real -- ./linked <in >out 2>err &
run=$!
exec 3>in
wait_for 20 grep -q DEVX out
is "a status says which data path is not seen" "$(limit "$R" status -v --fabric real | grep -c '^qp .*, data path not seen$')" 1
exec 3>&-
wait $run
is "and so does the journal" "$(grep 'data path' err | sed -E 's/ [0-9]+\.[0-9]+ / /; s/\[[0-9]+\]/[PID]/; s/0x[0-9a-f]+/N/; s/  +/ /g')" \
	"notice data path not seen linked[PID]: the program uses QP N past verbs"

rdmaemu_refuses run "--real-direct without --real" 2 "expected --real with it" --real-direct=hide -- true
rdmaemu_refuses run "another word" 2 "expected allow, hide or refuse" --real --real-direct=no -- true
done_testing
