/* SPDX-License-Identifier: MIT */
/*
 * Memory that is registered no more stays lent for a while, and the program cannot tell.
 *	app_mr_lent_cache local|remote [lent|kept]: whether registered memory is expected to be lent
 */
#include "tests/lib/c/vb_lent.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define PAGES	16u
#define SIZE	(PAGES * PAGE)
#define MIB	(1u << 20)
#define CHUNK	(4u * MIB) /* malloc() maps it */
#define IDLE_NS (5 * 1000000000ull)
#define LIMIT_S 120

static struct vb_side *a, *b;
static struct vb_pair p;
static bool expect_lent;

static bool has_lent(const void *at, size_t len, size_t want)
{
	return vb_lent_bytes(at, len) == (expect_lent ? want : 0);
}

static struct ibv_mr *region_new(void *at, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, at, len, ALL);

	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	return mr;
}

/* Memory with content that was registered. */
static uint8_t *idle_pages(size_t len, uint64_t content)
{
	uint8_t *at = vb_pages(len, PROT_READ | PROT_WRITE);

	fill(at, len, content);
	ibv_dereg_mr(region_new(at, len));
	return at;
}

/* Whether it can be registered, and the peer reaches it. */
static bool is_reached(uint8_t *at, size_t len)
{
	struct ibv_mr *mr = region_new(at, len);
	bool good = vb_peer_reaches(b, mr->rkey, at + len / 2);

	return !ibv_dereg_mr(mr) && good;
}

static void test_again(void)
{
	uint8_t *at = idle_pages(SIZE, 1);
	struct ibv_mr *mr, *part;

	ok(has_lent(at, SIZE, SIZE) && filled(at, SIZE, 1),
	   "deregistered memory stays lent, with its content");
	mr = region_new(at + 100, SIZE - 200);
	part = region_new(at + 2 * PAGE, PAGE);
	ok(vb_peer_reaches(b, mr->rkey, at + SIZE / 2) &&
		   vb_peer_reaches(b, part->rkey, at + 2 * PAGE),
	   "registered again, whole and in part, it is reached");
	ok(!ibv_dereg_mr(mr) && vb_peer_reaches(b, part->rkey, at + 2 * PAGE) &&
		   !ibv_dereg_mr(part) && is_reached(at, SIZE),
	   "and so on");
	munmap(at, SIZE);
}

/* System calls that nobody sees, as libc's own. */
static void test_unmapped(void)
{
	uint8_t *at = idle_pages(SIZE, 2);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	syscall(SYS_munmap, at, SIZE);
	if ((uint8_t *)syscall(SYS_mmap, at, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != at)
		die("mmap: %s", strerror(errno));
	ok(is_reached(at, SIZE), "other memory that is mapped there is reached");
	syscall(SYS_mmap, at + PAGE, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	fill(at + PAGE, PAGE, 3);
	ok(is_reached(at, 4 * PAGE) && filled(at + PAGE, PAGE, 3), "also in a part of it");
	syscall(SYS_munmap, at, SIZE);
}

/* The sanitizer keeps what was freed for a while, and its mlock() does nothing. */
#ifdef __SANITIZE_ADDRESS__
#define UNDER_ASAN true
#else
#define UNDER_ASAN false
#endif

static uint8_t *chunk_grow(uint8_t *at, size_t len)
{
	uint8_t *grown = realloc(at, len);

	if (!grown)
		die("realloc");
	return grown;
}

/* Each chunk is a mapping that free() unmaps and malloc() may map at the same place. */
static void test_malloc(void)
{
	bool good = true;
	int same = 0;
	uint8_t *last = NULL, *at;

	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (unsigned int i = 0; i < 50 && good; i++) {
		at = malloc(CHUNK);
		same += at == last;
		fill(at, CHUNK, i);
		good = is_reached(at, CHUNK) && is_reached(at, CHUNK - i * PAGE);
		if (i % 4 == 3)
			at = chunk_grow(at, 2 * CHUNK);
		memset(at, (int)i, CHUNK);
		good = good && at[CHUNK - 1] == i;
		last = at;
		free(at);
	}
	ok(good && (same || UNDER_ASAN),
	   "malloc, register, deregister, realloc, free: %d times at the same place", same);
}

/* The heap gives back its free pages, and calloc() relies on what it knows of them. */
static void test_calloc(void)
{
	static const uint8_t zeros[SIZE];
	bool good = true;

	for (unsigned int i = 1; i < 100 && good; i++) {
		uint8_t *at = malloc(SIZE), *more = malloc(i * 500);

		memset(at, 0xff, SIZE);
		ibv_dereg_mr(region_new(at, SIZE));
		free(at);
		if (i % 3 == 0)
			malloc_trim(0);
		at = calloc(1, SIZE);
		good = !memcmp(at, zeros, SIZE);
		memset(at, 0xff, SIZE);
		good = good && is_reached(at, SIZE);
		free(at);
		free(more);
		if (i % 2)
			malloc_trim(0);
	}
	ok(good, "calloc() returns zeros");
}

static bool has_flag(const void *at, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	bool here = false, found = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= (unsigned long)at && (unsigned long)at < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, flag) != NULL;
	}
	if (f)
		fclose(f);
	return found;
}

