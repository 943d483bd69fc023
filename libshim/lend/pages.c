/* SPDX-License-Identifier: MIT */
/**
 * DOC: the exchange of pages, in both directions, at the same addresses.
 *
 * Nobody else writes to the pages meanwhile: this thread's signals are blocked, the program's other
 * threads are stopped, and no process copies to the pages. To lend, the region's own bytes are not
 * registered yet and no other region lies on them; to give back, lent_hold() keeps the engine of
 * every process from running. It comes first: a stopped thread may not have the engine token.
 *
 * Before they stop, threads may unmap the pages, protect them, or map others in their place. So
 * each step checks again what is mapped.
 *
 * A step is at most 2 MiB, so that no more than that exists twice. The content always exists in the
 * file before the mapping changes, and is left there until the other mapping is complete: whatever
 * fails, the step is mapped as it was, or from the file.
 *
 * Pages that the program has not touched have no content; the file gets none either, nor do private
 * pages for holes of the file.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#include "libshim/interpose/syscall.h"
#include "libshim/lend/threads.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define STEP	   (2u << 20)
#define STEP_PAGES (STEP / LEND_PAGE)
#define NOT_LENT   UINT64_MAX

/**
 * struct step - pages that go back at once: [addr, addr + len), which lie at @off in the file.
 * @data_to: the file is known to have data from @off to here
 * @noreserve, @advice: how the private mapping is made: struct lent_range
 */
struct step {
	u64 addr;
	u64 len;
	u64 off;
	u64 data_to;
	int prot;
	int advice;
	bool noreserve;
};

/* /proc/self/pagemap, proc(5) */
#define PAGEMAP_PRESENT BIT64(63)
#define PAGEMAP_SWAPPED BIT64(62)

static u64 pagemap[STEP_PAGES];

static int pages_map(u64 addr, u64 len, int prot, int flags, int fd, u64 off)
{
	long at =
		syscall(SYS_mmap, addr, len, (long)prot, (long)(flags | MAP_FIXED), (long)fd, off);

	return at == (long)addr ? 0 : -errno;
}

static int memory_file_write(u64 addr, u64 len, u64 off)
{
	ssize_t n;

	for (; len; addr += (u64)n, off += (u64)n, len -= (u64)n) {
		n = sys_pwrite(lent_file.fd, (void *)(uintptr_t)addr, len, (off_t)off);
		if (n <= 0)
			return n ? (int)n : -EIO;
	}
	return 0;
}

static int memory_file_read(u64 addr, u64 len, u64 off)
{
	ssize_t n;

	for (; len; addr += (u64)n, off += (u64)n, len -= (u64)n) {
		n = sys_pread(lent_file.fd, (void *)(uintptr_t)addr, len, (off_t)off);
		if (n <= 0)
			return n ? (int)n : -EIO;
	}
	return 0;
}

/* Write the touched pages of a step to the file. */
static int step_save(int pagemap_fd, u64 addr, u64 len, u64 off)
{
	u32 n = (u32)(len / LEND_PAGE), i, first;
	ssize_t size = (ssize_t)(n * sizeof(*pagemap));
	int ret = 0;

	if (sys_pread(pagemap_fd, pagemap, (size_t)size,
		      (off_t)(addr / LEND_PAGE * sizeof(*pagemap))) != size)
		return -EIO;
	for (i = 0; i < n && !ret; i++) {
		first = i;
		while (i < n && pagemap[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))
			i++;
		if (i > first)
			ret = memory_file_write(addr + (u64)first * LEND_PAGE,
						(u64)(i - first) * LEND_PAGE,
						off + (u64)first * LEND_PAGE);
	}
	return ret;
}

static int mapping_prot(const struct mapping *v)
{
	return (v->read ? PROT_READ : 0) | (v->write ? PROT_WRITE : 0) | (v->exec ? PROT_EXEC : 0);
}

/*
 * Whether [addr, addr + len) is mapped as it was when the caller read the mappings: private and
 * anonymous (@off: NOT_LENT), or from that place in the file.
 */
static bool pages_are_mapped(u64 addr, u64 len, int prot, u64 off)
{
	u64 end = addr + len, at = addr;
	struct mapping v;
	struct maps m;

	if (maps_open(&m, false))
		return false;
	while (at < end && maps_next(&m, &v)) {
		if (v.to <= at)
			continue;
		if (v.from > at || mapping_prot(&v) != prot)
			break;
		if (off == NOT_LENT
			    ? v.shared || v.inode
			    : !lent_range_maps(&v) || v.offset + (at - v.from) != off + (at - addr))
			break;
		at = v.to;
	}
	maps_close(&m);
	return at >= end;
}

