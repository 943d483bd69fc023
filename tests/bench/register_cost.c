/* SPDX-License-Identifier: MIT */
/**
 * DOC: microseconds that ibv_reg_mr() and ibv_dereg_mr() take.
 *	register_cost BYTES
 *	register_cost BYTES touched|untouched [DEVICE]
 *
 * The first form registers and deregisters the same memory in a loop, and prints the best of many
 * short runs for a pair of calls: other load makes them only longer.
 *
 * The second one takes new memory each time, and prints medians: for either call, for advice by
 * which lent memory becomes private again, and for a copy of the memory to other new memory.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE  4096
#define RUNS  200
#define TIMES 50

#define MIN_ROUNDS 3
#define MAX_ROUNDS 1001
#define ROUNDS_US  2e6 /* no further round begins later */

enum { COST_REGISTER, COST_DEREGISTER, COST_RETURN, COST_COPY, COSTS };

static struct ibv_pd *pd;
static double rounds[COSTS][MAX_ROUNDS];

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void register_once(void *at, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, len, IBV_ACCESS_LOCAL_WRITE);

	must(!mr, "ibv_reg_mr");
	must(ibv_dereg_mr(mr), "ibv_dereg_mr");
}

/* Register the same memory again and again. */
static void measure_same(size_t len)
{
	void *at = aligned_alloc(PAGE, len);
	double best = 0, us;

	must(!at, "memory");
	memset(at, 1, len);
	for (int run = 0; run < RUNS; run++) {
		us = now_us();
		for (int i = 0; i < TIMES; i++)
			register_once(at, len);
		us = (now_us() - us) / TIMES;
		best = run && best < us ? best : us;
	}
	printf("%.3f\n", best);
	free(at);
}

static void *memory_new(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(at == MAP_FAILED, "memory");
	return at;
}

static void round_measure(size_t len, int touched, int round)
{
	void *at = memory_new(len), *copy = memory_new(len);
	struct ibv_mr *mr;
	double begin;

	if (touched)
		memset(at, 1, len);
	begin = now_us();
	mr = ibv_reg_mr(pd, at, len, IBV_ACCESS_LOCAL_WRITE);
	rounds[COST_REGISTER][round] = now_us() - begin;
	must(!mr, "ibv_reg_mr");
	begin = now_us();
	must(ibv_dereg_mr(mr), "ibv_dereg_mr");
	rounds[COST_DEREGISTER][round] = now_us() - begin;
	begin = now_us();
	must(madvise(at, len, MADV_DODUMP), "madvise");
	rounds[COST_RETURN][round] = now_us() - begin;
	begin = now_us();
	memcpy(copy, at, touched ? len : 0);
	rounds[COST_COPY][round] = now_us() - begin;
	munmap(copy, len);
	munmap(at, len);
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure_new(size_t len, int touched)
{
	double begin = now_us();
	int n = 0;

	while (n < MIN_ROUNDS || (n < MAX_ROUNDS && now_us() - begin < ROUNDS_US))
		round_measure(len, touched, n++);
	for (int i = 0; i < COSTS; i++) {
		qsort(rounds[i], n, sizeof(double), double_compare);
		printf("%.3f%c", rounds[i][n / 2], i == COSTS - 1 ? '\n' : ' ');
	}
}

/* @name: NULL: the first device */
static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i = 0;

	while (list && list[i] && name && strcmp(ibv_get_device_name(list[i]), name) != 0)
		i++;
	return list && list[i] ? ibv_open_device(list[i]) : NULL;
}

int main(int argc, char **argv)
{
	size_t len = argc > 1 ? strtoull(argv[1], NULL, 0) / PAGE * PAGE : 0;
	struct ibv_context *ctx = device_open(argc > 3 ? argv[3] : NULL);

	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	must(!pd || !len, "a protection domain, and a number of bytes");
	if (argc > 2)
		measure_new(len, strcmp(argv[2], "untouched") != 0);
	else
		measure_same(len);
	return 0;
}
