/* SPDX-License-Identifier: MIT */
/*
 * Lent memory under whatever a program does with it, at random, next to RDMA traffic into it.
 *	app_mr_lent_torture local|remote STEPS [SEED]
 *
 * A model has each byte that the program's heap must have. After each step the whole heap is
 * compared, and in each child of a fork.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define PAGES	96u
#define HEAP	(PAGES * PAGE)
#define REGIONS 6
#define RIGHTS	ALL

static struct vb_side *a, *b;
static struct vb_pair p;
static uint64_t seed;
static uint8_t *heap, *model;
static struct ibv_mr *regions[REGIONS];

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rnd(&seed) % n);
}

/* A random part of the heap. Return: its length. */
static uint32_t part(uint32_t *off, uint32_t max)
{
	uint32_t len = 1 + below(below(2) ? max : 300);

	*off = below(HEAP - len);
	return len;
}

/* Whether a region has a byte in the pages of [off, off + len). */
static bool is_registered(uint32_t off, uint32_t len)
{
	uintptr_t from = (uintptr_t)(heap + off) / PAGE * PAGE, to = (uintptr_t)(heap + off) + len;

	to = (to + PAGE - 1) / PAGE * PAGE;
	for (int i = 0; i < REGIONS; i++)
		if (regions[i] && (uintptr_t)regions[i]->addr < to &&
		    (uintptr_t)regions[i]->addr + regions[i]->length > from)
			return true;
	return false;
}

static bool do_register(void)
{
	int i = (int)below(REGIONS);
	uint32_t off, len = part(&off, HEAP / 2);

	if (below(2)) {
		off -= off % PAGE;
		len = (len + PAGE - 1) / PAGE * PAGE;
		len = off + len > HEAP ? HEAP - off : len;
	}
	if (regions[i] && ibv_dereg_mr(regions[i]))
		return false;
	regions[i] = ibv_reg_mr(a->pd, heap + off, len, RIGHTS);
	return regions[i] != NULL;
}

static bool do_deregister(void)
{
	int i = (int)below(REGIONS), ret = regions[i] ? ibv_dereg_mr(regions[i]) : 0;

	regions[i] = NULL;
	return !ret;
}

static bool do_reregister(void)
{
	int i = (int)below(REGIONS);
	uint32_t off, len = part(&off, HEAP / 4);

	return !regions[i] ||
	       !ibv_rereg_mr(regions[i], IBV_REREG_MR_CHANGE_TRANSLATION, NULL, heap + off, len, 0);
}

/* The peer writes, reads, or adds, in a region. */
static bool do_rdma(void)
{
	static const enum ibv_wr_opcode op[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD };
	const struct ibv_mr *mr = regions[below(REGIONS)];
	uint32_t kind = below(3), len, off, skip;
	uint8_t *at = b->buf + below(PAGE);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	struct vb_wr wr;
	uint64_t sum = 0;

	if (!mr || mr->length < 16)
		return true;
	len = kind == 2 ? 8 : 1 + below((uint32_t)mr->length);
	skip = below((uint32_t)mr->length - len + 1);
	off = (uint32_t)((uint8_t *)mr->addr - heap) + skip;
	if (kind == 2)
		off = (uint32_t)((uint8_t *)mr->addr - heap + 7) / 8 * 8;
	wr = vb_wr(op[kind], 9, b, at, len);
	wr.rkey = mr->rkey;
	wr.raddr = (uintptr_t)heap + off;
	wr.compare = rnd(&seed);
	fill(at, len, seed);
	if (kind == 0)
		memcpy(model + off, at, len);
	if (kind == 2) {
		memcpy(&sum, model + off, 8);
		sum += wr.compare;
	}
	if (vb_send(b, 1, false, &wr) || !vb_poll(b, 1, VB_SCQ, VB_WAIT, &wc) || wc.status)
		return false;
	if (memcmp(at, model + off, len) != 0 && kind)
		return false;
	if (kind == 2)
		memcpy(model + off, &sum, 8);
	return true;
}

static bool do_write(void)
{
	uint32_t off, len = part(&off, HEAP / 4);

	fill(heap + off, len, seed);
	memcpy(model + off, heap + off, len);
	return true;
}

/* The kernel writes to the heap. */
static bool do_read(void)
{
	uint32_t off, len = part(&off, 30000);
	uint8_t bytes[30000];
	int fd[2];
	bool good;

	fill(bytes, len, seed);
	good = !pipe(fd) && write(fd[1], bytes, len) == (ssize_t)len &&
	       read(fd[0], heap + off, len) == (ssize_t)len;
	memcpy(model + off, bytes, len);
	close(fd[0]);
	close(fd[1]);
	return good;
}

static bool do_madvise(void)
{
	uint32_t off = below(PAGES) * PAGE, len = (1 + below(8)) * PAGE;

	len = off + len > HEAP ? HEAP - off : len;
	/* An HCA keeps the pages of a region that a program gives up so. */
	if (is_registered(off, len))
		return !madvise(heap + off, len, MADV_SEQUENTIAL);
	memset(model + off, 0, len);
	return !madvise(heap + off, len, MADV_DONTNEED);
}