/* The same for a step: only other threads can have changed it. */
static bool step_is_mapped(u64 addr, u64 len, int prot, u64 off)
{
	return !lend_has_stopped() || pages_are_mapped(addr, len, prot, off);
}

/*
 * Map a step's place in the file, which has its content. Return: 0, or -errno: the step is mapped
 * as it was, from @before. mmap(2) may have unmapped it before it failed: then the program's data
 * is out of its reach.
 */
static int step_map_file(u64 addr, u64 len, int prot, u64 off, u64 before)
{
	static const char text[] = "rdmaemu: cannot map lent memory: out of memory\n";
	int ret = pages_map(addr, len, prot, MAP_SHARED, lent_file.fd, off);

	if (!ret || pages_are_mapped(addr, len, prot, before))
		return ret;
	sys_write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}

/*
 * libc's realloc() calls mremap(2) inside libc, where nobody gives back what is lent. A mapping of
 * the file would grow over the places of other ranges. mremap(2) refuses addresses of two mappings,
 * so a range's first page, whose advice means nothing for a memory file, is one of its own.
 */
static void pages_split(u64 addr, u64 len)
{
	if (len > LEND_PAGE)
		(void)sys_madvise((void *)(uintptr_t)addr, LEND_PAGE, MADV_RANDOM);
}

/* @first: of its range. Return: 0 or -errno: the step is as it was. */
static int step_lend(int pagemap_fd, u64 addr, u64 len, int prot, u64 off, bool first)
{
	int ret = lend_stop(!lend_is_asked());

	if (ret)
		return ret;
	if (lend_stopped_need(addr, addr + len))
		ret = -EINVAL;
	else if (!step_is_mapped(addr, len, prot, NOT_LENT))
		ret = -EAGAIN;
	else
		ret = step_save(pagemap_fd, addr, len, off);
	if (!ret)
		ret = step_map_file(addr, len, prot, off, NOT_LENT);
	if (!ret && first)
		pages_split(addr, len);
	lend_resume();
	return ret;
}

