/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that open files and directories by path. See path.c.
 *
 * Some files in the private tree only stand for others; opening them is special:
 *  - counters: see path_counters.c
 *  - /dev/infiniband/uverbsN: the kernel's uverbs interface is not emulated, so open() fails with
 *    ENXIO, as for a device node without a driver. stat() and access() show a device.
 *  - attributes of an empty GID entry: the kernel lets a program open them and fails its read()
 *    with EINVAL, which tells programs "entry unused" from "no such attribute". The private file is
 *    empty, and the program gets an epoll descriptor, whose read() fails in that way.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

HOOK(int, open, const char *path, int flags, ...);
HOOK(int, open64, const char *path, int flags, ...);
HOOK(int, openat, int dirfd, const char *path, int flags, ...);
HOOK(int, openat64, int dirfd, const char *path, int flags, ...);
HOOK(int, __open_2, const char *path, int flags);
HOOK(int, __open64_2, const char *path, int flags);
HOOK(int, __openat_2, int dirfd, const char *path, int flags);
HOOK(int, __openat64_2, int dirfd, const char *path, int flags);
HOOK(FILE *, fopen, const char *path, const char *mode);
HOOK(FILE *, fopen64, const char *path, const char *mode);

/* A raw system call: a preloaded librspreload wraps close(). */
static void fd_close_keep_errno(int fd)
{
	int saved = errno;

	syscall(SYS_close, fd);
	errno = saved;
}

static bool is_empty_file(int fd)
{
	struct statx st;

	return !syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_TYPE, &st) &&
	       S_ISREG(st.stx_mode) && st.stx_size == 0;
}

/* Open a path of the private tree, which, like sysfs, lets no program create files. */
static __attribute__((noinline)) int open_mapped(const char *path, int flags)
{
	char to[PATH_MAX];
	int fd;

	if (path_map(path, to))
		return -1;
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	fd = path_counter_open(to, flags);
	if (fd >= 0)
		return fd;
	fd = libc_next(openat)(AT_FDCWD, to, flags & ~(O_CREAT | O_EXCL | O_TRUNC));
	if (fd < 0 || (flags & O_PATH))
		return fd;
	if (path_is_chardev(to)) {
		fd_close_keep_errno(fd);
		errno = ENXIO;
		return -1;
	}
	if (strstr(to, "/gid_attrs/") && is_empty_file(fd)) {
		fd_close_keep_errno(fd);
		return epoll_create1(flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0);
	}
	return fd;
}

static bool open_takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The optional argument of open(), which exists only with some flags. */
#define OPEN_MODE(flags)                                                                           \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		va_list ap_;                                                                       \
                                                                                                   \
		if (open_takes_mode(flags)) {                                                      \
			va_start(ap_, flags);                                                      \
			mode_ = va_arg(ap_, mode_t);                                               \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

int hook_open(const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return open_mapped(path, flags);
	return libc_next(open)(path, flags, mode);
}

int hook_open64(const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return open_mapped(path, flags);
	return libc_next(open64)(path, flags, mode);
}

int hook_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (unlikely(path_is_ours(dirfd, path)))
		return open_mapped(path, flags);
	return libc_next(openat)(dirfd, path, flags, mode);
}

int hook_openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (unlikely(path_is_ours(dirfd, path)))
		return open_mapped(path, flags);
	return libc_next(openat64)(dirfd, path, flags, mode);
}

/* The variants without a mode argument that _FORTIFY_SOURCE calls. */

int hook___open_2(const char *path, int flags)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return open_mapped(path, flags);
	return libc_next(__open_2)(path, flags);
}

int hook___open64_2(const char *path, int flags)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return open_mapped(path, flags);
	return libc_next(__open64_2)(path, flags);
}

int hook___openat_2(int dirfd, const char *path, int flags)
{
	if (unlikely(path_is_ours(dirfd, path)))
		return open_mapped(path, flags);
	return libc_next(__openat_2)(dirfd, path, flags);
}

int hook___openat64_2(int dirfd, const char *path, int flags)
{
	if (unlikely(path_is_ours(dirfd, path)))
		return open_mapped(path, flags);
	return libc_next(__openat64_2)(dirfd, path, flags);
}

static FILE *fopen_mapped(const char *path, const char *mode)
{
	int flags, fd;
	FILE *file;

	if (strchr(mode, '+'))
		flags = O_RDWR;
	else
		flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
	if (strchr(mode, 'e'))
		flags |= O_CLOEXEC;
	fd = open_mapped(path, flags);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, mode);
	if (!file)
		fd_close_keep_errno(fd);
	return file;
}

FILE *hook_fopen(const char *path, const char *mode)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return fopen_mapped(path, mode);
	return libc_next(fopen)(path, mode);
}

FILE *hook_fopen64(const char *path, const char *mode)
{
	if (unlikely(path_is_ours(AT_FDCWD, path)))
		return fopen_mapped(path, mode);
	return libc_next(fopen64)(path, mode);
}
