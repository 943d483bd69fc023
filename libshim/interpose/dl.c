/* SPDX-License-Identifier: MIT */
/*
 * dlopen() of the RDMA libraries yields the shim.
 *
 * Programs that load libibverbs at run time (NCCL, UCX plugins, ctypes) look symbols up in the
 * handle they get, past the global scope in which the shim comes first. They do it with dlsym() or,
 * by version, dlvsym(); both search the handle's library, so it suffices to hand out our own.
 * The handle of some other library that links libibverbs would still find the real functions by way
 * of that library's dependencies; nobody is known to ask there.
 *
 * RTLD_DEEPBIND would bind a plugin to its own dependencies first, the real libraries, and is
 * dropped.
 *
 * libc finds the caller of dlopen() by its return address: the caller's RUNPATH and $ORIGIN and its
 * namespace apply. So the wrappers must end in a jump, leaving the caller's return address in
 * place.
 */
#include "libshim/interpose/interpose.h"

#include <dlfcn.h>

#if defined(__clang__)
#define SIBLING_CALLS
#define TAIL_CALL __attribute__((musttail)) return
#else
/* Not instrumented: a sanitizer's epilogue would stand between the call and the return. */
#define SIBLING_CALLS __attribute__((optimize("O2"), no_sanitize("address", "undefined", "thread")))
#define TAIL_CALL     return
#endif

HOOK(void *, dlopen, const char *file, int mode);
HOOK(void *, dlmopen, Lmid_t ns, const char *file, int mode);

static bool is_soname(const char *base, const char *lib)
{
	size_t len = strlen(lib);

	return !strncmp(base, lib, len) && (base[len] == '\0' || base[len] == '.');
}

/* The library that a request for @file gets: ours for any name of libibverbs or librdmacm. */
static const char *dlopen_redirect(const char *file)
{
	const char *base;

	if (!file)
		return NULL;
	base = strrchr(file, '/');
	base = base ? base + 1 : file;
	if (is_soname(base, "libibverbs.so") || is_soname(base, "librdmacm.so"))
		return interpose_soname; /* found by SONAME among the loaded ones */
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

/* In another namespace than the base one no preload exists: such a request passes untouched. */
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
