/* SPDX-License-Identifier: MIT */
/*
 * Lent memory: the program finds its data, and its memory as private as before, whatever it does.
 *	app_mr_lent [local|remote] [lent|kept] [lent|kept]: whether registered memory is
 *	expected to be lent, and that of a program with several threads
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096u
#define PAGES 8u
#define SIZE  (PAGES * PAGE)
#define BIG   (80u << 20) /* too large to be faulted in when it is registered */

static struct vb_side *a, *b;
static struct vb_pair p;
static bool expect_lent, threads_lend;

static bool has_lent(const void *at, size_t len, size_t want)
{
	return vb_lent_bytes(at, len) == (expect_lent ? want : 0);
}

static bool peer_reaches(uint32_t rkey, uint8_t *at)
{
	return vb_peer_reaches(b, rkey, at);
}

static struct ibv_mr *region_new(void *at, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(a->pd, at, len, ALL);

	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	return mr;
}

static void test_whole_pages(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	int lines;

	fill(at, SIZE, 1);
	mr = region_new(at + 100, SIZE - 200);
	ok(has_lent(at, SIZE, SIZE - 2 * PAGE) && filled(at, SIZE, 1),
	   "the whole pages of a region are lent, with their content");
	ok(peer_reaches(mr->rkey, at + 200) && peer_reaches(mr->rkey, at + 3 * PAGE - 50),
	   "the peer reaches both kinds of pages");
	fill(at, SIZE, 2);
	ok(!ibv_dereg_mr(mr) && filled(at, SIZE, 2) && vb_give_back(at, SIZE) &&
		   has_lent(at, SIZE, 0) && filled(at, SIZE, 2),
	   "deregistered, they can be private again, with their content");
	ok(vb_private_bytes(at, SIZE, &lines) == SIZE && lines == 1, "and one mapping");
	munmap(at, SIZE);
}

static long touched_pages(const uint8_t *at, size_t len)
{
	FILE *f = fopen("/proc/self/pagemap", "r");
	uint64_t entry;
	long n = 0;

	if (!f || fseek(f, (long)((uintptr_t)at / PAGE * sizeof(entry)), SEEK_SET))
		die("pagemap: %s", strerror(errno));
	for (size_t i = 0; i < len / PAGE; i++)
		n += fread(&entry, sizeof(entry), 1, f) == 1 && entry >> 62;
	fclose(f);
	return n;
}

static void test_untouched(void)
{
	uint8_t *at = vb_pages(BIG, PROT_READ | PROT_WRITE);
	long before, during, after;
	struct ibv_mr *mr;

	madvise(at, BIG, MADV_NORMAL);
	fill(at + BIG / 2, 2 * PAGE, 3);
	before = touched_pages(at, BIG);
	mr = region_new(at, BIG);
	during = touched_pages(at, BIG);
	ok(has_lent(at, BIG, BIG) && filled(at + BIG / 2, 2 * PAGE, 3), "80 MiB are lent");
	ok(peer_reaches(mr->rkey, at + BIG - 200), "the peer reaches its untouched end");
	ok(!ibv_dereg_mr(mr) && vb_is_private(at, BIG) && filled(at + BIG / 2, 2 * PAGE, 3),
	   "and private again");
	after = touched_pages(at, BIG);
	ok(during <= before + 16 && after <= before + 1024,
	   "untouched pages stay untouched: %ld, %ld, %ld", before, during, after);
	munmap(at, BIG);
}

/* Data and holes that begin and end anywhere, in a region of many exchanges of 2 MiB. */
static void test_sparse(void)
{
	static const struct {
		uint32_t from;
		uint32_t pages;
	} data[] = { { 0, 900 }, { 1025, 1 }, { 1535, 2 }, { 5000, 1300 }, { BIG / PAGE - 7, 7 } };
	const int n = sizeof(data) / sizeof(*data);
	uint8_t *at = vb_pages(BIG, PROT_READ | PROT_WRITE);
	long want = 0, touched;
	struct ibv_mr *mr;
	bool good;

	for (int i = 0; i < n; i++) {
		want += data[i].pages;
		if (i != 2)
			fill(at + data[i].from * PAGE, data[i].pages * PAGE, 30 + i);
	}
	mr = region_new(at, BIG);
	good = has_lent(at, BIG, BIG);
	fill(at + data[2].from * PAGE, data[2].pages * PAGE, 32);
	good = !ibv_dereg_mr(mr) && vb_is_private(at, BIG) && good;
	touched = touched_pages(at, BIG);
	for (int i = 0; i < n; i++)
		good = filled(at + data[i].from * PAGE, data[i].pages * PAGE, 30 + i) && good;
	ok(good && touched == want, "data with holes: %ld pages of %ld are touched", touched, want);
	munmap(at, BIG);
}

