/* SPDX-License-Identifier: MIT */
/* Symbols of the libraries that are loaded after the shim, and of the real RDMA libraries. */
#include "libshim/interpose/interpose.h"

#include <dlfcn.h>

/*
 * The version of libc's first symbols. Functions that newer libcs keep for old programs only
 * (__xstat) can be found by this version, but no longer without one.
 */
#if defined(__x86_64__)
#define LIBC_FIRST_VERSION "GLIBC_2.2.5"
#else
#define LIBC_FIRST_VERSION "GLIBC_2.17"
#endif

void *next_symbol_resolve(void **slot, const char *name)
{
	int saved = errno;
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		fn = dlvsym(RTLD_NEXT, name, LIBC_FIRST_VERSION);
	/* Threads may race here; all find the same address. */
	if (fn)
		store_release(slot, fn);
	errno = saved;
	return fn;
}

void *real_symbol(void **slot, enum real_lib lib, const char *name)
{
	static const char *const soname[REAL_LIBS] = {
		[REAL_VERBS] = "libibverbs.so.1",
		[REAL_CM] = "librdmacm.so.1",
		[REAL_MLX5] = "libmlx5.so.1",
		[REAL_EFA] = "libefa.so.1",
	};
	static void *handle[ARRAY_SIZE(soname)];
	static void *(*real_dlopen)(const char *, int);
	void *(*open_lib)(const char *, int);
	void *fn = load_acquire(slot);
	const char *file;
	void *lib_handle;

	if (likely(fn))
		return fn;
	lib_handle = load_acquire(&handle[lib]);
	if (!lib_handle) {
		open_lib =
			(void *(*)(const char *, int))next_symbol((void **)&real_dlopen, "dlopen");
		/* LOCAL: its ibv_* and rdma_* must not precede ours in any lookup. */
		file = dlopen_file(lib);
		file = file ? file : soname[lib];
		lib_handle = open_lib ? open_lib(file, RTLD_LAZY | RTLD_LOCAL) : NULL;
		if (!lib_handle)
			return NULL;
		store_release(&handle[lib], lib_handle);
	}
	fn = dlsym(lib_handle, name);
	if (fn)
		store_release(slot, fn);
	return fn;
}
