/* SPDX-License-Identifier: MIT */
/**
 * DOC: the private directory, and the lock under which fabrics start and end.
 */
#include "fabric/statedir.h"
#include "fabric/opts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A runtime directory is used when it is really ours: not after su(1) or sudo(8). */
static bool runtime_dir_ok(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !access(path, W_OK | X_OK);
}

static int statedir_path(const char *given, char path[PATH_MAX])
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char cwd[PATH_MAX];
	int n;

	if (given[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s", given);
	} else if (given[0]) {
		if (!getcwd(cwd, sizeof(cwd)))
			return trouble("current directory: %s", strerror(errno));
		n = snprintf(path, PATH_MAX, "%s/%s", cwd, given);
	} else if (runtime_dir_ok(xdg)) {
		n = snprintf(path, PATH_MAX, "%s/rdmaemu", xdg);
	} else {
		n = snprintf(path, PATH_MAX, "/tmp/rdmaemu-%u", (unsigned)geteuid());
	}
	if (n >= PATH_MAX)
		return trouble("name of the state directory is too long");
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	return 0;
}

int statedir_open(const char *given, char path[PATH_MAX])
{
	struct stat st;

	if (statedir_path(given, path))
		return -1;
	if (mkdir(path, 0700) && errno != EEXIST)
		return trouble("cannot make directory %s: %s", path, strerror(errno));
	if (lstat(path, &st))
		return trouble("%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return trouble("%s is not a directory; choose another with --dir", path);
	if (st.st_uid != geteuid())
		return trouble("%s belongs to user %u, not to you; choose another with --dir", path,
			       (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return trouble("%s must be private (mode 0700) but has mode %04o", path,
			       (unsigned)st.st_mode & 07777);
	return 0;
}

static int path_of(char out[PATH_MAX], const char *dir, const char *name, const char *suffix)
{
	int n = snprintf(out, PATH_MAX, "%s/%s%s", dir, name, suffix);

	return n < PATH_MAX ? 0 : trouble("path %s/... is too long", dir);
}

int paths_of(struct fabric_paths *p, const char *dir, const char *name)
{
	const size_t limit = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	strcpy(p->dir, dir);
	if (path_of(p->lock, dir, name, ".lock") || path_of(p->sock, dir, name, ".sock") ||
	    path_of(p->log, dir, name, ".log") || path_of(p->sysfs, dir, name, ".sysfs"))
		return -1;
	if (strlen(p->sock) > limit)
		return trouble(
			"%s has %zu bytes, a socket's path may have %zu; choose a shorter --dir",
			p->sock, strlen(p->sock), limit);
	return 0;
}

int lock_take(const char *path, bool wait)
{
	struct stat mine, there;
	int fd, err;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		while (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB)) {
			err = errno;
			if (err == EINTR)
				continue;
			close(fd);
			return -err;
		}
		/* The last holder may have removed the file: then the name is another's lock. */
		if (!fstat(fd, &mine) && !stat(path, &there) && mine.st_ino == there.st_ino &&
		    mine.st_dev == there.st_dev)
			return fd;
		close(fd);
	}
}

void lock_drop_file(const char *path, int fd)
{
	unlink(path);
	close(fd);
}
