/* SPDX-License-Identifier: MIT */
/*
 * Kill -9 of clients at random moments, over and over, with other traffic going on.
 *	app_qp_torture KILLS [SEED]
 *
 * Pairs of workers send each other all kinds of requests, register and deregister, create and
 * destroy. One of a pair is killed at a random moment; the other must notice within its timeouts
 * and leaves; both are started again. Meanwhile a pair of witnesses exchanges verified data and
 * must never see an error.
 */
#include "tests/lib/c/rc_load.h"
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS	 3 /* the first one: witnesses */
#define DEPTH	 8
#define AREA	 (1u << 18)
#define SPACE	 ((2 + DEPTH) * AREA) /* what is sent, what the peer writes, receives */
#define HANG_NS	 30000000000ULL
#define EXIT_BAD 3

/* Shared by the two processes of a pair. */
struct side {
	_Atomic(int) ready; /* generation whose address is here */
	struct rc_addr addr;
	uint64_t base;
	uint32_t rkey;
	_Atomic(uint64_t) ops;
};

struct pair {
	struct side side[2];
	pid_t pid[2];
	int gen;
};

struct shared {
	struct pair pair[PAIRS];
	_Atomic(bool) stop;
};

static struct shared *sh;

struct worker {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct side *mine, *theirs;
	uint64_t seed;
	int sends, recvs;
	unsigned int posted;
	bool witness;
};

static void bad(const char *what, int x)
{
	note("%s (%d, errno %d)", what, x, errno);
	_exit(EXIT_BAD);
}

static void post_recv(struct worker *w)
{
	uint8_t *buf = w->mem + AREA * (2 + w->posted++ % DEPTH);
	struct ibv_sge sge = { (uintptr_t)buf, AREA, w->mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { .wr_id = (uintptr_t)buf, .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(w->qp, &wr, &bad_wr))
		bad("ibv_post_recv", 0);
	w->recvs++;
}

static void connect_pair(struct worker *w, int gen)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_qp_init_attr init = { .cap = { DEPTH, DEPTH, 1, 1, 64 }, .qp_type = IBV_QPT_RC };
	struct rc_opts o = rc_defaults;
	union ibv_gid gid;
	int gid_index = rc_gid(ctx, &gid), ret;

	w->mem = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->pd = ibv_alloc_pd(ctx);
	w->cq = ibv_create_cq(ctx, 4 * DEPTH, NULL, NULL, 0);
	o.access |= VB_ACCESS_GLOBAL;
	w->mr = w->pd ? ibv_reg_mr(w->pd, w->mem, SPACE, o.access) : NULL;
	if (gid_index < 0 || !w->cq || !w->mr)
		bad("set-up", gid_index);
	init.send_cq = init.recv_cq = w->cq;
	w->qp = rc_qp_new_ops(w->pd, &init);
	if (!w->qp)
		bad("ibv_create_qp", 0);
	w->mine->addr = (struct rc_addr){ w->qp->qp_num, (uint32_t)rnd(&w->seed), gid };
	w->mine->base = (uintptr_t)w->mem;
	w->mine->rkey = w->mr->rkey;
	w->mine->ready = gen;
	while (w->theirs->ready != gen)
		sched_yield();
	/* Witnesses must live through other programs' deaths without noticing. */
	o.timeout = w->witness ? 17 : 8;
	o.retry_cnt = w->witness ? 7 : 2;
	o.min_rnr = 1;
	ret = rc_up(w->qp, &o, &w->theirs->addr, gid_index, w->mine->addr.psn);
	if (ret)
		bad("ibv_modify_qp", ret);
	while (w->recvs < DEPTH)
		post_recv(w);
}

static void post_send(struct worker *w)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND,
						  IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD,
						  IBV_WR_RDMA_WRITE_WITH_IMM,
						  IBV_WR_ATOMIC_WRITE,
						  VB_WR_FLUSH };
	enum ibv_wr_opcode op = ops[rnd(&w->seed) % (w->witness ? 1 : 7)];
	uint32_t len = 1 + (uint32_t)(rnd(&w->seed) % (rnd(&w->seed) % 4 ? 500 : AREA - 64));
	struct ibv_sge sge = { (uintptr_t)w->mem, len, w->mr->lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = w->theirs->base + AREA;
		wr.wr.atomic.rkey = w->theirs->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = w->theirs->base + AREA;
		wr.wr.rdma.rkey = w->theirs->rkey;
		sge.length = op == IBV_WR_ATOMIC_WRITE ? 8 : len;
	}
	if (w->witness)
		fill(w->mem, len, len);
	if (op == VB_WR_FLUSH ? rc_flush(w->qp, 0, w->theirs->rkey, w->theirs->base + AREA, len)
			      : ibv_post_send(w->qp, &wr, &bad_wr))
		bad("ibv_post_send", 0);
	w->sends++;
}

