/* SPDX-License-Identifier: MIT */
/**
 * DOC: the order of LD_PRELOAD. See fabric/proto/program.h.
 *
 * ASan stops a program unless its runtime is the first library that the loader has loaded; that of
 * a program which was linked with it is the first without a preload. So it is preloaded first of
 * all, by the name that the program itself gives, which the loader finds by the program's own rules
 * (RUNPATH, LD_LIBRARY_PATH) and loads once. Other programs that this one starts must not get the
 * runtime: it would report leaks of the shell. So a mark, an empty entry, which the loader skips,
 * follows it:
 *
 *	libasan.so.8::/usr/lib/librdmaemu.so:/home/user/own.so
 */
#include "fabric/proto/program.h"

#include <string.h>

#define MARK "::"

bool preload_is_sanitizer(const char *name, size_t len)
{
	static const char *const runtimes[] = { "libasan.so",	      "libhwasan.so",
						"libtsan.so",	      "liblsan.so",
						"libclang_rt.asan",   "libclang_rt.hwasan",
						"libclang_rt.tsan",   "libclang_rt.lsan",
						"libclang_rt.memprof" };
	const char *slash = memrchr(name, '/', len);
	size_t i, n;

	/* The list cannot quote these. */
	if (memchr(name, ':', len) || memchr(name, ' ', len))
		return false;
	if (slash) {
		len -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	for (i = 0; i < ARRAY_SIZE(runtimes); i++) {
		n = strlen(runtimes[i]);
		if (len >= n && !memcmp(name, runtimes[i], n))
			return true;
	}
	return false;
}

size_t preload_own_len(const char *list)
{
	const char *mark = strstr(list, MARK);

	return mark && preload_is_sanitizer(list, (size_t)(mark - list))
		       ? (size_t)(mark - list) + strlen(MARK)
		       : 0;
}

bool preload_arrange(const char *list, const char *sanitizer, char *out, size_t size)
{
	size_t own = preload_own_len(list), n = strlen(sanitizer);
	size_t rest = strlen(list + own);

	if (!own && !n)
		return false;
	if (own && own == n + strlen(MARK) && !memcmp(list, sanitizer, n))
		return false;
	/* The user has put one there. */
	if (!own && preload_is_sanitizer(list, strcspn(list, ": ")))
		return false;
	if (n + strlen(MARK) + rest >= size)
		return false;
	stpcpy(stpcpy(stpcpy(out, sanitizer), n ? MARK : ""), list + own);
	return true;
}
