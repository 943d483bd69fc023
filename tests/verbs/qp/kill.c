/* SPDX-License-Identifier: MIT */
/*
 * The peer dies, is stopped, or computes without calling verbs.
 *	app_qp_kill peer		kill -9 of the peer in the middle of traffic
 *	app_qp_kill stopped	the peer is stopped by SIGSTOP
 *	app_qp_kill fabric PID	kill -9 of the fabric process
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT 20000

static struct end *a, *b, *c;

static bool write_ok(struct end *to, uint32_t len)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, len, to, to->buf);
	struct ibv_wc wc;

	return !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) && wc.status == IBV_WC_SUCCESS;
}

/* Kill @b after a while, whatever it does then. */
static void *killer(void *arg)
{
	usleep(20000 + (unsigned int)(uintptr_t)arg);
	kill(b->pid, SIGKILL);
	return NULL;
}

static void kill_once(int round, enum ibv_wr_opcode op)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr = wr_make(op, 1, a, a->buf, round & 1 ? 200000 : 64, b, b->buf);
	struct rc_wr recv = wr_make(op, 2, b, b->buf, 200000, NULL, NULL);
	double took, least, most;
	enum ibv_wc_status last = IBV_WC_SUCCESS;
	pthread_t thread;
	uint64_t start = 0;
	struct ibv_wc wc;
	long n = 0;

	/* 4 x 4.096 us x 2^13 = 134 ms; the man page allows up to four times as much. */
	o.timeout = 13;
	o.retry_cnt = 3;
	o.recv_wr = 1024;
	o.rnr_retry = 7;
	pair_up(a, b, &o, &o);
	for (int i = 0; op == IBV_WR_SEND && i < 1000; i++)
		end_recv(b, &recv);
	pthread_create(&thread, NULL, killer, (void *)(uintptr_t)((round * 7919) % 9999));
	for (; last == IBV_WC_SUCCESS; n++) {
		start = now_ns();
		if (end_send(a, &wr) || !end_poll(a, 0, WAIT, &wc))
			break;
		last = wc.status;
		if (op == IBV_WR_SEND && n > 900) {
			usleep(40000);
			n = 0;
		}
	}
	took = (double)(now_ns() - start) / 1e6;
	pthread_join(thread, NULL);
	waitpid(b->pid, NULL, 0);
	least = 4 * 4.096e-3 * (1 << 13) * 0.9;
	most = least * 5 + WAIT;
	if (took < least || took > most || last != IBV_WC_RETRY_EXC_ERR)
		note("%s after %.1f ms", ibv_wc_status_str(last), took);
	ok(last == IBV_WC_RETRY_EXC_ERR && took < most,
	   "peer killed while %s of %u bytes go on: RETRY_EXC_ERR",
	   op == IBV_WR_SEND	    ? "SENDs"
	   : op == IBV_WR_RDMA_READ ? "READs"
				    : "WRITEs",
	   wr.sge[0].length);
	ok(end_state(a) == IBV_QPS_ERR, "and the QP is in ERR");
}

static void test_peer(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_SEND };
	struct end *victims[6];

	for (int i = 0; i < 6; i++)
		victims[i] = end_fork(false);
	c = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(c);
	for (int i = 0; i < 6; i++)
		end_open(victims[i]);
	for (int i = 0; i < 6; i++) {
		b = victims[i];
		kill_once(i, ops[i % 3]);
		pair_up(a, c, &rc_defaults, &rc_defaults);
		ok(write_ok(c, 100000), "others go on as before");
	}
	end_close(c);
}

