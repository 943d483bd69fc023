/* SPDX-License-Identifier: MIT */
/*
 * Lent memory of a program whose threads do all of it at once, at random, next to RDMA traffic.
 *	app_mr_lent_torture_threads local|remote THREADS STEPS [SEED [MS]]
 *
 * The threads share the pages of a heap: each owns some blocks of every page, and a model has each
 * byte that its own blocks must have. Regions lie anywhere on the heap, so that one thread's
 * registrations move the pages that the others, the kernel and the peer write to. In addition each
 * thread has pages of its own, whose mappings it changes. After MS the program kills itself.
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	    4096u
#define PAGES	    48u
#define HEAP	    (PAGES * PAGE)
#define BLOCK	    512u
#define BLOCKS	    (HEAP / BLOCK)
#define MAX_THREADS 8
#define REGIONS	    3
#define PIECES	    6
#define FEW	    20
#define AREA	    (12 * PAGE)

struct worker {
	pthread_t thread;
	uint32_t index;
	uint64_t seed;
	uint8_t *model;
	uint8_t *area;
	uint8_t *area_model;
	struct ibv_mr *area_mr;
	struct ibv_mr *regions[REGIONS];
	long steps;
	const char *failed;
};

static struct vb_side *a, *b;
static struct vb_pair p;
static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *heap;
static uint32_t n_threads;
static long n_steps, n_registered, n_lent; /* own pages */
extern char **environ;

static uint32_t below(struct worker *w, uint32_t n)
{
	return (uint32_t)(rnd(&w->seed) % n);
}

/* A block of the thread's own: its offset. */
static uint32_t own_block(struct worker *w)
{
	return (below(w, BLOCKS / n_threads) * n_threads + w->index) * BLOCK;
}

static bool is_own_right(const struct worker *w)
{
	for (uint32_t off = w->index * BLOCK; off < HEAP; off += n_threads * BLOCK)
		if (memcmp(heap + off, w->model + off, BLOCK) != 0)
			return false;
	return !memcmp(w->area, w->area_model, AREA);
}

static bool do_register(struct worker *w)
{
	struct ibv_mr **mr = &w->regions[below(w, REGIONS)];
	uint32_t len = BLOCK + below(w, HEAP / 2), off = below(w, HEAP - len);

	if (*mr && ibv_dereg_mr(*mr))
		return false;
	*mr = ibv_reg_mr(a->pd, heap + off, len, ALL);
	return *mr;
}

static bool do_deregister(struct worker *w)
{
	struct ibv_mr **mr = &w->regions[below(w, REGIONS)];
	int ret = *mr ? ibv_dereg_mr(*mr) : 0;

	*mr = NULL;
	return !ret;
}

