/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail, linked into a copy of `rdmaemu` (build/tests/rdmaemu_malloc), whose fabric
 * process is that copy, too: it drops what is preloaded. MALLOC_FAIL=N:FILE in the environment lets
 * the N-th allocation fail that the fabric processes make, and FILE holds the number of allocations
 * so far. Without it nothing fails.
 *
 * malloc(3) and its family of the C library and of all libraries come here. Only the fabric process
 * counts: the command has no work that has begun when it runs out of memory.
 */
#include "fabric/common/daemon_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static unsigned long *made; /* in FILE; NULL: nothing fails */
static unsigned long fail_at;

/* Whether this is a fabric process, by its first argument. */
static bool is_fabric(void)
{
	char line[64 + sizeof(DAEMON_VERB)] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(DAEMON_VERB) + 62);

	if (fd >= 0)
		close(fd);
	return n > 0 && !strcmp(line + strnlen(line, sizeof(line) - 1) + 1, DAEMON_VERB);
}

__attribute__((constructor)) static void malloc_fail_start(void)
{
	const char *how = getenv("MALLOC_FAIL"), *path = how ? strchr(how, ':') : NULL;
	void *map;
	int fd;

	if (!path || !is_fabric())
		return;
	fd = open(path + 1, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		_exit(99);
	fail_at = strtoul(how, NULL, 10);
	made = map;
}

static bool fails(void)
{
	if (!made || __atomic_add_fetch(made, 1, __ATOMIC_RELAXED) != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

/* The libraries find these. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = fails() ? NULL : __libc_memalign(align, size);
	return *p ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __libc_memalign(align, size);
}

#pragma GCC visibility pop
