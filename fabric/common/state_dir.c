/* SPDX-License-Identifier: MIT */
/**
 * DOC: the state directory, and the lock under which fabrics start and end. See
 * fabric/proto/state_dir.h.
 */
#include "fabric/proto/state_dir.h"
#include "fabric/common/nodes.h"
#include "fabric/common/opts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SOCK_PATH_SIZE sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* Make a directory if it is missing. Return: NULL, or what is wrong with the existing one. */
static const char *statedir_make_private(const char *path)
{
	struct stat st;

	if ((mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st))
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return "not a directory";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_mode & 077)
		return st.st_mode & 022 ? "other users can write to it: chmod go-w"
					: "not private: its mode should be 0700";
	return NULL;
}

int statedir_open(const char *given, char path[PATH_MAX])
{
	const char *wrong;
	int ret = statedir_find(given, path);

	if (ret)
		return print_error("state directory: %s", strerror(-ret));
	wrong = statedir_make_private(path);
	if (wrong)
		return print_error("directory %s: %s; choose another with --dir", path, wrong);
	return 0;
}

static bool statedir_is_tmpfs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TMPFS_MAGIC;
}

static int statedir_file_path(char out[PATH_MAX], const char *dir, const char *name,
			      const char *suffix)
{
	int n = snprintf(out, PATH_MAX, "%s/%s%s", dir, name, suffix);

	return n < PATH_MAX ? 0 : print_error("path %s/... is too long", dir);
}

/* The tree has some hundred files, which are slow to write on a disk. */
static int statedir_tree_paths(struct fabric_paths *p, const char *name)
{
	char shm[64], unique[128];
	const char *dir = p->dir;

	snprintf(shm, sizeof(shm), "/dev/shm/rdmaemu-%u", (unsigned)geteuid());
	if (!statedir_is_tmpfs(dir) && statedir_is_tmpfs("/dev/shm") &&
	    !statedir_make_private(shm)) {
		if (snprintf(unique, sizeof(unique), "%016llx.%s",
			     (unsigned long long)fnv1a(FNV1A_BASIS, dir, strlen(dir)),
			     name) >= (int)sizeof(unique))
			return print_error("fabric %s: %s", name, strerror(ENAMETOOLONG));
		dir = shm;
		name = unique;
	}
	if (statedir_file_path(p->sysfs, dir, name, STATE_SYSFS))
		return -1;
	return statedir_file_path(p->alive, dir, name, STATE_ALIVE);
}

int statedir_paths(struct fabric_paths *p, const char *dir, const char *name)
{
	const size_t limit = SOCK_PATH_SIZE - 1;

	/* cppcheck-suppress ctuuninitvar ; @p is where the result goes */
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	if (statedir_file_path(p->lock, dir, name, STATE_LOCK) ||
	    statedir_file_path(p->sock, dir, name, STATE_SOCK) ||
	    statedir_file_path(p->programs, dir, name, STATE_PROGRAMS) ||
	    statedir_file_path(p->log, dir, name, STATE_LOG) || statedir_tree_paths(p, name))
		return -1;
	if (strlen(p->sock) > limit)
		return print_error(
			"%s has %zu bytes, a socket's path may have %zu; choose a shorter --dir",
			p->sock, strlen(p->sock), limit);
	return 0;
}

size_t statedir_base_len(const char *name)
{
	const char *fresh = strstr(name, STATEDIR_FRESH);

	return fresh ? (size_t)(fresh - name) : strlen(name);
}

int statedir_node_sysfs(char root[PATH_MAX], const char *fabric, const char *name)
{
	bool host = !name[0] || !strcmp(name, NODE_NAME);
	int n = snprintf(root, PATH_MAX, "%s%s%s", fabric, host ? "" : "/nodes/", host ? "" : name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int statedir_node_sock(char path[PATH_MAX], const char *programs, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s/sock", programs, name[0] ? name : NODE_NAME);

	return n < (int)SOCK_PATH_SIZE ? 0 : -ENAMETOOLONG;
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
		/*
		 * The last holder may have removed the file, and the name may be that of a new one.
		 */
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