/* The peer writes to, reads, or adds in, a block. */
static bool rdma_block(struct worker *w, uint32_t rkey, uint32_t off)
{
	static const enum ibv_wr_opcode op[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint32_t kind = below(w, 3), len = kind == 2 ? 8 : 1 + below(w, BLOCK);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	struct vb_wr wr = vb_wr(op[kind], 9, b, b->buf, len);
	uint64_t sum;

	off += kind == 2 ? 0 : below(w, BLOCK - len + 1);
	wr.rkey = rkey;
	wr.raddr = (uintptr_t)heap + off;
	wr.compare = rnd(&w->seed);
	fill(b->buf, len, w->seed);
	if (kind == 0)
		memcpy(w->model + off, b->buf, len);
	if (vb_send(b, 1, false, &wr) || !vb_poll(b, 1, VB_SCQ, VB_WAIT, &wc) || wc.status) {
		note("opcode %d: %s", op[kind], ibv_wc_status_str(wc.status));
		return false;
	}
	if (kind && memcmp(b->buf, w->model + off, len) != 0) {
		note("opcode %d: other bytes", op[kind]);
		return false;
	}
	if (kind == 2) {
		memcpy(&sum, w->model + off, 8);
		sum += wr.compare;
		memcpy(w->model + off, &sum, 8);
	}
	return true;
}

static bool do_rdma(struct worker *w)
{
	const struct ibv_mr *mr = w->regions[below(w, REGIONS)];
	uint32_t off = own_block(w);
	bool good;

	if (!mr || heap + off < (uint8_t *)mr->addr ||
	    heap + off + BLOCK > (uint8_t *)mr->addr + mr->length)
		return true;
	pthread_mutex_lock(&pair_lock);
	good = rdma_block(w, mr->rkey, off);
	pthread_mutex_unlock(&pair_lock);
	return good;
}

static bool do_write(struct worker *w)
{
	for (int i = 0; i < PIECES; i++) {
		uint32_t off = own_block(w);

		fill(heap + off, BLOCK, w->seed + i);
		fill(w->model + off, BLOCK, w->seed + i);
	}
	return true;
}

/* The kernel writes to some blocks, and reads them. */
static bool do_read(struct worker *w)
{
	uint8_t bytes[PIECES * BLOCK];
	struct iovec to[PIECES];
	bool good;
	int fd[2];

	if (pipe(fd))
		return false;
	fill(bytes, sizeof(bytes), w->seed);
	for (int i = 0; i < PIECES; i++) {
		uint32_t off = own_block(w);

		to[i] = (struct iovec){ heap + off, BLOCK };
		memcpy(w->model + off, bytes + i * BLOCK, BLOCK);
	}
	good = write(fd[1], bytes, sizeof(bytes)) == sizeof(bytes) &&
	       readv(fd[0], to, PIECES) == sizeof(bytes) &&
	       writev(fd[1], to, PIECES) == sizeof(bytes) &&
	       read(fd[0], bytes, sizeof(bytes)) == sizeof(bytes);
	close(fd[0]);
	close(fd[1]);
	return good;
}

/* The child has the thread's blocks as of the fork. */
static bool do_fork(struct worker *w)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		usleep(1000);
		_exit(!is_own_right(w));
	}
	if (pid < 0)
		return false;
	do_write(w);
	return waitpid(pid, &status, 0) == pid && !status;
}

