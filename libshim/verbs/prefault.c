/* SPDX-License-Identifier: MIT */
/**
 * DOC: the effects of pinning at registration: the memory must exist, and is faulted in.
 *
 * MADV_POPULATE_* (Linux 5.14) does both at once. On older kernels, /proc/self/maps shows whether
 * the range is mapped with the necessary rights, and pages are faulted in when they are used.
 */
#include "libshim/verbs/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096u

/** struct maps - a reader of /proc/self/maps, without stdio: the program may wrap that. */
struct maps {
	int fd;
	u32 pos;
	u32 len;
	char buf[4096];
};

static int maps_char(struct maps *m)
{
	ssize_t n;

	if (m->pos == m->len) {
		n = syscall(SYS_read, m->fd, m->buf, sizeof(m->buf));
		if (n <= 0)
			return -1;
		m->pos = 0;
		m->len = (u32)n;
	}
	return m->buf[m->pos++];
}

/* Read a hexadecimal number and the character after it. Return: that character or -1. */
static int maps_hex(struct maps *m, u64 *value)
{
	int c;

	*value = 0;
	while ((c = maps_char(m)) >= 0) {
		if (c >= '0' && c <= '9')
			*value = *value * 16 + (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value * 16 + (u64)(c - 'a' + 10);
		else
			break;
	}
	return c;
}

/* Lines are "start-end rwxp ...", sorted by address. */
static int maps_cover(struct maps *m, u64 addr, u64 end, bool write)
{
	u64 from, to;
	int c, r, w;

	while (addr < end) {
		if (maps_hex(m, &from) != '-' || maps_hex(m, &to) != ' ')
			return -EFAULT;
		r = maps_char(m);
		w = maps_char(m);
		do {
			c = maps_char(m);
		} while (c >= 0 && c != '\n');
		if (to <= addr)
			continue;
		if (from > addr || r != 'r' || (write && w != 'w'))
			return -EFAULT;
		addr = to;
	}
	return 0;
}

static int maps_check(u64 addr, u64 end, bool write)
{
	struct maps m = { .pos = 0 };
	int ret;

	m.fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd < 0)
		return 0; /* unknown: later accesses will show it */
	ret = maps_cover(&m, addr, end, write);
	syscall(SYS_close, m.fd);
	return ret;
}

int shim_mem_prefault(const void *addr, size_t len, bool write)
{
	u64 start = (uintptr_t)addr / PAGE * PAGE;
	u64 end = ALIGN_UP((uintptr_t)addr + len, PAGE);
	int ret;

	if (!addr || end <= start)
		return -EFAULT;
	do {
		ret = madvise((void *)(uintptr_t)start, end - start,
			      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	if (!ret)
		return 0;
	/* EINVAL: unknown to this kernel, insufficient rights, or a special mapping. */
	if (errno == EINVAL)
		return maps_check(start, end, write);
	/* ENOMEM: a hole in the range. Lack of memory would end the process instead. */
	return -EFAULT;
}