static void test_stopped(void)
{
	struct rc_wr recv, wr;
	uint64_t *word;
	struct ibv_wc wc;
	bool good;

	b = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	recv = wr_make(IBV_WR_SEND, 9, b, b->buf + 65536, 4096, NULL, NULL);
	end_recv(b, &recv);
	word = (uint64_t *)(void *)(b->buf + (1 << 20));
	*word = 5;
	kill(b->pid, SIGSTOP);
	waitpid(b->pid, NULL, WUNTRACED);

	fill(a->buf, 50000, 1);
	ok(write_ok(b, 50000) && filled(b->buf, 50000, 1), "WRITE to a stopped program");
	wr = wr_make(IBV_WR_RDMA_READ, 2, a, a->buf + 65536, 50000, b, b->buf);
	ok(!end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) && !wc.status &&
		   filled(a->buf + 65536, 50000, 1),
	   "READ from it");
	wr = wr_make(IBV_WR_ATOMIC_FETCH_AND_ADD, 3, a, a->buf + 200000, 8, b, word);
	wr.compare_add = 7;
	ok(!end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) && !wc.status && *word == 12,
	   "an atomic at it");
	wr = wr_make(IBV_WR_SEND, 4, a, a->buf, 3000, NULL, NULL);
	ok(!end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) && !wc.status, "SEND to it");
	kill(b->pid, SIGCONT);
	good = end_poll(b, 1, WAIT, &wc) && !wc.status && wc.wr_id == 9;
	ok(good && filled(b->buf + 65536, 3000, 1), "which it has when it goes on");
	end_close(b);
}

static void *wait_comp(void *arg)
{
	*(int *)arg = end_comp(a, WAIT);
	return NULL;
}

static void test_fabric(pid_t fabric)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr recv, wr;
	struct ibv_wc wc;
	pthread_t thread;
	uint64_t start;
	int comp = -9;
	bool good = true;

	b = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(b);
	o.chan = true;
	pair_up(a, b, &o, &o);
	recv = wr_make(IBV_WR_SEND, 0, a, a->buf, 4096, NULL, NULL);
	for (recv.wr_id = 10; recv.wr_id < 13; recv.wr_id++)
		end_recv(a, &recv);
	/* B has posted no receives: these wait. */
	wr = wr_make(IBV_WR_SEND, 0, a, a->buf, 64, NULL, NULL);
	for (wr.wr_id = 20; wr.wr_id < 23; wr.wr_id++)
		end_send(a, &wr);
	end_arm(a, 1, false);
	pthread_create(&thread, NULL, wait_comp, &comp);
	usleep(20000);
	start = now_ns();
	if (kill(fabric, SIGKILL))
		die("kill: %s", strerror(errno));
	ok(end_event(a, 10000, NULL) == IBV_EVENT_DEVICE_FATAL, "DEVICE_FATAL here");
	ok(end_event(b, 10000, NULL) == IBV_EVENT_DEVICE_FATAL, "and at the peer");
	for (uint64_t i = 20; i < 23; i++)
		good = good && end_poll(a, 0, 5000, &wc) && wc.wr_id == i &&
		       wc.status == IBV_WC_WR_FLUSH_ERR;
	ok(good, "sends are flushed in order");
	good = true;
	for (uint64_t i = 10; i < 13; i++)
		good = good && end_poll(a, 1, 5000, &wc) && wc.wr_id == i &&
		       wc.status == IBV_WC_WR_FLUSH_ERR;
	ok(good, "receives are flushed in order");
	pthread_join(thread, NULL);
	ok(comp >= 0, "who waits on a completion channel is woken");
	note("all that %.0f ms after the kill", (double)(now_ns() - start) / 1e6);

	/* Nothing hangs: posts fail or flush, destroying works. */
	wr.wr_id = 30;
	good = end_send(a, &wr) || (end_poll(a, 0, 5000, &wc) && wc.status == IBV_WC_WR_FLUSH_ERR);
	ok(good, "a later post fails or is flushed");
	ok(end_reg(a, 1, a->buf, 4096, IBV_ACCESS_LOCAL_WRITE, false, NULL, NULL) != 0,
	   "a later ibv_reg_mr fails");
	ok(!end_destroy(a), "destroying QP and CQs works");
	ok(!ibv_dereg_mr(a->side->mr[0]) && !ibv_dealloc_pd(a->side->pd) &&
		   !ibv_dealloc_pd(a->side->pd2) && !ibv_destroy_comp_channel(a->side->chan) &&
		   !ibv_close_device(a->side->ctx),
	   "and so does everything else");
	end_close(b);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "peer"))
		test_peer();
	else if (!strcmp(what, "stopped"))
		test_stopped();
	else if (!strcmp(what, "fabric") && argc > 2)
		test_fabric(atoi(argv[2]));
	else
		die("app_qp_kill peer|stopped|fabric PID");
	return tap_failed != 0;
}
