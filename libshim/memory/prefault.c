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
#include "libshim/interpose/maps.h"
#include "libshim/interpose/syscall.h"
#include "libshim/memory/pages.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096u

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
	struct maps m;
	int ret;

	if (maps_open(&m, false))
		return -ENOENT;
	ret = maps_cover(&m, addr, end, write, fault_in);
	maps_close(&m);
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

	if (addr && len > SHIM_POPULATE_MAX)
		ret = maps_check((uintptr_t)addr / PAGE * PAGE,
				 ALIGN_UP((uintptr_t)addr + len, PAGE), write, true);
	return ret == -ENOENT ? shim_mem_prefault(addr, len, write) : ret;
}
