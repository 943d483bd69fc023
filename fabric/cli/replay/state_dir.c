/* SPDX-License-Identifier: MIT */
#include "fabric/cli/replay/state_dir.h"
#include "fabric/proto/control_call.h"
#include "fabric/common/opts.h"
#include "fabric/common/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN "replay-??????"
#define OWNER	"owner"
#define FD_HIGH 940 /* where programs do not expect to get one */

/* Whether a fabric answers at one of the sockets: it ends a little after its replay. */
static bool replay_dir_has_fabric(const char *path)
{
	char sock[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *d = opendir(path);
	int fd;

	if (!d)
		return true;
	while (!found && (e = readdir(d))) {
		if (fnmatch("*.sock", e->d_name, 0))
			continue;
		fd = snprintf(sock, sizeof(sock), "%s/%s", path, e->d_name) < PATH_MAX
			     ? ctl_connect(sock)
			     : -ENAMETOOLONG;
		if (fd >= 0)
			close(fd);
		found = fd != -ECONNREFUSED && fd != -ENOENT;
	}
	closedir(d);
	return found;
}

/* Return: a descriptor that locks a directory which is ours and unused, or -1. */
static int replay_dir_lock_unused(const char *path)
{
	char owner[PATH_MAX];
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    snprintf(owner, sizeof(owner), "%s/" OWNER, path) >= PATH_MAX)
		return -1;
	fd = open(owner, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !flock(fd, LOCK_EX | LOCK_NB) && !replay_dir_has_fabric(path))
		return fd;
	close(fd);
	return -1;
}

/* Directories that cannot be removed stay; that does not stop the replay. */
static void replay_dir_sweep(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d = opendir(dir);
	int fd;

	while (d && (e = readdir(d))) {
		if (fnmatch(PATTERN, e->d_name, 0) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= PATH_MAX)
			continue;
		fd = replay_dir_lock_unused(path);
		if (fd < 0)
			continue;
		tree_remove(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

/* Hold the lock until all processes that inherit the descriptor have ended. Return: 0 or -errno. */
static int replay_dir_own(const char *path)
{
	char owner[PATH_MAX];
	int fd, high;

	if (snprintf(owner, sizeof(owner), "%s/" OWNER, path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(owner, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	high = flock(fd, LOCK_EX) ? -1 : fcntl(fd, F_DUPFD, FD_HIGH);
	if (high < 0 && errno == EINVAL)
		high = fcntl(fd, F_DUPFD, 3);
	if (high < 0)
		high = -errno;
	close(fd);
	return high < 0 ? high : 0;
}

int replay_dir_make(const char *dir, char path[PATH_MAX])
{
	int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (lock < 0 || flock(lock, LOCK_EX)) {
		print_error("%s: %s", dir, strerror(errno));
		if (lock >= 0)
			close(lock);
		return -1;
	}
	replay_dir_sweep(dir);
	ret = snprintf(path, PATH_MAX, "%s/replay-XXXXXX", dir) >= PATH_MAX ? -ENAMETOOLONG : 0;
	if (!ret && !mkdtemp(path))
		ret = -errno;
	if (!ret) {
		ret = replay_dir_own(path);
		if (ret)
			tree_remove(path);
	}
	close(lock);
	return ret ? print_error("%s: %s", ret == -ENAMETOOLONG ? dir : path, strerror(-ret)) : 0;
}
