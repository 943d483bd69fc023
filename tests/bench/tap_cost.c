/* SPDX-License-Identifier: MIT */
/**
 * DOC: what a poll that finds nothing and a post of a receive cost, one thread, no peer.
 *	tap_cost [TIMES]
 *
 * Prints the shortest time of TIMES runs of each loop (default: 1), "poll NS" and "post NS" for one
 * call. Callgrind counts the loops by their names, poll_loop and post_loop.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 1000

static struct ibv_cq *cq;
static struct ibv_qp *qp;

/* Return: how many calls have done what they should not. */
__attribute__((noinline)) static int poll_loop(void)
{
	struct ibv_wc wc;
	int i, bad = 0;

	for (i = 0; i < CALLS; i++)
		bad += ibv_poll_cq(cq, 1, &wc) != 0;
	return bad;
}

__attribute__((noinline)) static int post_loop(void)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *at;
	int i, bad = 0;

	for (i = 0; i < CALLS; i++)
		bad += ibv_post_recv(qp, &wr, &at) != 0;
	return bad;
}

/* An empty receive queue. */
static int qp_reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET, .port_num = 1 };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return -1;
	attr.qp_state = IBV_QPS_INIT;
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int measure(const char *name, int (*loop)(void), int times)
{
	uint64_t best = UINT64_MAX, begin, ns;

	for (; times > 0; times--) {
		if (qp_reset())
			return -1;
		begin = now_ns();
		if (loop())
			return -1;
		ns = now_ns() - begin;
		best = ns < best ? ns : best;
	}
	printf("%s %.2f\n", name, (double)best / CALLS);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, CALLS, 1, 1, 0 } };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	int times = argc > 1 ? atoi(argv[1]) : 1;

	cq = pd ? ibv_create_cq(ctx, CALLS, NULL, NULL, 0) : NULL;
	init.send_cq = init.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || measure("poll", poll_loop, times) || measure("post", post_loop, times)) {
		perror("tap_cost");
		return 1;
	}
	return 0;
}
