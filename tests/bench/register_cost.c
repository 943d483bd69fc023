/* SPDX-License-Identifier: MIT */
/**
 * DOC: microseconds that a loop of ibv_reg_mr() and ibv_dereg_mr() of the same memory takes a time.
 *	register_cost BYTES
 *
 * It prints the best of many short runs: other load makes them only longer.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE  4096
#define RUNS  200
#define TIMES 50

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

static void register_once(struct ibv_pd *pd, void *at, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, len, IBV_ACCESS_LOCAL_WRITE);

	must(!mr, "ibv_reg_mr");
	must(ibv_dereg_mr(mr), "ibv_dereg_mr");
}

int main(int argc, char **argv)
{
	size_t len = argc > 1 ? strtoull(argv[1], NULL, 0) / PAGE * PAGE : 0;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	void *at = len ? aligned_alloc(PAGE, len) : NULL;
	double best = 0, us;

	must(!pd || !at, "a protection domain and memory");
	memset(at, 1, len);
	for (int run = 0; run < RUNS; run++) {
		us = now_us();
		for (int i = 0; i < TIMES; i++)
			register_once(pd, at, len);
		us = (now_us() - us) / TIMES;
		best = run && best < us ? best : us;
	}
	printf("%.3f\n", best);
	return 0;
}
