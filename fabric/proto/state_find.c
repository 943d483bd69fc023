/* SPDX-License-Identifier: MIT */
/** DOC: the path of the state directory, for the command and for librdmaemu-ctl. */
#include "fabric/proto/state_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Use the runtime directory only if it is the user's own: not after su(1) or sudo(8). */
static bool statedir_runtime_ok(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !access(path, W_OK | X_OK);
}

/*
 * A directory that others can read, but not change: a private one inside it has the state. Others
 * cannot change it if they have no write permission, or if it is sticky as /tmp is, which then may
 * also belong to root.
 */
static bool statedir_is_shared(const char *path)
{
	struct stat st;
	bool sticky;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	sticky = st.st_mode & S_ISVTX;
	if (st.st_uid != geteuid())
		return st.st_uid == 0 && sticky;
	return (st.st_mode & 077) && (sticky || !(st.st_mode & 022));
}

static int statedir_add_private(char path[PATH_MAX], int n)
{
	int more;

	if (!statedir_is_shared(path))
		return 0;
	more = snprintf(path + n, (size_t)(PATH_MAX - n), "%srdmaemu-%u",
			path[n - 1] == '/' ? "" : "/", (unsigned)geteuid());
	return more < PATH_MAX - n ? 0 : -ENAMETOOLONG;
}

int statedir_find(const char *given, char path[PATH_MAX])
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char cwd[PATH_MAX];
	int n;

	if (given[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s", given);
	} else if (given[0]) {
		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
		n = snprintf(path, PATH_MAX, "%s/%s", cwd, given);
	} else if (statedir_runtime_ok(xdg)) {
		n = snprintf(path, PATH_MAX, "%s/rdmaemu", xdg);
	} else {
		n = snprintf(path, PATH_MAX, "/tmp/rdmaemu-%u", (unsigned)geteuid());
	}
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	return statedir_add_private(path, n);
}