static bool do_spawn(struct worker *w)
{
	char *argv[] = { "true", NULL };
	int status = -1;
	pid_t pid;

	switch (below(w, 3)) {
	case 0:
		/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): programs call it */
		pid = vfork();
		break;
	case 1:
		pid = fork();
		break;
	default:
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
			return false;
	}
	if (!pid) {
		execve("/bin/true", argv, environ);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* The thread's own pages: register them, or change their mappings. */
static bool do_area_register(struct worker *w)
{
	if (w->area_mr) {
		if (ibv_dereg_mr(w->area_mr))
			return false;
		w->area_mr = NULL;
		return true;
	}
	w->area_mr = ibv_reg_mr(a->pd, w->area + below(w, PAGE), AREA - PAGE, ALL);
	fill(w->area, AREA, w->seed);
	fill(w->area_model, AREA, w->seed);
	__atomic_fetch_add(&n_registered, 1, __ATOMIC_RELAXED);
	if (vb_lent_bytes(w->area + PAGE, 1))
		__atomic_fetch_add(&n_lent, 1, __ATOMIC_RELAXED);
	return w->area_mr;
}

/* EAGAIN, ENOMEM: another thread sleeps where it cannot be stopped. */
static bool do_area_remap(struct worker *w)
{
	uint8_t *to;

	if (w->area_mr)
		return true;
	switch (below(w, 3)) {
	case 0:
		if (madvise(w->area, AREA, MADV_DONTNEED))
			return errno == EAGAIN;
		break;
	case 1:
		to = mremap(w->area, AREA, 2 * AREA, MREMAP_MAYMOVE);
		if (to == MAP_FAILED)
			return errno == ENOMEM || errno == EFAULT; /* EFAULT: several mappings */
		if (memcmp(to, w->area_model, AREA) != 0 || munmap(to + AREA, AREA))
			return false;
		w->area = to;
		return true;
	default:
		if (munmap(w->area, AREA))
			return false;
		w->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	}
	memset(w->area_model, 0, AREA);
	return w->area != MAP_FAILED;
}

/* Memory of malloc(), next to that of other threads. */
static bool do_malloc(struct worker *w)
{
	size_t len = 1000 + below(w, 200000);
	uint8_t *at = malloc(len);
	struct ibv_mr *mr = ibv_reg_mr(a->pd, at, len, ALL);
	uint64_t seed = w->seed;
	bool good;

	fill(at, len, seed);
	good = mr && !ibv_dereg_mr(mr);
	at = below(w, 2) ? realloc(at, 2 * len) : at;
	good = good && filled(at, len, seed);
	free(at);
	return good;
}

static const struct {
	const char *name;
	bool (*run)(struct worker *w);
	uint32_t weight;
} steps[] = {
	{ "register", do_register, 12 },
	{ "deregister", do_deregister, 4 },
	{ "RDMA", do_rdma, 40 },
	{ "write", do_write, 20 },
	{ "read(2)", do_read, 10 },
	{ "fork", do_fork, 1 },
	{ "spawn", do_spawn, 1 },
	{ "register own pages", do_area_register, 4 },
	{ "map own pages", do_area_remap, 4 },
	{ "malloc", do_malloc, 4 },
};
#define N_STEPS ((uint32_t)(sizeof(steps) / sizeof(*steps)))

static uint32_t step_choose(struct worker *w)
{
	uint32_t sum = 0, at, i;

	for (i = 0; i < N_STEPS; i++)
		sum += steps[i].weight;
	at = below(w, sum);
	for (i = 0; at >= steps[i].weight; i++)
		at -= steps[i].weight;
	return i;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	uint32_t step;

	for (; w->steps < n_steps && !w->failed; w->steps++) {
		step = step_choose(w);
		if (!steps[step].run(w) || !is_own_right(w))
			w->failed = steps[step].name;
	}
	for (int i = 0; i < REGIONS; i++)
		if (w->regions[i] && ibv_dereg_mr(w->regions[i]))
			w->failed = "the last deregistration";
	if (w->area_mr && ibv_dereg_mr(w->area_mr))
		w->failed = "the last deregistration";
	return NULL;
}

static void on_alarm(int sig)
{
	(void)sig;
	kill(getpid(), SIGKILL);
}

static void kill_after(long ms)
{
	struct itimerval when = { { 0, 0 }, { ms / 1000, ms % 1000 * 1000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &when, NULL);
}

static void worker_start(struct worker *w, uint32_t index, uint64_t seed)
{
	*w = (struct worker){ .index = index, .seed = seed + index };
	w->model = calloc(1, HEAP);
	w->area_model = calloc(1, AREA);
	w->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!w->model || !w->area_model || w->area == MAP_FAILED ||
	    pthread_create(&w->thread, NULL, worker_main, w))
		die("a thread");
}

int main(int argc, char **argv)
{
	struct worker w[MAX_THREADS];
	uint64_t seed;

	n_threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 4;
	n_steps = argc > 3 ? atol(argv[3]) : 300;
	seed = argc > 4 ? strtoull(argv[4], NULL, 0) : now_ns();
	if (!n_threads || n_threads > MAX_THREADS)
		die("1 to %d threads", MAX_THREADS);
	note("seed %llu", (unsigned long long)seed);
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	if (argc > 5)
		kill_after(atol(argv[5]));
	heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (uint32_t i = 0; i < n_threads; i++)
		worker_start(&w[i], i, seed);
	for (uint32_t i = 0; i < n_threads; i++) {
		pthread_join(w[i].thread, NULL);
		ok(!w[i].failed, "thread %u of %u: %ld steps%s%s: %s", i, n_threads, w[i].steps,
		   w[i].failed ? "; the last: " : "", w[i].failed ? w[i].failed : "",
		   strerror(w[i].failed ? errno : 0));
		ok(is_own_right(&w[i]), "and when nothing of its own is registered any more");
	}
	/* Most memory is lent. A short run may register little or nothing. */
	ok(n_lent || n_registered < FEW || getenv("TORTURE_KEPT"),
	   "memory was lent in %ld of %ld cases", n_lent, n_registered);
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
