/* SPDX-License-Identifier: MIT */
/**
 * DOC: the effects of pinning at registration: the memory must exist.
 *
 * MADV_POPULATE_* (Linux 5.14) checks that and faults the pages in, at a GiB or two per second. A
 * large region would stall its program, so only what could fail at a later access is faulted in:
 *
 *	anonymous memory, and shared memory without a file system (memfd, MAP_SHARED|MAP_ANONYMOUS,
 *	SysV): nothing but the last page of what a file may be too short for. The kernel makes each
 *	page at its first access, also at that of another process.
 *	other files (a file may end early, its file system be full) and huge pages (their pool may
 *	be empty): all of it.
 *
 * /proc/self/maps shows which it is, and whether the range is mapped with the necessary rights.
 */
#include "libshim/interpose/syscall.h"
#include "libshim/verbs/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE	     4096u
#define POPULATE_MAX (64u << 20) /* bytes of a region that are all faulted in: some 30 ms */

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

/** struct mapping - a line of the file: "start-end rwxp offset major:minor inode path". */
struct mapping {
	u64 from;
	u64 to;
	u64 inode; /* 0: anonymous */
	dev_t dev;
	bool read;
	bool write;
};

static bool maps_next(struct maps *m, struct mapping *v)
{
	u64 offset, major, minor;
	int c;

	if (maps_hex(m, &v->from) != '-' || maps_hex(m, &v->to) != ' ')
		return false;
	v->read = maps_char(m) == 'r';
	v->write = maps_char(m) == 'w';
	maps_char(m);
	maps_char(m);
	maps_char(m);
	if (maps_hex(m, &offset) != ' ' || maps_hex(m, &major) != ':' || maps_hex(m, &minor) != ' ')
		return false;
	v->dev = makedev((u32)major, (u32)minor);
	/* Decimal, but only 0 is told from the others. */
	c = maps_hex(m, &v->inode);
	while (c >= 0 && c != '\n')
		c = maps_char(m);
	return true;
}

/* The kernel's own file system of shared memory, which has no limit of size. */
static dev_t shared_memory_dev(void)
{
	static u64 known; /* any thread finds the same */
	struct stat st;
	int fd;

	if (load_relaxed(&known))
		return load_relaxed(&known);
	fd = (int)syscall(SYS_memfd_create, "rdmaemu-device", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!sys_fstat(fd, &st))
		store_relaxed(&known, st.st_dev);
	syscall(SYS_close, fd);
	return load_relaxed(&known);
}

static int pages_populate(u64 from, u64 to, bool write)
{
	int ret;

	do {
		ret = madvise((void *)(uintptr_t)from, to - from,
			      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	return ret ? -errno : 0;
}

/* Fault in what may fail of [from, to) of @v. -EINVAL: an old kernel, or a special mapping. */
static int mapping_populate(const struct mapping *v, u64 from, u64 to, bool write)
{
	int ret;

	if (!v->inode)
		return 0;
	if (v->dev == shared_memory_dev())
		from = to - PAGE;
	ret = pages_populate(from, to, write);
	return ret == -EINVAL ? 0 : ret;
}

/*
 * Check that [addr, end) is mapped with the necessary rights, line by line: they are sorted by
 * address. @fault_in: fault in what may fail.
 */
static int maps_cover(struct maps *m, u64 addr, u64 end, bool write, bool fault_in)
{
	struct mapping v;
	u64 to;

	while (addr < end) {
		if (!maps_next(m, &v))
			return -EFAULT;
		if (v.to <= addr)
			continue;
		if (v.from > addr || !v.read || (write && !v.write))
			return -EFAULT;
		to = min_u64(v.to, end);
		if (fault_in && mapping_populate(&v, addr, to, write))
			return -EFAULT;
		addr = to;
	}
	return 0;
}

/* Return: as maps_cover(), or -ENOENT: there is no such file. */
static int maps_check(u64 addr, u64 end, bool write, bool fault_in)
{
	struct maps m = { .pos = 0 };
	int ret;

	m.fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (m.fd < 0)
		return -ENOENT;
	ret = maps_cover(&m, addr, end, write, fault_in);
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
	ret = pages_populate(start, end, write);
	/* Unknown to this kernel, insufficient rights, or a special mapping. */
	if (ret == -EINVAL) {
		ret = maps_check(start, end, write, false);
		return ret == -ENOENT ? 0 : ret; /* unknown: later accesses will show it */
	}
	/* ENOMEM: a hole in the range. Lack of memory would end the process instead. */
	return ret ? -EFAULT : 0;
}

int shim_mem_pin(const void *addr, size_t len, bool write)
{
	int ret = -ENOENT;

	if (addr && len > POPULATE_MAX)
		ret = maps_check((uintptr_t)addr / PAGE * PAGE,
				 ALIGN_UP((uintptr_t)addr + len, PAGE), write, true);
	return ret == -ENOENT ? shim_mem_prefault(addr, len, write) : ret;
}
