/* SPDX-License-Identifier: MIT */
/*
 * What happens to a program while it extends its segment: app_device_growth kill|fork|peer.
 *	kill	Children extend theirs and are killed at any moment.
 *	fork	A thread extends the segment while another forks; child and parent go on.
 * A connection between this process and another works all the time.
 */
#include "tests/lib/c/rc.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 12
#define LARGE  8192 /* requests of a queue */
#define QPS    40 /* so large that the segment doubles several times */
#define WAIT   20000

static struct end *a, *b;
static volatile bool enough;

static struct ibv_qp *qp_large(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = LARGE,
			 .max_recv_wr = LARGE,
			 .max_send_sge = 4,
			 .max_recv_sge = 4 },
	};

	return ibv_create_qp(pd, &init);
}

/* Create @QPS large QPs on a device of its own, and destroy them. Return: how many there were. */
static int grow_once(void)
{
	static __thread struct ibv_qp *qp[QPS];
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	int i, n = 0;

	for (i = 0; pd && cq && i < QPS; i++) {
		qp[i] = qp_large(pd, cq);
		n += !!qp[i];
	}
	for (i = 0; i < QPS; i++)
		if (qp[i])
			ibv_destroy_qp(qp[i]);
	if (!cq || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		return -1;
	return n;
}

static bool connection_works(uint64_t seed)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 100000, b, b->buf);
	struct ibv_wc wc;

	fill(a->buf, 100000, seed);
	return !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) && wc.status == IBV_WC_SUCCESS &&
	       arrives(b->buf, 100000, seed);
}

/* A child that has told @ready extends its segment again and again. */
static void child_grow(int ready)
{
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		if (grow_once() != QPS)
			_exit(1);
}

static void test_kill(void)
{
	bool works = true, killed = true;
	int i, ready[2], status;
	char c;
	pid_t pid;

	for (i = 0; i < ROUNDS; i++) {
		if (pipe(ready))
			die("a pipe");
		pid = fork();
		if (!pid)
			child_grow(ready[1]);
		close(ready[1]);
		if (pid < 0 || read(ready[0], &c, 1) != 1)
			die("a child");
		close(ready[0]);
		/* Any moment is as good as another. */
		usleep((unsigned int)(i * 7919 % 30000));
		works = works && connection_works(2 * (uint64_t)i + 1);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid");
		killed = killed && WIFSIGNALED(status);
		works = works && connection_works(2 * (uint64_t)i + 2);
	}
	ok(killed, "%d programs are killed while their segments grow", ROUNDS);
	ok(works, "a connection of others works before and after");
}

static void *grower(void *arg)
{
	long n = 0;

	while (!enough && n >= 0)
		n = grow_once() == QPS ? n + 1 : -1;
	*(long *)arg = n;
	return NULL;
}

static void test_fork(void)
{
	bool works = true, children = true;
	pthread_t thread;
	long grown = 0;
	int i, status;
	pid_t pid;

	pthread_create(&thread, NULL, grower, &grown);
	for (i = 0; i < ROUNDS; i++) {
		usleep((unsigned int)(i * 7919 % 20000));
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid)
			_exit(i & 1 ? grow_once() != QPS : 0);
		works = works && connection_works((uint64_t)i + 1);
		children = children && waitpid(pid, &status, 0) == pid && !status;
	}
	enough = true;
	pthread_join(thread, NULL);
	ok(grown >= 0, "the segment grows while its program forks");
	ok(children, "%d children end, every other one with a grown segment of its own", ROUNDS);
	ok(works, "the parent's connection works all the time");
	ok(grow_once() == QPS, "the parent's segment can be used as before");
}

int main(int argc, char **argv)
{
	b = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		test_kill();
	else
		test_fork();
	end_close(a);
	end_close(b);
	return tap_failed != 0;
}
