/* SPDX-License-Identifier: MIT */
/*
 * dlopen() of the RDMA libraries yields the shim. libefa is one of them: the shim has all of its
 * functions.
 *
 * Programs that load libibverbs at run time (NCCL, UCX plugins, ctypes) search the handle that they
 * get, with dlsym() or dlvsym(), and not the global scope, where the shim comes first. So dlopen()
 * hands out the shim. The handle of another library that links libibverbs would still lead to the
 * real functions, through that library's dependencies; no program is known to search there.
 *
 * RTLD_DEEPBIND is dropped: it would bind a plugin to its own dependencies first, which are the
 * real libraries.
 *
 * libc finds the caller of dlopen() by its return address: the caller's RUNPATH, $ORIGIN and
 * namespace apply. So the wrappers must end in a jump, which leaves the caller's return address in
 * place.
 */
#include "libshim/interpose/interpose.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#if defined(__clang__)
#define SIBLING_CALLS
#define TAIL_CALL __attribute__((musttail)) return
#else
/* Not instrumented: a sanitizer's epilogue would come between the call and the return. */
#define SIBLING_CALLS __attribute__((optimize("O2"), no_sanitize("address", "undefined", "thread")))
#define TAIL_CALL     return
#endif

HOOK(void *, dlopen, const char *file, int mode);
HOOK(void *, dlmopen, Lmid_t ns, const char *file, int mode);

const char *const *dlopen_also;

static bool is_soname(const char *base, const char *lib)
{
	size_t len = strlen(lib);

	return !strncmp(base, lib, len) && (base[len] == '\0' || base[len] == '.');
}

/* The files that the program has named, by library; each is written once. */
static struct {
	char path[PATH_MAX];
	bool taken;
	bool written;
} files[REAL_LIBS];

static void dlopen_keep_file(enum real_lib lib, const char *file)
{
	int saved = errno;

	if (!interpose_follows || !strchr(file, '/') || exchange(&files[lib].taken, true))
		return;
	if (realpath(file, files[lib].path))
		store_release(&files[lib].written, true);
	else
		store_release(&files[lib].taken, false);
	errno = saved;
}

const char *dlopen_file(enum real_lib lib)
{
	return load_acquire(&files[lib].written) ? files[lib].path : NULL;
}

/* The library to load for @file: ours for any name of libibverbs, librdmacm or libefa. */
static const char *dlopen_redirect(const char *file)
{
	const char *const *also;
	const char *base;

	if (!file)
		return NULL;
	base = strrchr(file, '/');
	base = base ? base + 1 : file;
	if (is_soname(base, "libibverbs.so") ||
	    (interpose_has_cm && is_soname(base, "librdmacm.so"))) {
		dlopen_keep_file(base[3] == 'i' ? REAL_VERBS : REAL_CM, file);
		return interpose_soname; /* already loaded, libc finds it by SONAME */
	}
	if (interpose_has_efa && is_soname(base, "libefa.so")) {
		dlopen_keep_file(REAL_EFA, file);
		return interpose_soname;
	}
	for (also = dlopen_also; also && *also; also++)
		if (is_soname(base, *also))
			return interpose_soname;
	return file;
}

SIBLING_CALLS void *hook_dlopen(const char *file, int mode)
{
	__typeof__(&hook_dlopen) open_next = libc_next(dlopen);

	if (unlikely(!open_next))
		return NULL; /* before glibc 2.34, in a program without libdl */
	file = dlopen_redirect(file);
	mode &= ~RTLD_DEEPBIND;
	TAIL_CALL open_next(file, mode);
}

/* Other namespaces than the base one have no preloads: such a request passes unchanged. */
SIBLING_CALLS void *hook_dlmopen(Lmid_t ns, const char *file, int mode)
{
	__typeof__(&hook_dlmopen) open_next = libc_next(dlmopen);

	if (unlikely(!open_next))
		return NULL;
	if (ns == LM_ID_BASE) {
		file = dlopen_redirect(file);
		mode &= ~RTLD_DEEPBIND;
	}
	TAIL_CALL open_next(ns, file, mode);
}