static void test_mlock(void)
{
	uint8_t *at = idle_pages(SIZE, 6);

	if (UNDER_ASAN) {
		note("mlock(): not the kernel's");
	} else {
		ok(!mlock(at, PAGE) && has_flag(at, " lo") && filled(at, SIZE, 6) &&
			   vb_is_private(at, SIZE),
		   "mlock()");
		ok(is_reached(at, SIZE) && has_flag(at, " lo"), "locked memory stays locked");
	}
	munmap(at, SIZE);
}

/* Calls that have another effect on a mapping of a file. */
static void test_calls(void)
{
	static const uint8_t zeros[SIZE];
	uint8_t *at = idle_pages(SIZE, 4), *to;

	ok(!madvise(at, SIZE, MADV_DONTNEED) && !memcmp(at, zeros, SIZE), "MADV_DONTNEED");
	fill(at, SIZE, 5);
	ok(is_reached(at, SIZE), "and it is reached");
	fill(at, SIZE, 5);
	to = mremap(at, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	ok(to != MAP_FAILED && filled(to, SIZE, 5) && vb_is_private(to, 2 * SIZE) &&
		   !memcmp(to + SIZE, zeros, SIZE),
	   "mremap()");
	munmap(to, 2 * SIZE);
	test_mlock();
	at = idle_pages(SIZE, 7);
	ok(!pkey_mprotect(at, SIZE, PROT_READ, -1) && vb_is_private(at, SIZE), "pkey_mprotect()");
	pkey_mprotect(at, SIZE, PROT_READ | PROT_WRITE, -1);
	ibv_dereg_mr(region_new(at, SIZE));
	mprotect(at, SIZE, PROT_READ);
	ok(filled(at, SIZE, 7) && !ibv_reg_mr(a->pd, at, SIZE, ALL) && errno == EFAULT,
	   "mprotect(): read-only memory cannot be registered for writing");
	munmap(at, SIZE);
}

/* Memory goes back with the advice about huge pages that the program has given. */
static void test_huge_page_advice(void)
{
	static const struct {
		int advice;
		const char *flag, *name;
	} kinds[] = { { MADV_HUGEPAGE, " hg", "MADV_HUGEPAGE" },
		      { MADV_NOHUGEPAGE, " nh", "MADV_NOHUGEPAGE" } };
	struct ibv_mr *mr;
	bool advised;
	uint8_t *at;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
		/* A kernel without huge pages takes no advice. */
		advised = !madvise(at, SIZE, kinds[i].advice);
		fill(at, SIZE, 9);
		mr = region_new(at, SIZE);
		ok(has_lent(at, SIZE, SIZE) && filled(at, SIZE, 9), "%s: the memory is lent",
		   kinds[i].name);
		ok(!ibv_dereg_mr(mr) && vb_give_back(at, SIZE) && vb_is_private(at, SIZE) &&
			   has_flag(at, kinds[i].flag) == advised && filled(at, SIZE, 9),
		   "%s: it goes back with the advice", kinds[i].name);
		munmap(at, SIZE);
	}
}

static int child_check(uint8_t *at, int go)
{
	char byte;

	if (read(go, &byte, 1) != 1 || !filled(at, SIZE, 8) || !vb_is_private(at, SIZE))
		return 1;
	fill(at, SIZE, 9);
	return 0;
}

