/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that inspect files by path without opening them. See path.c.
 *
 * The private tree cannot contain device nodes (mknod() needs privileges), so /dev/infiniband/
 * uverbsN is a plain file of mode 0666 that the wrappers show as a character device: programs such
 * as UCX check that they may read and write it before they use the device.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

/* The kernel's fixed numbers: uverbsN is 231:(192 + N). */
#define UVERBS_MAJOR 231u
#define UVERBS_MINOR 192u

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout serves both names");

static u32 uverbs_minor(const char *mapped)
{
	const char *digits = strrchr(mapped, 's') + 1; /* path_is_chardev(): "uverbs" is in it */

	return UVERBS_MINOR + (u32)strtoul(digits, NULL, 10);
}

static int stat_show_chardev(int ret, const char *mapped, struct stat *st)
{
	if (ret || !path_is_chardev(mapped))
		return ret;
	st->st_mode = S_IFCHR | (st->st_mode & 0777);
	st->st_rdev = makedev(UVERBS_MAJOR, uverbs_minor(mapped));
	st->st_size = 0;
	st->st_blocks = 0;
	return 0;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists */
/* STAT_HOOK() - PATH_HOOK() for functions that fill @st. */
#define STAT_HOOK(name, dirfd, params, args, margs)                                                \
	HOOK(int, name, PATH_UNPAREN params);                                                      \
	static __attribute__((noinline)) int mapped_##name params                                  \
	{                                                                                          \
		char to[PATH_MAX];                                                                 \
                                                                                                   \
		if (path_map(path, to))                                                            \
			return -1;                                                                 \
		return stat_show_chardev(libc_next(name) margs, to, (struct stat *)st);            \
	}                                                                                          \
	int hook_##name params                                                                     \
	{                                                                                          \
		__typeof__(&hook_##name) fn = libc_next(name);                                     \
                                                                                                   \
		if (unlikely(!fn)) {                                                               \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		if (unlikely(path_is_ours(dirfd, path)))                                           \
			return mapped_##name args;                                                 \
		return fn args;                                                                    \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

STAT_HOOK(stat, AT_FDCWD, (const char *path, struct stat *st), (path, st), (to, st))
STAT_HOOK(stat64, AT_FDCWD, (const char *path, struct stat64 *st), (path, st), (to, st))
STAT_HOOK(lstat, AT_FDCWD, (const char *path, struct stat *st), (path, st), (to, st))
STAT_HOOK(lstat64, AT_FDCWD, (const char *path, struct stat64 *st), (path, st), (to, st))
STAT_HOOK(fstatat, dirfd, (int dirfd, const char *path, struct stat *st, int flags),
	  (dirfd, path, st, flags), (dirfd, to, st, flags))
STAT_HOOK(fstatat64, dirfd, (int dirfd, const char *path, struct stat64 *st, int flags),
	  (dirfd, path, st, flags), (dirfd, to, st, flags))

/* Programs built before glibc 2.33 call these. */
STAT_HOOK(__xstat, AT_FDCWD, (int ver, const char *path, struct stat *st), (ver, path, st),
	  (ver, to, st))
STAT_HOOK(__xstat64, AT_FDCWD, (int ver, const char *path, struct stat64 *st), (ver, path, st),
	  (ver, to, st))
STAT_HOOK(__lxstat, AT_FDCWD, (int ver, const char *path, struct stat *st), (ver, path, st),
	  (ver, to, st))
STAT_HOOK(__lxstat64, AT_FDCWD, (int ver, const char *path, struct stat64 *st), (ver, path, st),
	  (ver, to, st))
STAT_HOOK(__fxstatat, dirfd, (int ver, int dirfd, const char *path, struct stat *st, int flags),
	  (ver, dirfd, path, st, flags), (ver, dirfd, to, st, flags))
STAT_HOOK(__fxstatat64, dirfd, (int ver, int dirfd, const char *path, struct stat64 *st, int flags),
	  (ver, dirfd, path, st, flags), (ver, dirfd, to, st, flags))

HOOK(int, statx, int dirfd, const char *path, int flags, unsigned int mask, struct statx *st);

static __attribute__((noinline)) int mapped_statx(int dirfd, const char *path, int flags,
						  unsigned int mask, struct statx *st)
{
	char to[PATH_MAX];
	int ret;

	if (path_map(path, to))
		return -1;
	ret = libc_next(statx)(dirfd, to, flags, mask, st);
	if (ret || !path_is_chardev(to))
		return ret;
	st->stx_mode = (u16)(S_IFCHR | (st->stx_mode & 0777));
	st->stx_rdev_major = UVERBS_MAJOR;
	st->stx_rdev_minor = uverbs_minor(to);
	st->stx_size = 0;
	st->stx_blocks = 0;
	return 0;
}

int hook_statx(int dirfd, const char *path, int flags, unsigned int mask, struct statx *st)
{
	__typeof__(&hook_statx) fn = libc_next(statx);

	if (unlikely(!fn)) {
		errno = ENOSYS;
		return -1;
	}
	if (unlikely(path_is_ours(dirfd, path)))
		return mapped_statx(dirfd, path, flags, mask, st);
	return fn(dirfd, path, flags, mask, st);
}

PATH_HOOK(int, access, -1, AT_FDCWD, path, (const char *path, int mode), (path, mode), (to, mode))
PATH_HOOK(int, eaccess, -1, AT_FDCWD, path, (const char *path, int mode), (path, mode), (to, mode))
PATH_HOOK(int, euidaccess, -1, AT_FDCWD, path, (const char *path, int mode), (path, mode),
	  (to, mode))
PATH_HOOK(int, faccessat, -1, dirfd, path, (int dirfd, const char *path, int mode, int flags),
	  (dirfd, path, mode, flags), (dirfd, to, mode, flags))

/* ls -l reads ACLs and complains if a file that it has just listed does not exist. */
PATH_HOOK(ssize_t, getxattr, -1, AT_FDCWD, path,
	  (const char *path, const char *name, void *value, size_t size), (path, name, value, size),
	  (to, name, value, size))
PATH_HOOK(ssize_t, lgetxattr, -1, AT_FDCWD, path,
	  (const char *path, const char *name, void *value, size_t size), (path, name, value, size),
	  (to, name, value, size))
PATH_HOOK(ssize_t, listxattr, -1, AT_FDCWD, path, (const char *path, char *list, size_t size),
	  (path, list, size), (to, list, size))
PATH_HOOK(ssize_t, llistxattr, -1, AT_FDCWD, path, (const char *path, char *list, size_t size),
	  (path, list, size), (to, list, size))