/* Away and back: what is mapped has moved twice. */
static bool do_mremap(void)
{
	uint32_t off = below(PAGES - 4) * PAGE, len = (1 + below(4)) * PAGE;
	uint8_t *to;

	if (is_registered(off, len))
		return true;
	to = mremap(heap + off, len, 2 * len, MREMAP_MAYMOVE);
	if (to == MAP_FAILED)
		return errno == EFAULT; /* there are several mappings */
	if (memcmp(to, model + off, len) != 0)
		return false;
	to = mremap(to, 2 * len, len, 0);
	return to != MAP_FAILED &&
	       mremap(to, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, heap + off) == heap + off;
}

static bool do_map_anew(void)
{
	uint32_t off = below(PAGES - 4) * PAGE, len = (1 + below(4)) * PAGE;

	if (is_registered(off, len))
		return true;
	memset(model + off, 0, len);
	return !munmap(heap + off, len) &&
	       mmap(heap + off, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == heap + off;
}

/* Memory goes first, and its regions after it, as in programs that free() too early. */
static bool do_unmap_registered(void)
{
	uint32_t off = below(PAGES - 4) * PAGE, len = (1 + below(4)) * PAGE, i;
	bool good = !munmap(heap + off, len);

	for (i = 0; i < REGIONS; i++) {
		if (!regions[i] || (uint8_t *)regions[i]->addr >= heap + off + len ||
		    (uint8_t *)regions[i]->addr + regions[i]->length <= heap + off)
			continue;
		good = !ibv_dereg_mr(regions[i]) && good;
		regions[i] = NULL;
	}
	memset(model + off, 0, len);
	return mmap(heap + off, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == heap + off &&
	       good;
}

/* The child has the heap as of the fork, whatever its parent and the peer write meanwhile. */
static bool do_fork(void)
{
	uint32_t off, len = part(&off, HEAP / 4);
	int go[2], status = -1;
	pid_t pid;
	char byte;
	bool good;

	if (pipe(go))
		return false;
	pid = fork();
	if (!pid) {
		good = read(go[0], &byte, 1) == 1 && !memcmp(heap, model, HEAP);
		memset(heap, 0xee, HEAP);
		_exit(!good);
	}
	fill(heap + off, len, seed);
	memcpy(model + off, heap + off, len);
	good = do_rdma() && write(go[1], "", 1) == 1;
	good = waitpid(pid, &status, 0) == pid && !status && good;
	close(go[0]);
	close(go[1]);
	return good;
}

static void *thread_fill(void *arg)
{
	uint32_t *at = arg;

	fill(heap + at[0], at[1], at[2]);
	return NULL;
}

static bool do_thread(void)
{
	uint32_t at[3];
	pthread_t thread;
	bool good;

	at[1] = part(&at[0], HEAP / 8);
	at[2] = (uint32_t)rnd(&seed);
	if (pthread_create(&thread, NULL, thread_fill, at))
		return false;
	good = below(2) || do_register();
	pthread_join(thread, NULL);
	memcpy(model + at[0], heap + at[0], at[1]);
	return good && filled(heap + at[0], at[1], at[2]);
}

static const struct {
	const char *name;
	bool (*run)(void);
	uint32_t weight;
} steps[] = {
	{ "register", do_register, 12 },
	{ "deregister", do_deregister, 4 },
	{ "re-register", do_reregister, 4 },
	{ "RDMA", do_rdma, 40 },
	{ "write", do_write, 10 },
	{ "read(2)", do_read, 6 },
	{ "madvise", do_madvise, 4 },
	{ "mremap", do_mremap, 4 },
	{ "munmap", do_map_anew, 4 },
	{ "fork", do_fork, 4 },
	{ "munmap of a region", do_unmap_registered, 2 },
	{ "thread", do_thread, 2 },
};

static size_t step_choose(void)
{
	uint32_t sum = 0, at, i;

	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		sum += steps[i].weight;
	at = below(sum);
	for (i = 0; at >= steps[i].weight; i++)
		at -= steps[i].weight;
	return i;
}

int main(int argc, char **argv)
{
	long i = 0, n = argc > 2 ? atol(argv[2]) : 300;
	const char *name = "none";
	bool good = true;
	size_t step;

	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : now_ns();
	note("seed %llu", (unsigned long long)seed);
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	model = calloc(1, HEAP);
	if (heap == MAP_FAILED || !model)
		die("memory: %s", strerror(errno));
	for (i = 0; good && i < n; i++) {
		step = step_choose();
		name = steps[step].name;
		good = steps[step].run() && !memcmp(heap, model, HEAP);
	}
	ok(good, "%ld steps; the last: %s", i, name);
	for (i = 0; i < REGIONS; i++)
		if (regions[i])
			ibv_dereg_mr(regions[i]);
	ok(!memcmp(heap, model, HEAP), "and when nothing is registered any more");
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
