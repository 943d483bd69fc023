/* SPDX-License-Identifier: MIT */
/**
 * DOC: where a path of the program really leads: the rewriting behind path_*.c's wrappers.
 *
 * The paths in question are /sys/class/infiniband*, /sys/devices/pci0fab:* and /dev/infiniband*;
 * what they are mapped into is described in fabric/server/sysfs.h.
 */
#ifndef LIBSHIM_INTERPOSE_PATH_H
#define LIBSHIM_INTERPOSE_PATH_H

#include "libshim/interpose/interpose.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Every path that goes through the wrappers is @dirfd + @path, as for openat(2). */

/** path_has_prefix() - the full test; path_is_ours() spares most paths the call. */
bool path_has_prefix(int dirfd, const char *path);

/** path_is_ours() - whether the path is one to rewrite. Never faults on NULL. */
static inline bool path_is_ours(int dirfd, const char *path)
{
	const char *p = path;

	if (!p)
		return false;
	while (*p == '/')
		p++;
	/* "sys..." or "dev..."; a relative one counts if @dirfd is the root directory. */
	if (likely(!(p[0] == 's' && p[1] == 'y') && !(p[0] == 'd' && p[1] == 'e')))
		return false;
	return path_has_prefix(dirfd, path);
}

/**
 * path_map() - the private path for one that path_is_ours() accepted.
 * @to: PATH_MAX bytes
 * Return: 0, or -1 with errno (ENAMETOOLONG).
 */
int path_map(const char *path, char *to);

/**
 * path_strip() - turn a private path back into the program's, in place.
 * @path: absolute, NUL-terminated; left alone if it does not lie in the private tree
 * Return: whether it was one.
 */
bool path_strip(char *path);

/** path_strip_head() - the same for a tree at @root, in @n bytes at @path. Return: new @n. */
size_t path_strip_head(char *path, size_t n, const char *root);

/** path_is_chardev() - whether a mapped path is one of the device nodes in /dev/infiniband. */
bool path_is_chardev(const char *mapped);

/**
 * path_counter_open() - open a port's counter with its value of this moment (path_counters.c).
 * @mapped: as path_map() gives it
 * Return: descriptor, or -1 when it is no such file, or nobody can tell. Leaves errno alone.
 */
int path_counter_open(const char *mapped, int flags);

/** path_root() - the root of the private tree and, in *@len, its length; NULL if there is none. */
const char *path_root(size_t *len);

/*
 * PATH_HOOK() - a wrapper that does nothing but map one path.
 * @fail: what it returns when the path is too long or libc lacks the function
 * @dirfd, @path: which of the parameters they are
 * @args: the parameters, @margs: the same with the path replaced by `to`
 *
 * The buffer lives in a function of its own: the wrappers run on small signal stacks, and only
 * the rare rewritten path may need more of it than libc itself.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists */
#define PATH_HOOK(type, name, fail, dirfd, path, params, args, margs)                              \
	HOOK(type, name, PATH_UNPAREN params);                                                     \
	static __attribute__((noinline)) type mapped_##name params                                 \
	{                                                                                          \
		char to[PATH_MAX];                                                                 \
                                                                                                   \
		if (path_map(path, to))                                                            \
			return fail;                                                               \
		return libc_next(name) margs;                                                      \
	}                                                                                          \
	type hook_##name params                                                                    \
	{                                                                                          \
		__typeof__(&hook_##name) fn = libc_next(name);                                     \
                                                                                                   \
		if (unlikely(!fn)) {                                                               \
			errno = ENOSYS;                                                            \
			return fail;                                                               \
		}                                                                                  \
		if (unlikely(path_is_ours(dirfd, path)))                                           \
			return mapped_##name args;                                                 \
		return fn args;                                                                    \
	}
/* NOLINTEND(bugprone-macro-parentheses) */
#define PATH_UNPAREN(...) __VA_ARGS__

#endif
