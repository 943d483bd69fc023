/* SPDX-License-Identifier: MIT */
/**
 * DOC: rewriting of paths into the private tree, for the wrappers in path_*.c.
 *
 * The paths in question are /sys/class/infiniband*, /sys/devices/pci0fab:*, /dev/infiniband* and
 * PTP clocks of emulated devices, /dev/ptp231* and /sys/class/ptp/ptp231*;
 * fabric/nodes/sysfs.h describes the tree that they lead to.
 */
#ifndef LIBSHIM_INTERPOSE_PATH_H
#define LIBSHIM_INTERPOSE_PATH_H

#include "emulator/hca.h"
#include "libshim/interpose/interpose.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Every path that goes through the wrappers is @dirfd + @path, as for openat(2). */

/* --- path.c --- */

/** path_has_prefix() - whether the path is one to rewrite: the full test. */
bool path_has_prefix(int dirfd, const char *path);

/** path_is_ours() - the same, with a quick answer for most paths. Never faults on NULL. */
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
 * path_map() - the private path for a path that path_is_ours() accepted.
 * @to: PATH_MAX bytes
 * Return: 0, or -1 with errno (ENAMETOOLONG).
 */
int path_map(const char *path, char *to);

/**
 * path_strip() - turn a private path back into the program's, in place.
 * @path: absolute, NUL-terminated; unchanged unless it lies in the private tree
 * Return: whether it does.
 */
bool path_strip(char *path);

/** path_strip_head() - the same for a tree at @root, in @n bytes at @path. Return: new @n. */
size_t path_strip_head(char *path, size_t n, const char *root);

/** path_is_chardev() - whether a mapped path is one of the device nodes in /dev/infiniband. */
bool path_is_chardev(const char *mapped);

/** path_root() - the root of the private tree and, in *@len, its length; NULL if there is none. */
const char *path_root(size_t *len);

/* --- path_counters.c --- */

/**
 * path_counter_open() - open a port's counter file with the current value in it.
 * @mapped: a path from path_map()
 * Return: descriptor, or -1 if it is no such file or the value is unavailable. Keeps errno.
 */
int path_counter_open(const char *mapped, int flags);
/* Descriptors that path_counter_open() has made, a bit each; those above the last are not known. */
#define PATH_COUNTER_FDS 4096
extern u64 path_counter_fds[PATH_COUNTER_FDS / 64];
/** path_counter_refresh() - if @fd is a counter's file, write the current value into it. */
void path_counter_refresh(int fd);
/**
 * path_counters_set_hca() - read counters from @hca from now on, which holds the devices of this
 * process's node from @first_dev on. @hca: NULL: ask the fabric process
 */
void path_counters_set_hca(const struct hca *hca, u32 first_dev, u32 n_devs);

/* --- for the wrappers --- */

/*
 * PATH_HOOK() - a wrapper that only maps one path.
 * @fail: its result if the path is too long or libc lacks the function
 * @dirfd, @path: the parameters that name the file
 * @args: the parameters, @margs: the same with the path replaced by `to`
 *
 * The buffer lies in the frame of a function of its own: the wrappers run on small signal stacks,
 * and only the rare rewritten path may need more stack than libc itself.
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
