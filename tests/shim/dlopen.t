#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: without a fabric
# Libraries loaded at run time: the RDMA ones are the shim, all others are found as without it.
. "$(dirname "$0")/../lib/lib.sh"

# pre COMMAND... - with the shim preloaded, without a fabric
pre() {
	env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$SHIM" "$@"
}

check "by SONAME" pre "$T/sys_shim_nccl" libibverbs.so.1
check "by the names NCCL tries" pre "$T/sys_shim_nccl" libibverbs.so libibverbs.so.1
check "by librdmacm's names" pre "$T/sys_shim_nccl" librdmacm.so librdmacm.so.1
check "by path, there or not" pre "$T/sys_shim_nccl" /usr/lib/x86_64-linux-gnu/libibverbs.so.1 \
	/nowhere/libibverbs.so.1.14.44.0 ./librdmacm.so.1

if nm -D "$SHIM" | grep -q __asan_init || ! command -v cc >/dev/null; then
	skip "RUNPATH and RTLD_DEEPBIND" "needs a compiler, and no sanitizer"
	done_testing
fi

# A plugin that is found by the RUNPATH of the program ($ORIGIN/lib) and itself loads a second one
# by its own RUNPATH: libc must see the true caller of dlopen(). It is linked with libibverbs.
cd "$TEST_DIR" || exit 1
mkdir -p lib/deep
cat >main.c <<-'END'
	#include <dlfcn.h>
	#include <stdio.h>
	int main(void)
	{
		void *lib = dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
		int (*plugin)(void) = lib ? (int (*)(void))dlsym(lib, "plugin") : 0;

		if (!plugin)
			return puts(dlerror()), 1;
		return plugin();
	}
END
cat >plugin.c <<-'END'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <stdio.h>
	#include <string.h>
	int ibv_fork_init(void);
	int plugin(void)
	{
		Dl_info info;
		void *deep = dlopen("libdeep.so", RTLD_NOW);

		if (!deep)
			return puts(dlerror()), 1;
		if (!dladdr((void *)ibv_fork_init, &info) || !strstr(info.dli_fname, "librdmaemu"))
			return printf("bound to %s\n", info.dli_fname), 1;
		return 0;
	}
END
echo 'int deep;' >deep.c
if cc -fPIC -shared -o lib/deep/libdeep.so deep.c &&
	cc -fPIC -shared -o lib/libplugin.so plugin.c -libverbs -Wl,--enable-new-dtags \
		-Wl,-rpath,'$ORIGIN/deep' &&
	cc -o main main.c -ldl -Wl,--enable-new-dtags -Wl,-rpath,'$ORIGIN/lib'; then
	check "RUNPATH of the caller, RTLD_DEEPBIND" pre ./main
else
	skip "RUNPATH and RTLD_DEEPBIND" "cannot compile"
fi
is "a name that nobody has" "$(pre python3 -c 'import ctypes
try: ctypes.CDLL("libnowhere.so.7")
except OSError as e: print(e)' 2>&1)" \
	"libnowhere.so.7: cannot open shared object file: No such file or directory"
is "dlopen(NULL)" "$(pre python3 -c 'import ctypes
print(ctypes.CDLL(None).ibv_fork_init is not None)' 2>&1)" True
done_testing
