#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# Fault rules on real devices hit however a program finds its functions: linked, or by a handle, with an exact version,
# after dlclose(), and with a provider's library loaded next to them. The emulator of an outer run stands for the
# devices.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
cat >lookup.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

static void *find(void *handle, const char *name, const char *version)
{
	return version ? dlvsym(handle, name, version) : dlsym(handle, name);
}

/* Opens the first device by the functions of a handle. */
static void look(const char *how, void *handle, const char *version)
{
	struct ibv_context *(*open_device)(struct ibv_device *) = find(handle, "ibv_open_device", version);
	struct ibv_device **(*get_list)(int *) = find(handle, "ibv_get_device_list", version);
	struct ibv_device **list = get_list ? get_list(NULL) : NULL;

	if (!open_device || !list || !list[0])
		printf("%s: %s\n", how, open_device && get_list ? "no device" : dlerror());
	else
		printf("%s: %s\n", how, open_device(list[0]) ? "open" : strerror(errno));
}

static void *load(const char *file)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		printf("%s\n", dlerror());
	return handle;
}

int main(int argc, char **argv)
{
	struct ibv_device **(*get_list)(int *);
	bool (*is_mlx5)(struct ibv_device *);
	void *handle, *provider;

#ifdef LINKED
	printf("linked: %s\n", ibv_open_device(ibv_get_device_list(NULL)[0]) ? "open" : strerror(errno));
	look("in the global scope", RTLD_DEFAULT, NULL);
	look("in the global scope, by version", RTLD_DEFAULT, "IBVERBS_1.1");
#endif
	(void)argc;
	for (argv++; *argv; argv++) {
		handle = load(*argv);
		if (!handle)
			continue;
		look("by a handle", handle, NULL);
		look("by a handle and version", handle, "IBVERBS_1.1");
		dlclose(handle);
		handle = load(*argv);
		look("by a second handle", handle, NULL);
		get_list = find(handle, "ibv_get_device_list", NULL);
		provider = load("libmlx5.so.1");
		if (!provider)
			continue;
		is_mlx5 = find(provider, "mlx5dv_is_supported", "MLX5_1.8");
		printf("is of mlx5: %d\n", is_mlx5 && is_mlx5(get_list(NULL)[0]));
		dlclose(provider);
		look("after dlclose() of a provider", load(*argv), NULL);
	}
	return 0;
}
END
gcc -DLINKED -o linked lookup.c -ldl -libverbs && gcc -o late lookup.c -ldl ||
	skip_all "gcc makes no program"
echo "fail call=ibv_open_device errno=EMFILE" >open

late="by a handle: Too many open files
by a handle and version: Too many open files
by a second handle: Too many open files
is of mlx5: 0
after dlclose() of a provider: Too many open files"
linked="linked: Too many open files
in the global scope: Too many open files
in the global scope, by version: Too many open files
$late"
for name in libibverbs.so.1 libibverbs.so librdmacm.so.1 /usr/lib/libibverbs.so.1; do
	is "a program that links libibverbs, and loads $name" \
		"$(emu "$R" run --real --fresh --scenario open -- ./linked $name 2>&1)" "$linked"
	is "one that only loads $name" "$(emu "$R" run --real --fresh --scenario open -- ./late $name 2>&1)" "$late"
done
is "without the rule" "$(limit "$R" run -- "$R" run --real -- ./linked libibverbs.so.1 2>&1)" \
	"${linked//Too many open files/open}"
done_testing
