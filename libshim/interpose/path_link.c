/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that resolve symlinks: they rewrite the path and remove the private root
 * from the result, so that programs find the /sys/devices/... strings that they parse. See path.c.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include <stdlib.h>
#include <unistd.h>

HOOK(ssize_t, readlink, const char *path, char *buf, size_t size);
HOOK(ssize_t, readlinkat, int dirfd, const char *path, char *buf, size_t size);
HOOK(ssize_t, __readlink_chk, const char *path, char *buf, size_t size, size_t buflen);
HOOK(ssize_t, __readlinkat_chk, int dirfd, const char *path, char *buf, size_t size, size_t buflen);
HOOK(char *, realpath, const char *path, char *resolved);
HOOK(char *, __realpath_chk, const char *path, char *resolved, size_t resolvedlen);
HOOK(char *, canonicalize_file_name, const char *path);

/* Links within the tree are relative; /proc/self/fd/N and cwd show the full private path. */
static ssize_t readlink_strip(char *buf, ssize_t n)
{
	size_t len;
	const char *root;

	if (n <= 0 || buf[0] != '/')
		return n;
	root = path_root(&len);
	return root ? (ssize_t)path_strip_head(buf, (size_t)n, root) : n;
}

static __attribute__((noinline)) ssize_t readlink_mapped(const char *path, char *buf, size_t size)
{
	char to[PATH_MAX];

	if (path_map(path, to))
		return -1;
	return libc_next(readlink)(to, buf, size);
}

ssize_t hook_readlink(const char *path, char *buf, size_t size)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return readlink_mapped(path, buf, size);
	return readlink_strip(buf, libc_next(readlink)(path, buf, size));
}

ssize_t hook_readlinkat(int dirfd, const char *path, char *buf, size_t size)
{
	if (unlikely(path_is_ours(dirfd, path)))
		return readlink_mapped(path, buf, size);
	return readlink_strip(buf, libc_next(readlinkat)(dirfd, path, buf, size));
}

/* libc's check of the buffer's size comes first: it ends the process on overflow. */

ssize_t hook___readlink_chk(const char *path, char *buf, size_t size, size_t buflen)
{
	if (unlikely(size <= buflen && path_is_ours(AT_FDCWD, path)))
		return readlink_mapped(path, buf, size);
	return readlink_strip(buf, libc_next(__readlink_chk)(path, buf, size, buflen));
}

ssize_t hook___readlinkat_chk(int dirfd, const char *path, char *buf, size_t size, size_t buflen)
{
	if (unlikely(size <= buflen && path_is_ours(dirfd, path)))
		return readlink_mapped(path, buf, size);
	return readlink_strip(buf, libc_next(__readlinkat_chk)(dirfd, path, buf, size, buflen));
}

/* Also for a relative path: the working directory may lie in the tree. */
static char *realpath_strip(char *resolved)
{
	if (resolved)
		path_strip(resolved);
	return resolved;
}

static __attribute__((noinline)) char *realpath_mapped(const char *path, char *resolved)
{
	char to[PATH_MAX], *found;
	size_t len;

	if (path_map(path, to))
		return NULL;
	found = libc_next(realpath)(to, resolved);
	/* The root as given may itself go through symlinks. */
	if (found && !path_strip(found) && libc_next(realpath)(path_root(&len), to))
		path_strip_head(found, strlen(found) + 1, to);
	return found;
}

char *hook_realpath(const char *path, char *resolved)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return realpath_mapped(path, resolved);
	return realpath_strip(libc_next(realpath)(path, resolved));
}

char *hook___realpath_chk(const char *path, char *resolved, size_t resolvedlen)
{
	if (unlikely(resolvedlen >= PATH_MAX && path_is_ours(AT_FDCWD, path)))
		return realpath_mapped(path, resolved);
	return realpath_strip(libc_next(__realpath_chk)(path, resolved, resolvedlen));
}

char *hook_canonicalize_file_name(const char *path)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return realpath_mapped(path, NULL);
	return realpath_strip(libc_next(canonicalize_file_name)(path));
}
