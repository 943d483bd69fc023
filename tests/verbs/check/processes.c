/* SPDX-License-Identifier: MIT */
/* Mistakes with threads and processes. */
#include "tests/lib/c/seed.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED_POLLS    200000u
#define SEED_MEETINGS 20u
#define SEED_PATIENCE 500u /* times as many polls until that */
#define SEED_ROUNDS   64

/*
 * Two threads poll a CQ that was created for one; those of the twin take turns. Each polls until
 * the other has finished, too: where there is one CPU for both, the first could else be through
 * before the second runs. There, they are in a poll at the same time only if one is preempted in
 * it, so both go on until that has happened some times.
 */
struct seed_pollers {
	struct ibv_cq *cq;
	bool take_turns;
	pthread_mutex_t turn;
	pthread_barrier_t start;
	atomic_uint polling;
	atomic_uint in[2]; /* the number of the poll that each is in; 0: none */
	atomic_uint meetings; /* polls that one was in when the other one began */
};

/** struct seed_poller - a thread of them. @met: the latest poll of the other one that it met */
struct seed_poller {
	struct seed_pollers *all;
	unsigned int index;
	unsigned int met;
};

static void seed_poll_once(struct seed_poller *me, unsigned int number)
{
	struct seed_pollers *p = me->all;
	unsigned int other;
	struct ibv_wc wc;

	if (p->take_turns)
		pthread_mutex_lock(&p->turn);
	atomic_store(&p->in[me->index], number);
	other = atomic_load(&p->in[!me->index]);
	if (other && other != me->met) {
		me->met = other;
		atomic_fetch_add(&p->meetings, 1);
	}
	ibv_poll_cq(p->cq, 1, &wc);
	atomic_store(&p->in[me->index], 0);
	if (p->take_turns)
		pthread_mutex_unlock(&p->turn);
}

static bool seed_polled_enough(struct seed_pollers *p, unsigned int n)
{
	if (p->take_turns || atomic_load(&p->meetings) >= SEED_MEETINGS)
		return n >= SEED_POLLS;
	return n >= SEED_PATIENCE * SEED_POLLS;
}

static void *seed_poll_much(void *arg)
{
	struct seed_poller *me = arg;
	struct seed_pollers *p = me->all;
	bool enough = false;
	unsigned int i;

	pthread_barrier_wait(&p->start);
	for (i = 1; !enough || atomic_load(&p->polling); i++) {
		seed_poll_once(me, i);
		if (!enough && seed_polled_enough(p, i)) {
			enough = true;
			atomic_fetch_sub(&p->polling, 1);
		}
	}
	return NULL;
}

static void seed_poll_by_two(struct seed *s, struct ibv_cq *cq)
{
	struct seed_pollers p = { .cq = cq, .take_turns = !s->wrong, .polling = 2 };
	struct seed_poller own = { .all = &p }, its = { .all = &p, .index = 1 };
	pthread_t other;

	pthread_mutex_init(&p.turn, NULL);
	pthread_barrier_init(&p.start, NULL, 2);
	seed_must(!pthread_create(&other, NULL, seed_poll_much, &its), "thread");
	seed_poll_much(&own);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&p.start);
}

static void seed_single_threaded(struct seed *s)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 32,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq;

	seed_open(s, 32);
	cq = ibv_create_cq_ex(s->ctx, &init);
	seed_must(cq, "ibv_create_cq_ex");
	seed_poll_by_two(s, ibv_cq_ex_to_cq(cq));
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	seed_close(s);
}

