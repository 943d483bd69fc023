/* SPDX-License-Identifier: MIT */
/**
 * DOC: a tree of files below a root, see tree.h.
 */
#include "fabric/common/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void tree_fail(struct tree *t)
{
	if (!t->err)
		t->err = -errno;
}

/* Open an existing directory. Also fails if the kernel does not have openat2(2). */
static int tree_open_dir(int root, const char *path)
{
	struct open_how how = {
		.flags = DIR_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Open a directory, and make those that are missing on the way to it. */
static int tree_make_dir(int root, char *path)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char *name;

	while (fd >= 0 && (name = strsep(&path, "/"))) {
		int saved, parent = fd;

		fd = -1;
		if (!mkdirat(parent, name, 0755) || errno == EEXIST)
			fd = openat(parent, name, DIR_FLAGS);
		saved = errno;
		close(parent);
		errno = saved;
	}
	return fd;
}

void tree_cd(struct tree *t, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int fd, n;

	if (t->err)
		return;
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		t->err = -ENAMETOOLONG;
		return;
	}
	fd = tree_open_dir(t->root, path);
	if (fd < 0)
		fd = tree_make_dir(t->root, path);
	if (fd < 0) {
		tree_fail(t);
		return;
	}
	if (t->dir >= 0)
		close(t->dir);
	t->dir = fd;
}

#define TEMP ".new"

void tree_write(struct tree *t, const char *name, mode_t mode, const char *text, size_t len)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if (t->err)
		return;
	fd = openat(t->dir, TEMP, flags, mode);
	if (fd < 0 && errno == EEXIST && !unlinkat(t->dir, TEMP, 0))
		fd = openat(t->dir, TEMP, flags, mode);
	if (fd < 0) {
		tree_fail(t);
		return;
	}
	/* fchmod(): the umask must not take away what programs look for. */
	if (fchmod(fd, mode) || (len && write(fd, text, len) != (ssize_t)len))
		tree_fail(t);
	if (close(fd) || renameat(t->dir, TEMP, t->dir, name))
		tree_fail(t);
}

void tree_attr(struct tree *t, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text) - 1) {
		t->err = t->err ? t->err : -ENAMETOOLONG;
		return;
	}
	text[n] = '\n';
	tree_write(t, name, 0444, text, (size_t)n + 1);
}

void tree_link(struct tree *t, const char *name, const char *target)
{
	if (t->err)
		return;
	if (!symlinkat(target, t->dir, name))
		return;
	if (errno != EEXIST || (unlinkat(t->dir, TEMP, 0) && errno != ENOENT) ||
	    symlinkat(target, t->dir, TEMP) || renameat(t->dir, TEMP, t->dir, name))
		tree_fail(t);
}

int tree_open(struct tree *t, const char *root)
{
	t->dir = -1;
	t->root = open(root, DIR_FLAGS);
	t->err = t->root < 0 ? -errno : 0;
	return t->err;
}

int tree_close(struct tree *t)
{
	if (t->dir >= 0)
		close(t->dir);
	close(t->root);
	return t->err;
}

/* Remove everything in the directory @fd, which is closed. Recursion is as deep as the tree. */
static int tree_empty_dir(int fd)
{
	struct dirent *e;
	int err = 0;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while ((e = readdir(dir))) {
		int sub, ret = 0;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(dir), e->d_name, 0))
			continue;
		sub = openat(dirfd(dir), e->d_name, DIR_FLAGS);
		if (sub < 0)
			ret = -errno;
		else
			ret = tree_empty_dir(sub);
		if (unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) && !ret)
			ret = -errno;
		if (!err)
			err = ret;
	}
	closedir(dir);
	return err;
}

int tree_remove(const char *root)
{
	int err, fd = open(root, DIR_FLAGS);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = tree_empty_dir(fd);
	if (rmdir(root) && !err)
		err = -errno;
	return err;
}
