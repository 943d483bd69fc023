/* SPDX-License-Identifier: MIT */
/*
 * Large regions: their registration does not make their pages, and every access works; what cannot
 * be registered is refused as in a small one.
 *	app_mr_large [local|remote]: where the other end lives
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	 4096ul
#define LARGE	 (1ul << 30)
#define MIDDLING (96ul << 20) /* more than what is faulted in at once */
#define WAIT	 20000

static struct end *a, *b;

static uint8_t *map_new(int flags, int fd, size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		die("a mapping: %s", strerror(errno));
	return p;
}

static size_t pages_present(uint8_t *at, size_t len)
{
	size_t n = len / PAGE, i, found = 0;
	unsigned char *vec = malloc(n);

	if (!vec || mincore(at, len, vec))
		die("mincore: %s", strerror(errno));
	for (i = 0; i < n; i++)
		found += vec[i] & 1;
	free(vec);
	return found;
}

static bool is_zero(const uint8_t *at, size_t len)
{
	while (len && !*at)
		at++, len--;
	return !len;
}

static int run(struct end *e, enum ibv_wr_opcode op, uint8_t *local, uint32_t lkey, uint8_t *remote,
	       uint32_t rkey)
{
	struct rc_wr wr = {
		.wr_id = 7,
		.opcode = op,
		.flags = IBV_SEND_SIGNALED,
		.rkey = rkey,
		.remote_addr = (uintptr_t)remote,
		.num_sge = 1,
		.sge = { { (uintptr_t)local, 3 * PAGE, lkey } },
	};
	struct ibv_wc wc;

	if (end_send(e, &wr) || !end_poll(e, 0, WAIT, &wc))
		return -1;
	return (int)wc.status;
}

/* Each access is the first to its pages. */
static void test_traffic(const char *what, uint8_t *mem, uint32_t lkey, uint32_t rkey)
{
	const size_t places[] = { 5, LARGE / 2 + 11, LARGE - 3 * PAGE };
	bool wrote = true, read = true, sent = true;
	uint8_t *at;
	size_t i;

	for (i = 0; i < 3; i++) {
		at = mem + places[i];
		fill(b->buf, 3 * PAGE, i + 1);
		wrote = wrote && !run(b, IBV_WR_RDMA_WRITE, b->buf, b->lkey, at, rkey) &&
			arrives(at, 3 * PAGE, i + 1);
		at = mem + LARGE / 4 + i * LARGE / 32;
		memset(b->buf, 1, 3 * PAGE);
		read = read && !run(b, IBV_WR_RDMA_READ, b->buf, b->lkey, at, rkey) &&
		       is_zero(b->buf, 3 * PAGE);
		at += LARGE / 8;
		memset(b->buf, 1, 3 * PAGE);
		sent = sent && !run(a, IBV_WR_RDMA_WRITE, at, lkey, b->buf, b->rkey) &&
		       is_zero(b->buf, 3 * PAGE);
	}
	at = mem + LARGE / 64;
	fill(b->buf, 3 * PAGE, 9);
	ok(wrote, "%s: the other end writes to pages that nobody touched", what);
	ok(read, "%s: it reads such pages", what);
	ok(sent, "%s: they are sent", what);
	ok(!run(a, IBV_WR_RDMA_READ, at, lkey, b->buf, b->rkey) && filled(at, 3 * PAGE, 9),
	   "%s: they receive a response", what);
}

static void test_region(const char *what, int flags, int fd)
{
	uint8_t *mem = map_new(flags, fd, LARGE);
	uint32_t lkey, rkey;
	size_t n;

	if (!ok(!end_reg(a, 1, mem, LARGE, ALL, false, &lkey, &rkey), "%s: registered", what))
		exit(1);
	n = pages_present(mem, LARGE);
	ok(n <= LARGE / PAGE / 16, "%s: %zu of its %zu pages exist then", what, n, LARGE / PAGE);
	test_traffic(what, mem, lkey, rkey);
	ok(!end_dereg(a, 1), "%s: deregistered", what);
	munmap(mem, LARGE);
}

static int reg(void *addr, size_t len, int access)
{
	uint32_t lkey, rkey;
	int ret = end_reg(a, 1, addr, len, access, false, &lkey, &rkey);

	if (!ret)
		end_dereg(a, 1);
	return ret;
}

static void test_refused(void)
{
	uint8_t *mem = map_new(MAP_PRIVATE | MAP_ANONYMOUS, -1, LARGE);

	mprotect(mem + LARGE / 2, PAGE, PROT_READ);
	ok(reg(mem, LARGE, LW) == EFAULT, "a read-only page in its middle: EFAULT");
	ok(!reg(mem, LARGE, RR), "not without LOCAL_WRITE");
	mprotect(mem + LARGE / 2, PAGE, PROT_NONE);
	ok(reg(mem, LARGE, RR) == EFAULT, "an inaccessible page: EFAULT");
	munmap(mem + LARGE / 2, PAGE);
	ok(reg(mem, LARGE, LW) == EFAULT && reg(mem, LARGE, RR) == EFAULT, "a hole: EFAULT");
	ok(reg(mem + LARGE / 2 - MIDDLING, MIDDLING + 1, LW) == EFAULT, "a hole at its end");
	ok(reg(mem + LARGE / 2 + PAGE - 1, MIDDLING, LW) == EFAULT, "a hole at its start");
	ok(!reg(mem + LARGE / 2 + PAGE, MIDDLING, LW) && !reg(mem, LARGE / 2, LW),
	   "up to the hole, and after it");
	munmap(mem, LARGE);
}

static void test_files(const char *what, int fd)
{
	uint8_t *mem;

	if (fd < 0 || ftruncate(fd, MIDDLING - PAGE))
		die("%s: %s", what, strerror(errno));
	mem = map_new(MAP_SHARED, fd, MIDDLING);
	ok(reg(mem, MIDDLING, LW) == EFAULT && reg(mem, MIDDLING, RR) == EFAULT,
	   "%s that ends before its mapping: EFAULT", what);
	ok(!reg(mem, MIDDLING - PAGE, LW), "%s: up to its end", what);
	munmap(mem, MIDDLING);
	close(fd);
}

int main(int argc, char **argv)
{
	bool remote = argc > 1 && !strcmp(argv[1], "remote");
	char path[] = "/tmp/rdmaemu-app-large.XXXXXX";
	int fd;

	b = remote ? end_fork(false) : end_local();
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	test_region("private memory", MAP_PRIVATE | MAP_ANONYMOUS, -1);
	test_region("shared memory", MAP_SHARED | MAP_ANONYMOUS, -1);
	fd = memfd_create("large", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, LARGE))
		die("a memory file: %s", strerror(errno));
	test_region("a memory file", MAP_SHARED, fd);
	close(fd);
	test_refused();
	test_files("a memory file", memfd_create("short", MFD_CLOEXEC));
	fd = mkstemp(path);
	unlink(path);
	test_files("a file", fd);
	end_close(a);
	end_close(b);
	return tap_failed != 0;
}
