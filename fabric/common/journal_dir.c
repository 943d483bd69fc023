/* SPDX-License-Identifier: MIT */
/** DOC: see journal_dir.h. */
#include "fabric/common/journal_dir.h"
#include "fabric/proto/state_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_SUFFIX ".journal"
#define JOURNAL_TIME   16u /* hexadecimal digits of the time in a name */

static int journal_dir_path(char path[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/journals%s%s", dir, *name ? "/" : "", name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int journal_is_file(const struct dirent *d)
{
	size_t n = strlen(d->d_name), suffix = strlen(JOURNAL_SUFFIX);

	return strspn(d->d_name, "0123456789abcdef") == JOURNAL_TIME &&
	       n > JOURNAL_TIME + 1 + suffix && !strcmp(d->d_name + n - suffix, JOURNAL_SUFFIX);
}

/* Whether a file's name is that of a journal of @fabric, or of a `run --fresh` in its place. */
static bool journal_is_of(const char *file, const char *fabric)
{
	const char *name = file + JOURNAL_TIME + 1;
	size_t n = statedir_base_len(name), all = strlen(name) - strlen(JOURNAL_SUFFIX);

	n = n < all ? n : all;
	return n == strlen(fabric) && !memcmp(name, fabric, n);
}

static void journal_list_free(struct dirent **list, int n)
{
	while (n-- > 0)
		free(list[n]);
	free(list);
}

/* Remove the oldest that are too many. Another process may do so at the same time. */
static void journal_dir_prune(const char *dir)
{
	char path[PATH_MAX];
	struct dirent **list = NULL;
	u64 bytes = 0;
	struct stat st;
	u32 kept = 0;
	int n, i;

	if (journal_dir_path(path, dir, ""))
		return;
	n = scandir(path, &list, journal_is_file, alphasort);
	for (i = n - 1; i >= 0; i--) {
		if (journal_dir_path(path, dir, list[i]->d_name) || stat(path, &st))
			continue;
		bytes += (u64)st.st_size;
		if (++kept > JOURNALS || (kept > 1 && bytes > JOURNALS_BYTES))
			unlink(path);
	}
	journal_list_free(list, n);
}

static int journal_file_write(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), ret = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (len && !ret) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			ret = -errno;
			break;
		}
		text += n;
		len -= (size_t)n;
	}
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

int journal_dir_add(const char *dir, const char *fabric, const char *text, size_t len)
{
	char path[PATH_MAX], temp[PATH_MAX], name[128];
	struct timespec now;
	int ret;

	if (journal_dir_path(path, dir, ""))
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "%0*llx.%s" JOURNAL_SUFFIX, (int)JOURNAL_TIME,
		 (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec,
		 fabric);
	ret = journal_dir_path(path, dir, name);
	snprintf(name, sizeof(name), "new.%d", (int)getpid());
	if (ret || journal_dir_path(temp, dir, name))
		return -ENAMETOOLONG;
	unlink(temp); /* of a dead process that had the same id */
	ret = journal_file_write(temp, text, len);
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret)
		unlink(temp);
	journal_dir_prune(dir);
	return ret;
}

int journal_dir_find(const char *dir, const char *fabric, u32 nth, char path[PATH_MAX], u32 *kept)
{
	struct dirent **list = NULL;
	int n, i, ret = -ENOENT;

	*kept = 0;
	if (journal_dir_path(path, dir, ""))
		return -ENOENT;
	n = scandir(path, &list, journal_is_file, alphasort);
	for (i = n - 1; i >= 0; i--) {
		if (fabric && !journal_is_of(list[i]->d_name, fabric))
			continue;
		if (++*kept == nth)
			ret = journal_dir_path(path, dir, list[i]->d_name);
	}
	journal_list_free(list, n);
	return ret;
}