/* Objects that come and go, so that the kill hits commands as well. */
static void churn(struct worker *w)
{
	struct ibv_qp_init_attr init = {
		.send_cq = w->cq, .recv_cq = w->cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 }
	};
	struct ibv_mr *mr = ibv_reg_mr(w->pd, w->mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &init);

	if (!mr || !qp || ibv_dereg_mr(mr) || ibv_destroy_qp(qp))
		bad("objects that come and go", 0);
}

static int work(struct worker *w)
{
	uint64_t last = now_ns();
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(w->cq, 1, &wc);

		if (n < 0)
			bad("ibv_poll_cq", n);
		if (n == 0) {
			if (sh->stop)
				return 0;
			if (now_ns() - last > HANG_NS)
				bad("nothing happens any more", w->sends);
			if (w->sends < (w->witness ? 1 : DEPTH))
				post_send(w);
			else
				sched_yield();
			continue;
		}
		last = now_ns();
		if (wc.status) {
			if (w->witness && !sh->stop)
				bad(ibv_wc_status_str(wc.status), wc.opcode);
			return 0;
		}
		w->mine->ops++;
		if (!(wc.opcode & IBV_WC_RECV)) {
			w->sends--;
		} else {
			if (w->witness &&
			    !filled((void *)(uintptr_t)wc.wr_id, wc.byte_len, wc.byte_len))
				bad("wrong data", (int)wc.byte_len);
			w->recvs--;
			post_recv(w);
		}
		if (!w->witness && !(rnd(&w->seed) % 64))
			churn(w);
	}
}

static void start(int p, int s, uint64_t seed)
{
	struct pair *pair = &sh->pair[p];
	struct worker w = { .mine = &pair->side[s],
			    .theirs = &pair->side[!s],
			    .seed = seed | 1,
			    .witness = p == 0 };
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid) {
		pair->pid[s] = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (s)
		peer_enter();
	connect_pair(&w, pair->gen);
	_exit(work(&w));
}

static void start_pair(int p, uint64_t *seed)
{
	sh->pair[p].gen++;
	start(p, 0, rnd(seed));
	start(p, 1, rnd(seed));
}

/* Wait for one process; false when it did not end in time or not well. */
static bool gone(pid_t pid, const char *who)
{
	uint64_t end = now_ns() + HANG_NS;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ns() > end) {
			note("%s %d hangs", who, (int)pid);
			return false;
		}
		usleep(100);
	}
	if (!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		return true;
	note("%s: status %#x", who, (unsigned int)status);
	return false;
}

static bool witnesses_fine(void)
{
	int status;

	for (int s = 0; s < 2; s++)
		if (waitpid(sh->pair[0].pid[s], &status, WNOHANG) != 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	long kills = argc > 1 ? atol(argv[1]) : 100, done = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : now_ns() | 1, first = seed;
	bool good = true;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int p = 0; p < PAIRS; p++)
		start_pair(p, &seed);
	while (done < kills && good) {
		int p = 1 + (int)(rnd(&seed) % (PAIRS - 1));
		struct pair *pair = &sh->pair[p];
		int s = (int)(rnd(&seed) % 2);

		usleep((unsigned int)(rnd(&seed) % (rnd(&seed) % 2 ? 1000 : 12000)));
		/* A process that has not met its partner yet would wait for it indefinitely. */
		if (pair->side[0].ready != pair->gen || pair->side[1].ready != pair->gen) {
			kill(pair->pid[0], SIGKILL);
			kill(pair->pid[1], SIGKILL);
			done++;
		}
		kill(pair->pid[s], SIGKILL);
		done++;
		good = gone(pair->pid[s], "victim") && gone(pair->pid[!s], "survivor");
		good = witnesses_fine() && good;
		start_pair(p, &seed);
	}
	ok(good, "%ld kills, every survivor noticed (seed %#lx)", done, (unsigned long)first);
	sh->stop = true;
	for (int p = 1; p < PAIRS; p++)
		for (int s = 0; s < 2; s++) {
			kill(sh->pair[p].pid[s], SIGKILL);
			waitpid(sh->pair[p].pid[s], NULL, 0);
		}
	ok(gone(sh->pair[0].pid[0], "witness") && gone(sh->pair[0].pid[1], "witness"),
	   "the witnesses noticed nothing, in %lu messages",
	   (unsigned long)(sh->pair[0].side[0].ops + sh->pair[0].side[1].ops));
	return tap_failed != 0;
}