int lent_pages_lend(const struct lent_range *r, int prot, u64 *done)
{
	int fd = (int)SYS_RET(
		syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
	int ret = fd < 0 ? fd : 0;
	u64 len;

	for (*done = 0; *done < r->len && !ret; *done += ret ? 0 : len) {
		if (*done && !lent_cost_may_go_on()) {
			ret = -EDQUOT;
			break;
		}
		len = min_u64(r->len - *done, STEP);
		ret = step_lend(fd, r->addr + *done, len, prot, r->off + *done, !*done);
	}
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

/* Set @at to the next data (SEEK_DATA; -ENXIO: there is none) or hole. Return: 0 or -errno. */
static int memory_file_seek(u64 *at, int whence)
{
	off_t found = (off_t)SYS_RET(syscall(SYS_lseek, lent_file.fd, *at, whence));

	if (found < 0)
		return (int)found;
	*at = (u64)found;
	return 0;
}

/*
 * Fill private pages from the file, where it has data. To find the end of the data the kernel looks
 * at each page up to there, which may be many steps away: the next ones go on from what this one
 * has found. Data of mapped memory does not become a hole.
 */
static int step_load(struct step *s)
{
	u64 end = s->off + s->len, from = s->off, to, addr;
	int ret = 0;

	for (; from < end && !ret; from = to) {
		if (from >= s->data_to) {
			ret = memory_file_seek(&from, SEEK_DATA);
			if (ret == -ENXIO || from >= end)
				return 0;
			s->data_to = from;
			ret = ret ? ret : memory_file_seek(&s->data_to, SEEK_HOLE);
			if (ret)
				return ret;
		}
		to = min_u64(s->data_to, end);
		addr = s->addr + (from - s->off);
		/* Cheaper than a fault for each page. Older kernels than Linux 5.14 refuse it. */
		(void)sys_madvise((void *)(uintptr_t)addr, to - from, MADV_POPULATE_WRITE);
		ret = memory_file_read(addr, to - from, from);
	}
	return ret;
}

static bool is_zero(const u8 *page)
{
	return !page[0] && !memcmp(page, page + 1, LEND_PAGE - 1);
}

/* Map private pages in place of a step. Return: 0 or -errno. */
static int step_map_private(const struct step *s)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (s->noreserve ? MAP_NORESERVE : 0);
	int ret = pages_map(s->addr, s->len, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (!ret && s->advice)
		(void)sys_madvise((void *)(uintptr_t)s->addr, s->len, s->advice);
	return ret;
}

/* step_exchange() where the program has closed the file's descriptor: by a copy of the step. */
static int step_return_copy(const struct step *s)
{
	u8 *to = (u8 *)(uintptr_t)s->addr, *copy;
	long at = syscall(SYS_mmap, NULL, s->len, (long)(PROT_READ | PROT_WRITE),
			  (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
	u64 i;
	int ret;

	if (at == -1)
		return -errno;
	copy = (u8 *)at;
	ret = s->prot & PROT_READ ? 0
				  : (int)SYS_RET(syscall(SYS_mprotect, s->addr, s->len, PROT_READ));
	if (!ret)
		memcpy(copy, to, s->len);
	if (!ret)
		ret = step_map_private(s);
	for (i = 0; i < s->len && !ret; i += LEND_PAGE)
		if (!is_zero(copy + i))
			memcpy(to + i, copy + i, LEND_PAGE);
	if (s->prot != (PROT_READ | PROT_WRITE))
		(void)syscall(SYS_mprotect, s->addr, s->len, (long)s->prot);
	syscall(SYS_munmap, copy, s->len);
	return ret;
}

/* Exchange a step that is mapped from the file for private pages. Other threads are stopped. */
static int step_exchange(struct step *s)
{
	int ret;

	if (!lent_file_is_open())
		return step_return_copy(s);
	ret = step_map_private(s);
	if (!ret)
		ret = step_load(s);
	if (!ret && s->prot != (PROT_READ | PROT_WRITE))
		ret = (int)SYS_RET(syscall(SYS_mprotect, s->addr, s->len, (long)s->prot));
	if (ret)
		(void)step_map_file(s->addr, s->len, s->prot, s->off, s->off);
	return ret;
}

static int step_return(struct step *s)
{
	int ret = lent_hold();

	if (ret)
		return ret;
	ret = lend_stop(false);
	if (!ret) {
		ret = step_is_mapped(s->addr, s->len, s->prot, s->off) ? step_exchange(s) : -EAGAIN;
		lend_resume();
	}
	lent_release();
	return ret;
}

static int mapping_return(const struct lent_range *r, const struct mapping *v)
{
	struct step s = { .addr = v->from > r->addr ? v->from : r->addr,
			  .prot = mapping_prot(v),
			  .advice = r->advice,
			  .noreserve = r->noreserve };
	u64 end = min_u64(v->to, r->addr + r->len);
	int ret = 0;

	/* The program may have moved another part of the file here. */
	if (s.addr >= end || v->offset + (s.addr - v->from) != r->off + (s.addr - r->addr))
		return 0;
	for (; s.addr < end && !ret; s.addr += s.len) {
		s.len = min_u64(end - s.addr, STEP);
		s.off = r->off + (s.addr - r->addr);
		ret = step_return(&s);
	}
	return ret;
}

/* Whether two mappings of the file are to be exchanged as one. */
static bool is_continued(const struct mapping *v, const struct mapping *next)
{
	return v->to == next->from && v->offset + (v->to - v->from) == next->offset &&
	       mapping_prot(v) == mapping_prot(next);
}

int lent_pages_return(const struct lent_range *r)
{
	struct mapping v, run = { 0 };
	struct maps m;
	int ret = maps_open(&m, false);

	if (ret)
		return ret;
	/* Exchanges change lines that were read already, not those that follow. */
	while (!ret && maps_next(&m, &v) && v.from < r->addr + r->len) {
		if (v.to <= r->addr || !lent_range_maps(&v))
			continue;
		if (is_continued(&run, &v)) {
			run.to = v.to;
			continue;
		}
		ret = mapping_return(r, &run);
		run = v;
	}
	maps_close(&m);
	return ret ? ret : mapping_return(r, &run);
}

/* @v: a mapping of the file */
static int mapping_discard(const struct lent_range *r, const struct mapping *v, u64 from, u64 to)
{
	struct step s = { .addr = v->from > r->addr ? v->from : r->addr,
			  .prot = mapping_prot(v),
			  .advice = r->advice,
			  .noreserve = r->noreserve };
	u64 end = min_u64(min_u64(v->to, r->addr + r->len), to);
	int ret;

	s.addr = s.addr > from ? s.addr : from;
	if (s.addr >= end || v->offset + (s.addr - v->from) != r->off + (s.addr - r->addr))
		return 0;
	s.len = end - s.addr;
	ret = step_map_private(&s);
	if (!ret && s.prot != (PROT_READ | PROT_WRITE))
		ret = (int)SYS_RET(syscall(SYS_mprotect, s.addr, s.len, (long)s.prot));
	return ret;
}

int lent_pages_discard(const struct lent_range *r, u64 from, u64 to)
{
	struct mapping v;
	struct maps m;
	int ret = maps_open(&m, false);

	if (ret)
		return ret;
	while (!ret && maps_next(&m, &v) && v.from < to)
		if (lent_range_maps(&v))
			ret = mapping_discard(r, &v, from, ALIGN_UP(to, LEND_PAGE));
	maps_close(&m);
	return ret;
}
