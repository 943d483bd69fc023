/* SPDX-License-Identifier: MIT */
/*
 * Memory of a test that gets its first content back: see frozen.h.
 *
 * A fuzzer brings the memory back after each input. To throw away the private pages of the mapping
 * costs a page fault and a TLB flush for each page that is written anew: most of the time of an
 * input. An input writes few pages, and mostly the same ones as the input before. Hence:
 *
 * - frozen memory is read-only, and its content is saved in a file;
 * - the first write to a page raises SIGSEGV: the handler lists the page and lets it be written;
 * - frozen_restore() compares the listed pages with the saved ones, and copies what differs;
 * - a page that nothing was written to for a while is read-only again, and leaves the list;
 * - a list that is too long ends: all pages are thrown away, and are read-only again.
 *
 * A page that is not in the list is read-only, so none can be missed. The kernel, too, cannot write
 * there: a system call that tries fails with EFAULT.
 */
#include "tests/lib/c/frozen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096ul
#define REGIONS 64
#define WRITTEN 2048u
#define KEPT	200u /* restorations after which an unwritten page leaves the list */
#define STRIDE	8u /* words that are compared at a time */

#define FROZEN_MUST(cond)                                                                          \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/** struct region - memory that frozen_restore() restores. */
struct region {
	u8 *mem;
	const u8 *saved; /* its content, at other addresses */
	size_t len;
};

static struct region region[REGIONS];
static u32 n_regions;

/* Pages that can be written, and what they contain after frozen_restore(). */
static struct {
	u8 *at;
	const u8 *saved;
	u32 idle; /* restorations since it was written */
} written[WRITTEN];
static u32 n_written;

static struct sigaction next_handler;

void *frozen_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	FROZEN_MUST(p != MAP_FAILED);
	return p;
}

static void region_write(const struct region *r, u8 *at)
{
	if (n_written == WRITTEN) {
		FROZEN_MUST(!mprotect(r->mem, r->len, PROT_READ | PROT_WRITE));
		return;
	}
	FROZEN_MUST(!mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	written[n_written].at = at;
	written[n_written].idle = 0;
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

	FROZEN_MUST(!sigaction(SIGSEGV, &sa, &next_handler));
}

void frozen_add(void *mem, size_t size)
{
	size_t n = (size + PAGE - 1) / PAGE, i;
	int fd = memfd_create("frozen", MFD_CLOEXEC);
	u8 *there = malloc(n);
	void *saved;

	FROZEN_MUST(fd >= 0 && there && !ftruncate(fd, (off_t)(n * PAGE)) &&
		    !mincore(mem, n * PAGE, there));
	for (i = 0; i < n; i++)
		if (there[i] & 1)
			FROZEN_MUST(pwrite(fd, (u8 *)mem + i * PAGE, PAGE, (off_t)(i * PAGE)) ==
				    (ssize_t)PAGE);
	saved = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	FROZEN_MUST(saved != MAP_FAILED);
	FROZEN_MUST(mmap(mem, n * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd,
			 0) == mem);
	close(fd);
	free(there);
	if (!n_regions)
		handler_install();
	FROZEN_MUST(n_regions < REGIONS);
	region[n_regions++] = (struct region){ .mem = mem, .saved = saved, .len = n * PAGE };
}

static void region_restore(const struct region *r)
{
	FROZEN_MUST(!madvise(r->mem, r->len, MADV_DONTNEED));
	FROZEN_MUST(!mprotect(r->mem, r->len, PROT_READ));
}

/*
 * Return: whether the page had to be changed. A sanitizer's memcmp() and memcpy() would refuse
 * pages that are poisoned in part.
 */
__attribute__((no_sanitize("address"))) static bool page_restore(u8 *at, const u8 *saved)
{
	u64 *to = (u64 *)(void *)at, differs;
	const u64 *from = (const u64 *)(const void *)saved;
	bool changed = false;
	u32 i, k;

	for (i = 0; i < PAGE / sizeof(*to); i += STRIDE) {
		for (k = 0, differs = 0; k < STRIDE; k++)
			differs |= to[i + k] ^ from[i + k];
		if (!differs)
			continue;
		changed = true;
		for (k = 0; k < STRIDE; k++)
			to[i + k] = from[i + k];
	}
	return changed;
}

void frozen_restore(void)
{
	u32 i;

	if (n_written == WRITTEN) {
		for (i = 0; i < n_regions; i++)
			region_restore(&region[i]);
		n_written = 0;
	}
	for (i = n_written; i-- > 0;) {
		if (page_restore(written[i].at, written[i].saved)) {
			written[i].idle = 0;
		} else if (++written[i].idle == KEPT) {
			FROZEN_MUST(!mprotect(written[i].at, PAGE, PROT_READ));
			written[i] = written[--n_written];
		}
	}
}
