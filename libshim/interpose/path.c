/* SPDX-License-Identifier: MIT */
/*
 * Theory of operation
 * -------------------
 * Programs find RDMA devices through /sys and /dev as well as through libibverbs. `rdmaemu run`
 * names a private tree in $RDMAEMU_SYSFS, and the wrappers in path_*.c put that root before a path;
 * the kernel does the rest (symlinks, "..", permissions). Since the prefixes are always replaced,
 * the machine's own devices are invisible; its PTP clocks have smaller numbers. Without the
 * variable, or with an empty one, every wrapper passes its arguments on unchanged.
 *
 * Paths are compared by components, so "//sys/./class/infiniband" matches as well. Not recognised
 * are paths that reach the prefixes through ".." or a symlink elsewhere, and paths relative to a
 * directory other than the root (relative to a directory in the private tree they need no mapping).
 *
 * The wrappers can run in a signal handler or after vfork(): nothing here allocates or locks. The
 * variable is copied once, at the first path that may match, because the program may overwrite its
 * environment.
 */
#include "libshim/interpose/path.h"

#include "fabric/proto/proto.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Leaves room for the longest fixed part of the tree. */
#define ROOT_MAX (PATH_MAX - 512)

/* Components of the prefixes; one that ends in '*' matches by its beginning. */
static const char *const prefix[][4] = {
	{ "sys", "class", "infiniband*", NULL },       { "sys", "devices", "pci0fab:*", NULL },
	{ "sys", "class", "ptp", PROTO_PTP_NAME "*" }, { "dev", "infiniband*", NULL, NULL },
	{ "dev", PROTO_PTP_NAME "*", NULL, NULL },
};

const char *path_root(size_t *len)
{
	enum { UNREAD = -1 };
	static char root[ROOT_MAX];
	static int root_len = UNREAD;
	int n = load_acquire(&root_len);

	*len = 0;
	if (unlikely(n == UNREAD)) {
		extern char **environ;
		const char *env;
		int i;

		/* Before libc is initialised there is no environment: try again later. */
		if (!environ)
			return NULL;
		env = secure_getenv(PROTO_SYSFS_ENV);
		n = env && env[0] == '/' ? (int)strnlen(env, ROOT_MAX) : 0;
		if (n == ROOT_MAX)
			n = 0;
		while (n && env[n - 1] == '/')
			n--;
		/* Threads may do this concurrently, with the same bytes. */
		for (i = 0; i < n; i++)
			store_relaxed(&root[i], env[i]);
		store_release(&root_len, n);
	}
	*len = (size_t)n;
	return n ? root : NULL;
}

/* Skips slashes and "." components. */
static const char *component_skip_slashes(const char *p)
{
	for (;;) {
		if (*p != '/' && !(p[0] == '.' && (p[1] == '/' || p[1] == '\0')))
			return p;
		p++;
	}
}

/* If the component at @p matches @pattern: its end, otherwise NULL. */
static const char *component_match(const char *p, const char *pattern)
{
	while (*pattern && *pattern != '*')
		if (*p++ != *pattern++)
			return NULL;
	if (*pattern == '*')
		return p;
	return *p == '/' || *p == '\0' ? p : NULL;
}

/*
 * Match @path with the prefixes. Return: the rest after the fixed part of the prefix, or NULL.
 * *@which: the row of prefix[].
 */
static const char *prefix_match(const char *path, u32 *which)
{
	u32 row, col;

	for (row = 0; row < ARRAY_SIZE(prefix); row++) {
		const char *p = path;

		for (col = 0; p && col < ARRAY_SIZE(prefix[0]) && prefix[row][col]; col++)
			p = component_match(component_skip_slashes(p), prefix[row][col]);
		if (p) {
			*which = row;
			return p;
		}
	}
	return NULL;
}

/* Whether @dirfd is the root directory. libc's fstat() would recurse into the wrappers. */
static bool is_root_dir(int dirfd)
{
	struct statx dir, root;
	int saved = errno;
	bool same;

	same = !syscall(SYS_statx, dirfd, "", AT_EMPTY_PATH, STATX_INO, &dir) &&
	       !syscall(SYS_statx, AT_FDCWD, "/", 0, STATX_INO, &root) &&
	       dir.stx_ino == root.stx_ino && dir.stx_dev_major == root.stx_dev_major &&
	       dir.stx_dev_minor == root.stx_dev_minor;
	errno = saved;
	return same;
}

bool path_has_prefix(int dirfd, const char *path)
{
	size_t len;
	u32 which;

	if (!prefix_match(path, &which) || !path_root(&len))
		return false;
	return path[0] == '/' || is_root_dir(dirfd);
}

int path_map(const char *path, char *to)
{
	size_t root_len, len;
	u32 which, col;
	const char *root = path_root(&root_len);
	const char *rest = prefix_match(path, &which);
	char *out = to;

	if (!root || !rest) {
		errno = ENOENT;
		return -1;
	}
	memcpy(out, root, root_len);
	out += root_len;
	for (col = 0; col < ARRAY_SIZE(prefix[0]) && prefix[which][col]; col++) {
		len = strcspn(prefix[which][col], "*");
		*out++ = '/';
		memcpy(out, prefix[which][col], len);
		out += len;
	}
	len = strlen(rest);
	if (len >= (size_t)(to + PATH_MAX - out)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, rest, len + 1);
	return 0;
}

size_t path_strip_head(char *path, size_t n, const char *root)
{
	size_t len = strlen(root);

	if (n <= len || memcmp(path, root, len) != 0 || path[len] != '/')
		return n;
	memmove(path, path + len, n - len);
	return n - len;
}

bool path_strip(char *path)
{
	size_t len, n = strlen(path) + 1;
	const char *root = path_root(&len);

	return root && path_strip_head(path, n, root) != n;
}

bool path_is_chardev(const char *mapped)
{
	static const char dir[] = "/dev/infiniband/";
	size_t root_len;
	const char *root = path_root(&root_len);
	const char *p = mapped + root_len;

	if (!root || strncmp(p, dir, sizeof(dir) - 1) != 0)
		return false;
	p = component_skip_slashes(p + sizeof(dir) - 1);
	return !strncmp(p, "uverbs", 6);
}