static void test_read_only(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;

	fill(at, SIZE, 4);
	mprotect(at, SIZE, PROT_READ);
	mr = ibv_reg_mr(a->pd, at, SIZE, IBV_ACCESS_REMOTE_READ);
	ok(mr && has_lent(at, SIZE, SIZE) && !ibv_dereg_mr(mr), "read-only memory");
	mprotect(at, SIZE, PROT_READ | PROT_WRITE);
	ok(vb_give_back(at, SIZE) && vb_is_private(at, SIZE) && filled(at, SIZE, 4),
	   "private again, with its content");
	munmap(at, SIZE);
}

static void test_overlap(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *first, *second;
	bool good;

	fill(at, SIZE, 5);
	first = region_new(at, 4 * PAGE);
	second = region_new(at + 2 * PAGE, 2 * PAGE);
	ok(has_lent(at, SIZE, 4 * PAGE) && filled(at, SIZE, 5), "a region within another");
	good = !ibv_dereg_mr(first);
	ok(good && has_lent(at, SIZE, 4 * PAGE) && peer_reaches(second->rkey, at + 3 * PAGE),
	   "the outer one has gone: the inner one is lent, and reached");
	good = !ibv_rereg_mr(second, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at + 5 * PAGE, PAGE, 0);
	ok(good && has_lent(at + 5 * PAGE, PAGE, PAGE) && peer_reaches(second->rkey, at + 5 * PAGE),
	   "re-registered elsewhere: that is lent");
	ok(!ibv_dereg_mr(second) && vb_give_back(at, SIZE) && vb_is_private(at, SIZE),
	   "all of it is private again");
	munmap(at, SIZE);
}

/* The program changes its mappings while they are registered. */
static void test_meanwhile(void)
{
	static const uint8_t zeros[SIZE];
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE), *to;
	struct ibv_mr *mr = region_new(at, SIZE), *again;

	fill(at, SIZE, 6);
	madvise(at, SIZE, MADV_DONTNEED);
	ok(!memcmp(at, zeros, SIZE) && peer_reaches(mr->rkey, at + PAGE),
	   "madvise(MADV_DONTNEED): zeros");
	ibv_dereg_mr(mr);
	mr = region_new(at, SIZE);
	fill(at, SIZE, 7);
	to = mremap(at, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	ok(to != MAP_FAILED && filled(to, SIZE, 7) && vb_is_private(to, 2 * SIZE),
	   "mremap(): the content moves, and is private");
	ibv_dereg_mr(mr);
	mr = region_new(to, 2 * SIZE);
	munmap(to, SIZE);
	at = mmap(to, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	fill(at, SIZE, 8);
	again = region_new(at, SIZE);
	ok(peer_reaches(again->rkey, at + PAGE) && peer_reaches(mr->rkey, to + SIZE + PAGE),
	   "munmap(): the peer reaches what is mapped and registered there instead, and the rest");
	ibv_dereg_mr(again);
	fill(at, SIZE, 8);
	ok(!ibv_dereg_mr(mr) && filled(at, SIZE, 8) && vb_give_back(at, 2 * SIZE) &&
		   filled(at, SIZE, 8) && vb_is_private(at, 2 * SIZE),
	   "deregistering leaves what is mapped there instead");
	munmap(at, 2 * SIZE);
}

/* In the child: the parent has written something else since the fork. */
static int child_check(uint8_t *at, int go)
{
	char byte;

	if (read(go, &byte, 1) != 1 || !filled(at, SIZE, 10) || !vb_is_private(at, SIZE))
		return 1;
	fill(at, SIZE, 12);
	return filled(at, SIZE, 12) ? 0 : 2;
}

static void test_fork(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_new(at, SIZE);
	int go[2], status = -1;
	pid_t pid;

	fill(at, SIZE, 10);
	if (pipe(go))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		_exit(child_check(at, go[0]));
	fill(at, SIZE, 11);
	ok(has_lent(at, SIZE, SIZE) && write(go[1], "", 1) == 1 &&
		   waitpid(pid, &status, 0) == pid && !status,
	   "a child of fork() has a private copy, as of the fork");
	ok(filled(at, SIZE, 11) && peer_reaches(mr->rkey, at + PAGE),
	   "its parent has its memory, and the peer reaches it");
	ok(!ibv_dereg_mr(mr) && vb_give_back(at, SIZE) && vb_is_private(at, SIZE), "private again");
	close(go[0]);
	close(go[1]);
	munmap(at, SIZE);
}

static void *thread_wait(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

static void test_thread(void)
{
	const size_t want = threads_lend ? SIZE : 0;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = region_new(at, SIZE);
	pthread_t thread;

	fill(at, SIZE, 13);
	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, thread_wait, &lock))
		die("pthread_create");
	ok(has_lent(at, SIZE, want) && filled(at, SIZE, 13) && peer_reaches(mr->rkey, at + PAGE),
	   "a second thread: the memory %s, and is reached", want ? "stays lent" : "goes back");
	fill(at, SIZE, 14);
	ok(!ibv_dereg_mr(mr) && vb_give_back(at, SIZE) && vb_is_private(at, SIZE) &&
		   filled(at, SIZE, 14),
	   "deregistered, it is private again");
	mr = region_new(at, SIZE);
	ok(has_lent(at, SIZE, want) && peer_reaches(mr->rkey, at), "registered again: likewise");
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

/* The kernel may write to memory when an operation ends, at any time. */
static void test_aio(void)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	unsigned long ring = 0;
	struct ibv_mr *mr;

	if (syscall(SYS_io_setup, 8, &ring)) {
		note("io_setup: %s", strerror(errno));
	} else {
		mr = region_new(at, SIZE);
		ok(vb_is_private(at, SIZE) && peer_reaches(mr->rkey, at),
		   "with an AIO ring nothing is lent");
		ibv_dereg_mr(mr);
		syscall(SYS_io_destroy, ring);
	}
	mr = region_new(at, SIZE);
	ok(has_lent(at, SIZE, SIZE), "without one it is");
	ibv_dereg_mr(mr);
	munmap(at, SIZE);
}