static bool child_is_apart(pid_t pid, uint8_t *at, const int *go)
{
	int status = -1;

	if (!pid)
		_exit(child_check(at, go[0]));
	fill(at, SIZE, 10);
	return write(go[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid && !status &&
	       filled(at, SIZE, 10);
}

static int clone_check(void *at)
{
	return !vb_is_private(at, SIZE);
}

static bool is_private_in_clone(uint8_t *at)
{
	uint8_t *stack = vb_pages(4 * SIZE, PROT_READ | PROT_WRITE);
	int status = -1, pid = clone(clone_check, stack + 4 * SIZE, SIGCHLD, at);
	bool good = pid > 0 && waitpid(pid, &status, 0) == pid && !status;

	munmap(stack, 4 * SIZE);
	return good;
}

static void test_fork(void)
{
	uint8_t *at = idle_pages(SIZE, 8);
	int go[2];

	if (pipe(go))
		die("pipe: %s", strerror(errno));
	ok(child_is_apart(fork(), at, go), "fork()");
	ok(vb_is_private(at, SIZE) && is_reached(at, SIZE), "after it the parent's is private");
	fill(at, SIZE, 8);
#if __GLIBC_PREREQ(2, 34)
	ok(child_is_apart(_Fork(), at, go) && is_reached(at, SIZE), "_Fork()");
#endif
	ok(is_private_in_clone(at), "clone()");
	close(go[0]);
	close(go[1]);
	munmap(at, SIZE);
}

/* The kernel may write to memory when an operation ends, at any time: it must stay where it is. */
static void test_aio(void)
{
	struct ibv_device *device = a->pd->context->device;
	uint8_t *at = idle_pages(SIZE, 16);
	unsigned long ring = 0;

	if (syscall(SYS_io_setup, 8, &ring)) {
		note("io_setup: %s", strerror(errno));
	} else {
		ibv_close_device(ibv_open_device(device));
		ok(has_lent(at, SIZE, SIZE), "with an AIO ring nothing goes back by itself");
		syscall(SYS_io_destroy, ring);
	}
	ibv_close_device(ibv_open_device(device));
	ok(vb_is_private(at, SIZE) && filled(at, SIZE, 16), "a closed device leaves nothing idle");
	munmap(at, SIZE);
}

/* Nothing stays lent without bounds. */
static void test_bounds(void)
{
	uint8_t *at = vb_pages(256 * MIB, PROT_READ | PROT_WRITE), *small;
	uint64_t begin;
	size_t lent;
	bool good;

	fill(at, 256 * MIB, 11);
	for (uint32_t i = 0; i < 128; i++)
		ibv_dereg_mr(region_new(at + i * 2 * MIB, 2 * MIB));
	lent = vb_lent_bytes(at, 256 * MIB);
	ok(lent <= 128 * MIB && has_lent(at + 255 * MIB, MIB, MIB) && vb_is_private(at, MIB),
	   "%zu MiB of 256 stay lent, the latest", lent / MIB);
	ok(vb_give_back(at, 256 * MIB), "given back");
	begin = now_ns();
	small = idle_pages(SIZE, 12);
	ibv_dereg_mr(region_new(at, 72 * MIB));
	/* On a slow machine it was idle for too long meanwhile. */
	good = has_lent(small, SIZE, SIZE) || now_ns() - begin > IDLE_NS / 2;
	ok(vb_is_private(at, 72 * MIB) && good && filled(at, 72 * MIB, 11),
	   "a region that is large does not stay lent, and drives nothing out");
	for (uint32_t i = 0; i < 400; i++)
		ibv_dereg_mr(region_new(at + (size_t)i * 2 * PAGE, PAGE));
	lent = vb_lent_bytes(at, 256 * MIB);
	/* The latest are not counted yet. */
	ok(lent <= (256 + 16) * PAGE && has_lent(at + 399 * 2 * PAGE, PAGE, PAGE),
	   "%zu pages of 400, the latest", lent / PAGE);
	munmap(at, 256 * MIB);
	munmap(small, SIZE);
}

static void test_idle(void)
{
	uint8_t *at = idle_pages(SIZE, 13), *other = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	uint64_t end = now_ns() + LIMIT_S * 1000000000ull;
	struct ibv_mr *mr = region_new(other, SIZE);

	while (!vb_is_private(at, SIZE) && now_ns() < end) {
		usleep(100000);
		ibv_dereg_mr(mr);
		mr = region_new(other, SIZE);
	}
	ok(vb_is_private(at, SIZE) && filled(at, SIZE, 13), "idle memory becomes private");
	ok(has_lent(other, SIZE, SIZE), "what is registered again and again does not");
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
	munmap(other, SIZE);
}

/* A program closes descriptors that it does not know. */
static void test_closed(void)
{
	uint8_t *at = idle_pages(SIZE, 14);
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	char path[300], to[64];

	while (dir && (d = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", d->d_name);
		memset(to, 0, sizeof(to));
		if (readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "/maps"))
			dup2(STDIN_FILENO, atoi(d->d_name));
	}
	closedir(dir);
	ok(has_lent(at, SIZE, SIZE) && is_reached(at, SIZE) && has_lent(at, SIZE, SIZE),
	   "without its descriptor of the mappings");
	munmap(at, SIZE);
}

int main(int argc, char **argv)
{
	expect_lent = argc > 2 && !strcmp(argv[2], "lent");
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_again();
	test_unmapped();
	test_malloc();
	test_calloc();
	test_calls();
	test_huge_page_advice();
	test_fork();
	test_aio();
	test_bounds();
	test_idle();
	test_closed();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
