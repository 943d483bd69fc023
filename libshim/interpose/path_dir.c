/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that list directories, expand patterns or change directory. See path.c. */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include <dirent.h>
#include <glob.h>
#include <unistd.h>

typedef int (*dirent_filter)(const struct dirent *);
typedef int (*dirent_order)(const struct dirent **, const struct dirent **);
typedef int (*dirent64_filter)(const struct dirent64 *);
typedef int (*dirent64_order)(const struct dirent64 **, const struct dirent64 **);
typedef int (*glob_errfunc)(const char *path, int error);

PATH_HOOK(DIR *, opendir, NULL, AT_FDCWD, path, (const char *path), (path), (to))
PATH_HOOK(int, scandir, -1, AT_FDCWD, path,
	  (const char *path, struct dirent ***list, dirent_filter filter, dirent_order order),
	  (path, list, filter, order), (to, list, filter, order))
PATH_HOOK(int, scandir64, -1, AT_FDCWD, path,
	  (const char *path, struct dirent64 ***list, dirent64_filter filter, dirent64_order order),
	  (path, list, filter, order), (to, list, filter, order))
PATH_HOOK(int, scandirat, -1, dirfd, path,
	  (int dirfd, const char *path, struct dirent ***list, dirent_filter filter,
	   dirent_order order),
	  (dirfd, path, list, filter, order), (dirfd, to, list, filter, order))
PATH_HOOK(int, scandirat64, -1, dirfd, path,
	  (int dirfd, const char *path, struct dirent64 ***list, dirent64_filter filter,
	   dirent64_order order),
	  (dirfd, path, list, filter, order), (dirfd, to, list, filter, order))
PATH_HOOK(int, chdir, -1, AT_FDCWD, path, (const char *path), (path), (to))

HOOK(int, glob, const char *pattern, int flags, glob_errfunc errfunc, glob_t *g);
HOOK(int, glob64, const char *pattern, int flags, glob_errfunc errfunc, glob64_t *g);
HOOK(char *, getcwd, char *buf, size_t size);
HOOK(char *, __getcwd_chk, char *buf, size_t size, size_t buflen);
HOOK(char *, get_current_dir_name, void);

/*
 * The pattern for the private tree; its root is quoted so that no character in it is special.
 * Return: 0 or GLOB_NOSPACE.
 */
static int glob_map_pattern(const char *pattern, int flags, char *to)
{
	char plain[PATH_MAX];
	size_t root_len, i, n = 0;

	if (!path_root(&root_len) || path_map(pattern, plain))
		return GLOB_NOSPACE;
	for (i = 0; plain[i]; i++) {
		if (n + 2 >= PATH_MAX)
			return GLOB_NOSPACE;
		if (i < root_len && !(flags & GLOB_NOESCAPE) && strchr("*?[]\\{},~", plain[i]))
			to[n++] = '\\';
		to[n++] = plain[i];
	}
	to[n] = '\0';
	return 0;
}

/*
 * Turn the paths that this call found into the program's. With GLOB_NOCHECK one of them can be the
 * pattern itself, with its quotes.
 */
static void glob_strip_found(char **pathv, size_t from, size_t to, const char *pattern,
			     const char *mapped)
{
	size_t i, len = strlen(pattern);

	for (i = from; i < to; i++) {
		if (!strcmp(pathv[i], mapped) && len <= strlen(mapped))
			memcpy(pathv[i], pattern, len + 1);
		else
			path_strip(pathv[i]);
	}
}

static __attribute__((noinline)) int glob_mapped(const char *pattern, int flags,
						 glob_errfunc errfunc, glob_t *g)
{
	char to[PATH_MAX];
	size_t offs = flags & GLOB_DOOFFS ? g->gl_offs : 0;
	size_t first = offs + (flags & GLOB_APPEND ? g->gl_pathc : 0);
	int ret = glob_map_pattern(pattern, flags, to);

	if (!ret)
		ret = libc_next(glob)(to, flags, errfunc, g);
	if (!ret)
		glob_strip_found(g->gl_pathv, first, offs + g->gl_pathc, pattern, to);
	return ret;
}

int hook_glob(const char *pattern, int flags, glob_errfunc errfunc, glob_t *g)
{
	if (unlikely(path_is_ours(AT_FDCWD, pattern)))
		return glob_mapped(pattern, flags, errfunc, g);
	return libc_next(glob)(pattern, flags, errfunc, g);
}

static __attribute__((noinline)) int glob64_mapped(const char *pattern, int flags,
						   glob_errfunc errfunc, glob64_t *g)
{
	char to[PATH_MAX];
	size_t offs = flags & GLOB_DOOFFS ? g->gl_offs : 0;
	size_t first = offs + (flags & GLOB_APPEND ? g->gl_pathc : 0);
	int ret = glob_map_pattern(pattern, flags, to);

	if (!ret)
		ret = libc_next(glob64)(to, flags, errfunc, g);
	if (!ret)
		glob_strip_found(g->gl_pathv, first, offs + g->gl_pathc, pattern, to);
	return ret;
}

int hook_glob64(const char *pattern, int flags, glob_errfunc errfunc, glob64_t *g)
{
	if (unlikely(path_is_ours(AT_FDCWD, pattern)))
		return glob64_mapped(pattern, flags, errfunc, g);
	return libc_next(glob64)(pattern, flags, errfunc, g);
}

/* The counterpart of chdir(). ERANGE depends on the private path's length, which is longer. */

static char *cwd_strip(char *cwd)
{
	if (cwd)
		path_strip(cwd);
	return cwd;
}

char *hook_getcwd(char *buf, size_t size)
{
	return cwd_strip(libc_next(getcwd)(buf, size));
}

char *hook___getcwd_chk(char *buf, size_t size, size_t buflen)
{
	return cwd_strip(libc_next(__getcwd_chk)(buf, size, buflen));
}

char *hook_get_current_dir_name(void)
{
	return cwd_strip(libc_next(get_current_dir_name)());
}