/* A heap that grows and shrinks while its parts come and go. */
static void test_heap(void)
{
	bool good = true;

	for (unsigned int i = 0; i < 200 && good; i++) {
		size_t len = 3000 + i * 1777;
		uint8_t *at = malloc(len);
		struct ibv_mr *mr = region_new(at, len);

		fill(at, len, i);
		at = i % 3 ? at : realloc(at, 2 * len);
		good = filled(at, len, i);
		if (i % 2)
			free(at);
		good = !ibv_dereg_mr(mr) && good;
		if (!(i % 2)) {
			good = good && filled(at, len, i);
			free(at);
		}
	}
	ok(good, "malloc, register, realloc, free, deregister, 200 times");
}

/* realloc() moves a mapping that is a chunk of its own inside libc. */
static void test_realloc(void)
{
	const size_t len = 1000 * PAGE, longer = 3 * len;
	uint8_t *at = malloc(len - PAGE), *chunk = at - (uintptr_t)at % PAGE, *grown;
	struct ibv_mr *mr = region_new(chunk, len), *other;
	uint8_t *page = vb_pages(len, PROT_READ | PROT_WRITE);
	bool good;

	/* As long, so that its place in the file is after the first one. */
	other = region_new(page, len);
	fill(at, len - PAGE, 15);
	fill(page, len, 16);
	grown = realloc(at, longer);
	if (!grown)
		die("realloc");
	at = grown;
	good = filled(at, len - PAGE, 15);
	fill(at, longer, 17);
	ok(good && filled(at, longer, 17), "realloc() of a registered mapping");
	ok(filled(page, len, 16) && peer_reaches(other->rkey, page),
	   "and memory that is lent next to it");
	ok(!ibv_dereg_mr(mr) && !ibv_dereg_mr(other) && filled(at, longer, 17), "deregistered");
	free(at);
	munmap(page, len);
}

int main(int argc, char **argv)
{
	expect_lent = argc > 2 && !strcmp(argv[2], "lent");
	threads_lend = argc > 3 && !strcmp(argv[3], "lent");
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_whole_pages();
	test_untouched();
	test_sparse();
	test_read_only();
	test_overlap();
	test_meanwhile();
	test_fork();
	test_thread();
	test_aio();
	test_heap();
	test_realloc();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
