/* SPDX-License-Identifier: MIT */
/** DOC: see state_sweep.h. */
#include "fabric/common/state_sweep.h"
#include "fabric/common/tree.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ALIVE_TRIES   400 /* 4 s */
#define ALIVE_WAIT_US 10000

int state_alive_take(const struct fabric_paths *p)
{
	int fd, tries = 0;

	while ((fd = lock_take(p->alive, false)) == -EWOULDBLOCK && tries++ < ALIVE_TRIES)
		usleep(ALIVE_WAIT_US);
	return fd == -EWOULDBLOCK ? -EBUSY : fd;
}

/* Remove a tree, and with it the file whose lock @alive says that its fabric lives. */
static void tree_remove_locked(const char *tree, const char *path, int alive)
{
	if (tree_remove(tree))
		close(alive);
	else
		lock_drop_file(path, alive);
}

void state_files_remove(const struct fabric_paths *p, bool log)
{
	int alive = state_alive_take(p);

	unlink(p->sock);
	tree_remove(p->programs);
	if (log)
		unlink(p->log);
	if (alive >= 0)
		tree_remove_locked(p->sysfs, p->alive, alive);
	else if (alive != -EBUSY)
		tree_remove(p->sysfs);
}

/* Whether @name ends with @suffix, after at least one character. *stem: length of that. */
static bool name_has_suffix(const char *name, const char *suffix, size_t *stem)
{
	size_t n = strlen(name), m = strlen(suffix);

	*stem = n - m;
	return n > m && !strcmp(name + n - m, suffix);
}

/* "<dir>/<the first @stem bytes of name><suffix>". Return: whether that has room. */
static bool file_path(char path[PATH_MAX], const char *dir, const char *name, size_t stem,
		      const char *suffix)
{
	return snprintf(path, PATH_MAX, "%s/%.*s%s", dir, (int)stem, name, suffix) < PATH_MAX;
}

/* The tree of a fabric, unless its process lives. */
static void sweep_tree(const char *dir, const char *name, const char *own)
{
	char alive[PATH_MAX], tree[PATH_MAX];
	size_t stem;
	int lock;

	if (!name_has_suffix(name, STATE_ALIVE, &stem) ||
	    !file_path(alive, dir, name, stem, STATE_ALIVE) ||
	    !file_path(tree, dir, name, stem, STATE_SYSFS) || !strcmp(alive, own))
		return;
	lock = lock_take(alive, false);
	if (lock < 0)
		return;
	tree_remove_locked(tree, alive, lock);
}

/* Whether no process listens at a socket. */
static bool sock_is_dead(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	bool dead = false;
	int sock;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path) >= (int)sizeof(sa.sun_path))
		return false;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return false;
	if (connect(sock, (struct sockaddr *)&sa, sizeof(sa)))
		dead = errno == ECONNREFUSED || errno == ENOENT;
	close(sock);
	return dead;
}

/* A log says what its fabric met before its end. Names of `run --fresh` have no second use. */
static void sweep_log(const char *log, const char *name, size_t stem)
{
	struct stat st;

	if (!stat(log, &st) && (!st.st_size || statedir_base_len(name) < stem))
		unlink(log);
}

/* Lock, socket and log of a fabric, unless it lives, starts or ends. */
static void sweep_files(const char *dir, const char *name, const char *own)
{
	char lock[PATH_MAX], sock[PATH_MAX], log[PATH_MAX], programs[PATH_MAX];
	size_t stem;
	int fd;

	if (!name_has_suffix(name, STATE_LOCK, &stem) ||
	    !file_path(lock, dir, name, stem, STATE_LOCK) ||
	    !file_path(sock, dir, name, stem, STATE_SOCK) ||
	    !file_path(programs, dir, name, stem, STATE_PROGRAMS) ||
	    !file_path(log, dir, name, stem, STATE_LOG) || !strcmp(lock, own))
		return;
	fd = lock_take(lock, false);
	if (fd < 0)
		return;
	if (!sock_is_dead(sock)) {
		close(fd);
		return;
	}
	unlink(sock);
	tree_remove(programs);
	sweep_log(log, name, stem);
	lock_drop_file(lock, fd);
}

static void sweep_dir(const char *dir, const struct fabric_paths *own)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		sweep_tree(dir, e->d_name, own->alive);
		sweep_files(dir, e->d_name, own->lock);
	}
	if (d)
		closedir(d);
}

void state_sweep(const struct fabric_paths *own)
{
	char trees[PATH_MAX];
	char *end;

	snprintf(trees, sizeof(trees), "%s", own->sysfs);
	end = strrchr(trees, '/');
	if (end)
		*end = '\0';
	sweep_dir(own->dir, own);
	if (strcmp(trees, own->dir) != 0)
		sweep_dir(trees, own);
}