static void seed_thread_domain(struct seed *s)
{
	struct ibv_td_init_attr td_init = { 0 };
	struct ibv_parent_domain_init_attr domain_init = { 0 };
	struct ibv_cq_init_attr_ex init = { .cqe = 32, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_cq_ex *cq;

	seed_open(s, 32);
	domain_init.pd = s->pd;
	domain_init.td = ibv_alloc_td(s->ctx, &td_init);
	seed_must(domain_init.td, "ibv_alloc_td");
	init.parent_domain = ibv_alloc_parent_domain(s->ctx, &domain_init);
	seed_must(init.parent_domain, "ibv_alloc_parent_domain");
	cq = ibv_create_cq_ex(s->ctx, &init);
	seed_must(cq, "ibv_create_cq_ex");
	seed_poll_by_two(s, ibv_cq_ex_to_cq(cq));
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	ibv_dealloc_pd(init.parent_domain);
	ibv_dealloc_td(domain_init.td);
	seed_close(s);
}

/* A thread that polls while another one is between ibv_start_poll() and ibv_end_poll(). */
struct seed_contender {
	struct ibv_cq_ex *cq;
	sem_t go, done;
	pthread_t thread;
};

static void seed_poll_for(struct ibv_cq_ex *cq, sem_t *while_polling, unsigned int us)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (ibv_start_poll(cq, &attr))
		return;
	if (while_polling)
		sem_post(while_polling);
	usleep(us);
	ibv_end_poll(cq);
}

static void *seed_contend(void *arg)
{
	struct seed_contender *c = arg;
	int i;

	for (i = 0; i < SEED_ROUNDS; i++) {
		while (sem_wait(&c->go))
			;
		seed_poll_for(c->cq, NULL, 0);
		sem_post(&c->done);
	}
	return NULL;
}

/* Receives that are flushed: completions that are there at once. */
static struct ibv_qp *seed_fill(struct seed *s, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	int i;

	init.qp_type = IBV_QPT_RC;
	init.cap = (struct ibv_qp_cap){ 1, 2 * SEED_ROUNDS, 1, 1, 0 };
	qp = ibv_create_qp(s->pd, &init);
	seed_must(qp, "ibv_create_qp");
	seed_must(!ibv_modify_qp(qp, &attr, rc_to(IBV_QPS_INIT, &seed_opts, NULL, 0, 0, &attr)),
		  "INIT");
	for (i = 0; i < 2 * SEED_ROUNDS; i++)
		seed_must(!ibv_post_recv(qp, &wr, &bad), "post");
	attr.qp_state = IBV_QPS_ERR;
	seed_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ERR");
	return qp;
}

/* The twin's other thread polls when this one has ended. */
static void seed_contended(struct seed *s)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 2 * SEED_ROUNDS };
	struct seed_contender c;
	struct ibv_qp *qp;
	int i;

	seed_open(s, 32);
	c.cq = ibv_create_cq_ex(s->ctx, &init);
	seed_must(c.cq && !sem_init(&c.go, 0, 0) && !sem_init(&c.done, 0, 0), "ibv_create_cq_ex");
	qp = seed_fill(s, ibv_cq_ex_to_cq(c.cq));
	seed_must(!pthread_create(&c.thread, NULL, seed_contend, &c), "thread");
	for (i = 0; i < SEED_ROUNDS; i++) {
		seed_poll_for(c.cq, s->wrong ? &c.go : NULL, 1000);
		if (!s->wrong)
			sem_post(&c.go);
		while (sem_wait(&c.done))
			;
	}
	pthread_join(c.thread, NULL);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(c.cq));
	seed_close(s);
}

/* --- forks --- */

/* A child that ends with this function. */
static void seed_fork(struct seed *s, void (*run)(struct seed *s))
{
	int status = 0;
	pid_t child = fork();

	seed_must(child >= 0, "fork");
	if (!child) {
		run(s);
		_exit(0);
	}
	seed_must(waitpid(child, &status, 0) == child && !status, "child");
}

static void seed_do_nothing(struct seed *s)
{
	(void)s;
}

static void seed_fork_unsafe(struct seed *s)
{
	if (!s->wrong)
		seed_must(!ibv_fork_init(), "ibv_fork_init");
	seed_open(s, 32);
	seed_fork(s, seed_do_nothing);
	seed_close(s);
}

static void seed_break_connection(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(s->qp[0], &attr, IBV_QP_STATE);
}

static void seed_fork_child(struct seed *s)
{
	seed_open(s, 32);
	seed_fork(s, s->wrong ? seed_break_connection : seed_do_nothing);
	seed_close(s);
}

