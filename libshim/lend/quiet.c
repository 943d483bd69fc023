/* SPDX-License-Identifier: MIT */
/**
 * DOC: whether anything but the calling thread may write to the program's memory.
 *
 * Threads: the kernel counts them as links of /proc/self/task. The shim's own thread, the watcher,
 * takes the lock before it writes to memory that may be lent: to registered memory as the memory
 * helper (libshim/client/helper.c), and to other memory after lend_own_threads(). Before that it
 * runs the engine, when the fabric process has ended, with the token.
 *
 * The kernel: io_uring and AIO write when an operation completes, which may be at any time; so do
 * devices whose drivers have pinned pages. Such a process has a descriptor, or a mapping, that
 * shows it.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#include "libshim/interpose/syscall.h"

#include <fcntl.h>
#include <stdio.h>

#define TASK_LINKS 2u /* of a process without threads */

static int own_threads;

void lend_own_threads(int n)
{
	sigset_t before;

	lend_lock(&before);
	own_threads = n > 0 ? own_threads + n : 0;
	lend_unlock(&before);
}

bool lend_is_alone(void)
{
	struct stat st;

	return !sys_stat("/proc/self/task", &st) &&
	       st.st_nlink <= TASK_LINKS + 1 + (u32)own_threads;
}

/* Devices that write to memory only in read(2) and ioctl(2) of the calling thread. */
static bool is_plain_device(const char *path)
{
	static const char *const plain[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					     "/dev/tty",    "/dev/pts/",    "/dev/ptmx",
					     "/dev/shm/",   "/dev/urandom", "/dev/random",
					     "/dev/console" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(plain); i++)
		if (!strncmp(path, plain[i], strlen(plain[i])))
			return true;
	return false;
}

/* Whether nothing writes to memory through descriptor @name of /proc/self/fd at any time. */
static bool is_quiet_fd(const char *name)
{
	static const char uring[] = "anon_inode:[io_uring]", dev[] = "/dev/";
	char path[32], to[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%.16s", name);
	n = SYS_RET(syscall(SYS_readlinkat, AT_FDCWD, path, to, sizeof(to) - 1));
	if (n < 0)
		return true; /* the directory's own descriptor, or . and .. */
	to[n] = '\0';
	if (!strcmp(to, uring))
		return false;
	return strncmp(to, dev, sizeof(dev) - 1) != 0 || is_plain_device(to);
}

static bool has_quiet_fds(void)
{
	char buf[2048] __attribute__((aligned(8)));
	int fd = (int)SYS_RET(
		syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	bool quiet = fd >= 0;
	const struct dirent_raw *d;
	ssize_t n = 0, at;

	while (quiet && (n = SYS_RET(syscall(SYS_getdents64, fd, buf, sizeof(buf)))) > 0) {
		for (at = 0; at < n && quiet; at += d->len) {
			d = (const struct dirent_raw *)(const void *)(buf + at);
			quiet = is_quiet_fd(d->name);
		}
	}
	if (fd >= 0)
		sys_close(fd);
	return quiet && !n;
}

/* The ring of io_setup(2) is a mapping of a file "/[aio]". */
static bool has_aio_ring(void)
{
	bool found = false;
	struct mapping v;
	struct maps m;

	if (maps_open(&m, false))
		return true;
	while (!found && maps_next(&m, &v))
		found = !strncmp(v.name, "/[aio]", 6);
	maps_close(&m);
	return found;
}

bool lend_is_quiet(void)
{
	return has_quiet_fds() && !has_aio_ring();
}
