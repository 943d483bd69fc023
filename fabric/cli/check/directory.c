/* SPDX-License-Identifier: MIT */
/*
 * The directory of the reports of a run. The command locks it, so that the next one knows which
 * directories belong to commands that were killed, and removes them.
 */
#include "fabric/cli/check/found.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY_NAME	"rdmaemu-check-"
#define DIRECTORY_NEW_S 60 /* one that is younger may not be locked yet */

static const char *directory_parent(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp ? tmp : "/tmp";
}

void directory_remove(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *files = opendir(dir);

	while (files && (d = readdir(files))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%.3500s/%s", dir, d->d_name);
		unlink(path);
	}
	if (files)
		closedir(files);
	rmdir(dir);
}

/* Whether a command of this user made it, and was killed. */
static bool directory_is_left(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool left;

	if (fd < 0)
		return false;
	left = !fstat(fd, &st) && st.st_uid == geteuid() &&
	       time(NULL) - st.st_mtime > DIRECTORY_NEW_S && !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return left;
}

static void directory_remove_left(void)
{
	const char *parent = directory_parent();
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dirs = opendir(parent);

	while (dirs && (d = readdir(dirs))) {
		if (strncmp(d->d_name, DIRECTORY_NAME, strlen(DIRECTORY_NAME)) != 0)
			continue;
		snprintf(path, sizeof(path), "%.3500s/%s", parent, d->d_name);
		if (directory_is_left(path))
			directory_remove(path);
	}
	if (dirs)
		closedir(dirs);
}

int directory_make(char dir[PATH_MAX])
{
	int fd;

	directory_remove_left();
	snprintf(dir, PATH_MAX, "%.3000s/" DIRECTORY_NAME "XXXXXX", directory_parent());
	if (!mkdtemp(dir)) {
		print_error("check: %s: %s", dir, strerror(errno));
		dir[0] = '\0';
		return -1;
	}
	/* It stays open, and locked, as long as this process. */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB)
		       ? print_error("check: %s: %s", dir, strerror(errno))
		       : 0;
}
