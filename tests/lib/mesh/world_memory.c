/* SPDX-License-Identifier: MIT */
/*
 * The memory of the fabric process in tests, and how it gets its first content back: see
 * world.h.
 *
 * A fuzzer brings the memory back after each input. To throw away the private pages of the mapping
 * costs a page fault and a TLB flush for each page that is written anew: most of the time of an
 * input. An input writes few pages, and mostly the same ones as the input before. Hence:
 *
 * - frozen memory is read-only, and its content is saved in a file;
 * - the first write to a page raises SIGSEGV: the handler lists the page and lets it be written;
 * - world_restore() compares the listed pages with the saved ones, and copies what differs;
 * - a list that is too long ends: all pages are thrown away, and are read-only again.
 *
 * A page that is not in the list is read-only, so none can be missed. The kernel, too, cannot write
 * there: a system call that tries fails with EFAULT.
 */
#include "tests/lib/mesh/world.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096ul
#define REGIONS (4 + 2 * EMU_CLIENTS)
#define WRITTEN 2048u

/** struct region - memory that world_restore() restores. */
struct region {
	u8 *mem;
	const u8 *saved; /* its content, at other addresses */
	size_t len;
};

static struct region region[REGIONS];
static u32 n_regions;

/* Pages that can be written, and what they contain after world_restore(). */
static struct {
	u8 *at;
	const u8 *saved;
} written[WRITTEN];
static u32 n_written;

static struct sigaction next_handler;

void *world_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	WORLD_MUST(p != MAP_FAILED);
	return p;
}

static void region_write(const struct region *r, u8 *at)
{
	if (n_written == WRITTEN) {
		WORLD_MUST(!mprotect(r->mem, r->len, PROT_READ | PROT_WRITE));
		return;
	}
	WORLD_MUST(!mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	written[n_written].at = at;
	written[n_written++].saved = r->saved + (at - r->mem);
}

static void write_faulted(int sig, siginfo_t *info, void *context)
{
	u8 *at = (u8 *)((uintptr_t)info->si_addr & ~(PAGE - 1));
	u32 i;

	(void)context;
	for (i = 0; i < n_regions && info->si_code == SEGV_ACCERR; i++)
		if (at >= region[i].mem && at < region[i].mem + region[i].len)
			return region_write(&region[i], at);
	/* A fault of the code under test: it comes again, to the handler that reports it. */
	sigaction(sig, &next_handler, NULL);
}

static void handler_install(void)
{
	struct sigaction sa = { .sa_sigaction = write_faulted,
				.sa_flags = SA_SIGINFO | SA_ONSTACK };

	WORLD_MUST(!sigaction(SIGSEGV, &sa, &next_handler));
}

void world_freeze(void *mem, size_t size)
{
	size_t n = (size + PAGE - 1) / PAGE, i;
	int fd = memfd_create("world", MFD_CLOEXEC);
	u8 *there = malloc(n);
	void *saved;

	WORLD_MUST(fd >= 0 && there && !ftruncate(fd, (off_t)(n * PAGE)) &&
		   !mincore(mem, n * PAGE, there));
	for (i = 0; i < n; i++)
		if (there[i] & 1)
			WORLD_MUST(pwrite(fd, (u8 *)mem + i * PAGE, PAGE, (off_t)(i * PAGE)) ==
				   (ssize_t)PAGE);
	saved = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	WORLD_MUST(saved != MAP_FAILED);
	WORLD_MUST(mmap(mem, n * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) ==
		   mem);
	close(fd);
	free(there);
	if (!n_regions)
		handler_install();
	WORLD_MUST(n_regions < REGIONS);
	region[n_regions++] = (struct region){ .mem = mem, .saved = saved, .len = n * PAGE };
}

static void region_restore(const struct region *r)
{
	WORLD_MUST(!madvise(r->mem, r->len, MADV_DONTNEED));
	WORLD_MUST(!mprotect(r->mem, r->len, PROT_READ));
}

void world_restore(void)
{
	u32 i;

	if (n_written == WRITTEN) {
		for (i = 0; i < n_regions; i++)
			region_restore(&region[i]);
		n_written = 0;
	}
	for (i = 0; i < n_written; i++)
		if (memcmp(written[i].at, written[i].saved, PAGE) != 0)
			memcpy(written[i].at, written[i].saved, PAGE);
}
