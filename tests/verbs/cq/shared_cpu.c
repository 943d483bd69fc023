/* SPDX-License-Identifier: MIT */
/*
 * Two programs that poll take turns on one CPU: a poller sleeps while its peer needs the CPU to
 * answer, and does not poll through its time slice.
 *	app_cq_shared_cpu ROUNDS
 */
#include "tests/lib/c/rc_load.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH	 4
#define PATIENCE 60000000000ull

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint64_t buf[2];

/* A QP that is connected with that of the process at the other end of @fd. */
static void connect_qp(int fd)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct rc_addr mine = { .psn = 7 }, theirs;
	struct rc_opts o = rc_defaults;
	struct ibv_qp_init_attr init = { .cap = { DEPTH, DEPTH, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	int index = rc_gid(ctx, &mine.gid);

	init.send_cq = init.recv_cq = cq = ibv_create_cq(ctx, 4 * DEPTH, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	qp = cq && mr && index >= 0 ? ibv_create_qp(pd, &init) : NULL;
	if (!qp)
		die("verbs objects: %s", strerror(errno));
	mine.qpn = qp->qp_num;
	if (!rc_swap(fd, &mine, &theirs, sizeof(mine)) || rc_up(qp, &o, &theirs, index, 7))
		die("QPs do not connect");
}

static void post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)&buf[0], 8, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(qp, &wr, &bad))
		die("ibv_post_recv");
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)&buf[1], 8, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send");
}

/* The peer's next message. It polls as perftest does: nothing but the shim gives up the CPU. */
static void await_message(void)
{
	uint64_t end = now_ns() + PATIENCE;
	struct ibv_wc wc;
	int n;

	do {
		while (!(n = ibv_poll_cq(cq, 1, &wc)))
			if (now_ns() > end)
				die("no message");
		if (n < 0 || wc.status != IBV_WC_SUCCESS)
			die("a completion: %d", n < 0 ? n : (int)wc.status);
	} while (wc.opcode != IBV_WC_RECV);
}

static void take_turns(int fd, bool first, int rounds)
{
	char here = 'h', there;
	int i;

	post_recv();
	if (!rc_swap(fd, &here, &there, 1))
		die("the peer is gone");
	for (i = 0; i < rounds; i++) {
		if (first)
			post_send();
		await_message();
		post_recv();
		if (!first)
			post_send();
	}
	/* Neither leaves before its last message has arrived. */
	if (!rc_swap(fd, &here, &there, 1))
		die("the peer is gone");
}

/* How often this process has given up its CPU by sleeping. */
static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

static void share_cpu(void)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	for (cpu = 0; cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set); cpu++)
		;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

int main(int argc, char **argv)
{
	int fd[2], status, rounds = argc > 1 ? atoi(argv[1]) : 0;
	pid_t child;
	long n;

	if (rounds <= 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("usage: app_cq_shared_cpu ROUNDS");
	share_cpu();
	child = fork();
	if (!child) {
		connect_qp(fd[1]);
		take_turns(fd[1], false, rounds);
		_exit(0);
	}
	connect_qp(fd[0]);
	n = sleeps();
	take_turns(fd[0], true, rounds);
	n = sleeps() - n;
	ok(waitpid(child, &status, 0) == child && !status, "the peer has answered");
	note("slept %ld times in %d rounds", n, rounds);
	/* A round takes a time slice now and then: to see whether the CPU is still shared. */
	ok(n > rounds / 10, "a poller sleeps while its peer needs the CPU");
	return tap_failed != 0;
}