/* --- connections between processes --- */

/* Connects with a process; this one has other attributes than that if the seed is wrong. */
static void seed_connect_process(struct seed *s, const struct rc_opts *wrong)
{
	struct end *other = end_fork(false), *self = end_local();
	struct rc_opts right = rc_defaults;

	right.rd_atomic = right.dest_rd_atomic = 4;
	right.mtu = IBV_MTU_1024;
	end_open(other);
	end_open(self);
	pair_up(self, other, s->wrong ? wrong : &right, &right);
	end_close(other);
	end_close(self);
}

static void seed_process_reads(struct seed *s)
{
	struct rc_opts o = rc_defaults;

	o.rd_atomic = 5;
	o.dest_rd_atomic = 4;
	o.mtu = IBV_MTU_1024;
	seed_connect_process(s, &o);
}

static void seed_process_mtu(struct seed *s)
{
	struct rc_opts o = rc_defaults;

	o.rd_atomic = o.dest_rd_atomic = 4;
	o.mtu = IBV_MTU_512;
	seed_connect_process(s, &o);
}

static void seed_write_to(struct seed *s, struct ibv_qp *qp, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	seed_must(!ibv_post_send(qp, &wr, &bad), "post");
}

/*
 * Another process writes to memory of this one, which then writes to it as well: when it has got a
 * message that was sent after that, or too early. The other process polls nothing before the end.
 */
static void seed_process_race(struct seed *s)
{
	struct end *other = end_fork(false);
	struct ibv_recv_wr receive = { .wr_id = 5 }, *bad;
	struct rc_wr wr;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	end_open(other);
	seed_open(s, 32);
	qp = seed_connect_end(s, other);
	seed_must(!ibv_post_recv(qp, &receive, &bad), "post");
	wr = wr_make(IBV_WR_RDMA_WRITE, 6, other, other->buf, 64, other, s->buf + 1024);
	wr.rkey = s->mr->rkey;
	wr.flags = IBV_SEND_SIGNALED;
	seed_must(!end_send(other, &wr), "WRITE");
	if (!s->wrong) {
		wr = wr_make(IBV_WR_SEND, 7, other, NULL, 0, NULL, NULL);
		seed_must(!end_send(other, &wr), "SEND");
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "message");
	}
	seed_must(!seed_write_buf(s, 8, IBV_SEND_SIGNALED), "post");
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "WRITE");
	seed_must(end_poll(other, 0, SEED_WAIT, &wc), "completion");
	ibv_destroy_qp(qp);
	end_close(other);
	seed_close(s);
}

/* Writes to memory of another process, which has deregistered it before, or does afterwards. */
static void seed_process_stale(struct seed *s)
{
	struct end *other = end_fork(false);
	uint32_t lkey, rkey;
	struct ibv_qp *qp;
	uint64_t there;

	end_open(other);
	seed_open(s, 32);
	qp = seed_connect_end(s, other);
	there = (uintptr_t)other->buf + 8192;
	seed_must(!end_reg(other, 1, (void *)(uintptr_t)there, 4096, ALL, false, &lkey, &rkey),
		  "register");
	if (s->wrong)
		seed_must(!end_dereg(other, 1), "deregister");
	seed_write_to(s, qp, there, rkey);
	seed_must(seed_poll(s) == (s->wrong ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS), "WRITE");
	if (!s->wrong)
		seed_must(!end_dereg(other, 1), "deregister");
	ibv_destroy_qp(qp);
	end_close(other);
	seed_close(s);
}

static const struct seed_case seeds[] = {
	{ "process_stale", seed_process_stale }, { "single_threaded", seed_single_threaded },
	{ "thread_domain", seed_thread_domain }, { "contended", seed_contended },
	{ "process_reads", seed_process_reads }, { "process_mtu", seed_process_mtu },
	{ "process_race", seed_process_race },	 { "fork_unsafe", seed_fork_unsafe },
	{ "fork_child", seed_fork_child },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
