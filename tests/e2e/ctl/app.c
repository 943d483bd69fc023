/* SPDX-License-Identifier: MIT */
/*
 * A program under test that is its own tester: rdmaemu.h from inside, beside verbs. Started by
 * tests/e2e/ctl/ctl.t under `rdmaemu run`; built with what `make install` has installed.
 *	ctl_app [manual]	manual: the fabric's clock is moved by hand
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <pthread.h>
#include <rdmaemu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT 20000

static struct rdmaemu *ctl;
static struct end *a, *b;

static int add(const char *rule)
{
	int id = rdmaemu_fault_add(ctl, rule);

	if (id < 0)
		note("%s: %s", rule, rdmaemu_error(ctl));
	return id;
}

static struct ibv_mr *reg(void)
{
	errno = 0;
	return ibv_reg_mr(a->side->pd, a->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
}

static void test_call(void)
{
	int id = add("fail call=ibv_reg_mr errno=ENOMEM for=2");
	struct ibv_mr *mr;

	ok(id > 0 && !rdmaemu_fault_hits(ctl, id) && !reg() && errno == ENOMEM &&
		   rdmaemu_fault_hits(ctl, id) == 1 && !reg() && errno == ENOMEM &&
		   !rdmaemu_fault_wait(ctl, id, 2, 0),
	   "a call fails, and its rule counts it");
	mr = reg();
	ok(mr && !ibv_dereg_mr(mr), "as often as it was to");
	ok(!rdmaemu_fault_remove(ctl, id) && rdmaemu_fault_hits(ctl, id) == -1 && errno == ENOENT,
	   "a rule that was removed is no more");
}

static void test_completion(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr[3];
	struct ibv_wc wc;
	struct rdmaemu_mark mark;
	struct rdmaemu_entry e = { .pid = 0 };
	bool good;
	int id;

	pair_up(a, b, &o, &o);
	ok(!rdmaemu_journal_end(ctl, &mark) && !rdmaemu_journal_next(ctl, &mark, &e),
	   "nothing has happened yet");
	id = add("wc status=IBV_WC_REM_OP_ERR opcode=RDMA_WRITE nth=2");
	for (int i = 0; i < 3; i++)
		wr[i] = wr_make(IBV_WR_RDMA_WRITE, (uint64_t)i, a, a->buf, 8, b, b->buf);
	good = id > 0 && !end_sends(a, wr, 3, NULL);
	good = good && end_poll(a, 0, WAIT, &wc) && wc.wr_id == 0 && wc.status == IBV_WC_SUCCESS;
	good = good && end_poll(a, 0, WAIT, &wc) && wc.wr_id == 1 && wc.status == IBV_WC_REM_OP_ERR;
	good = good && end_poll(a, 0, WAIT, &wc) && wc.wr_id == 2 &&
	       wc.status == IBV_WC_WR_FLUSH_ERR;
	ok(good && rdmaemu_fault_hits(ctl, id) == 1 && end_state(a) == IBV_QPS_ERR,
	   "the second of three work requests ends in error, the third is flushed");
	while (rdmaemu_journal_next(ctl, &mark, &e) > 0 && strcmp(e.kind, "completion") != 0)
		;
	ok(e.is_error && !strcmp(e.what, "IBV_WC_REM_OP_ERR") && e.has_wr_id && e.wr_id == 1 &&
		   e.pid == getpid() && e.rule == (uint32_t)id && strstr(e.text, e.what),
	   "the journal has it, with the rule");
	rdmaemu_fault_clear(ctl);
}

static void *waiter(void *arg)
{
	struct rdmaemu *own = rdmaemu_open();
	int id = own ? rdmaemu_fault_find(own, "awaited") : -1;

	*(bool *)arg = id > 0 && !rdmaemu_fault_wait(own, id, 3, WAIT);
	rdmaemu_close(own);
	return NULL;
}

static void test_wait(void)
{
	bool came = false;
	pthread_t t;
	int id = add("awaited: fail call=ibv_reg_mr errno=ENOMEM");

	ok(rdmaemu_fault_wait(ctl, id, 1, 50) == -1 && errno == ETIMEDOUT &&
		   strstr(rdmaemu_error(ctl), "0 hits of 1"),
	   "what does not come is not waited for longer than was said");
	pthread_create(&t, NULL, waiter, &came);
	for (int i = 0; i < 3; i++) {
		usleep(20000);
		ok(!reg() && errno == ENOMEM, "hit %d", i + 1);
	}
	pthread_join(t, NULL);
	ok(came, "another thread has waited until it hit three times");
	rdmaemu_fault_clear(ctl);
}

static uint64_t counter(const char *name)
{
	uint64_t value = 0;

	if (rdmaemu_counter(ctl, NULL, NULL, 1, name, &value))
		note("%s: %s", name, rdmaemu_error(ctl));
	return value;
}

static void test_counters(void)
{
	uint64_t packets, sends, value;
	struct rc_opts o = rc_defaults;
	struct rc_wr wr, recv;
	struct ibv_wc wc;

	pair_up(a, b, &o, &o);
	packets = counter("xmit_packets");
	sends = counter("rdma_sends");
	wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 100, NULL, NULL);
	recv = wr_make(IBV_WR_SEND, 2, b, b->buf, 100, NULL, NULL);
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) &&
		   end_poll(b, 1, WAIT, &wc) && counter("rdma_sends") == sends + 1 &&
		   counter("xmit_packets") == packets + 2,
	   "a SEND counts: one packet, and its ACK");
	ok(rdmaemu_counter(ctl, NULL, NULL, 1, "flowers", &value) == -1 && errno == ENOENT &&
		   rdmaemu_counter(ctl, NULL, NULL, 9, "timeouts", &value) == -1 &&
		   errno == ENODEV &&
		   rdmaemu_counter(ctl, NULL, "nobody", 1, "timeouts", &value) == -1 &&
		   errno == ENODEV &&
		   rdmaemu_counter(ctl, "nowhere", NULL, 1, "timeouts", &value) == -1 &&
		   errno == ENODEV,
	   "no such counter, port, device, node");
}

/* The parent does not receive the answers to its child's requests. */
static void test_fork(void)
{
	int id = add("mine: fail call=ibv_reg_mr errno=ENOMEM"), status = -1;
	bool good = true;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 100; i++)
			good = good && rdmaemu_fault_find(ctl, "mine") == id;
		_exit(!good);
	}
	for (int i = 0; i < 100; i++)
		good = good && rdmaemu_fault_hits(ctl, id) == 0;
	waitpid(pid, &status, 0);
	ok(good && !status, "a forked child goes on with the handle, and so does its parent");
	rdmaemu_fault_clear(ctl);
}

static void test_clock(void)
{
	struct rdmaemu_clock before, after;
	struct rc_opts o = rc_defaults;
	struct rc_wr wr;
	struct ibv_wc wc;
	bool good;

	o.timeout = 14;
	o.retry_cnt = 1;
	pair_up(a, b, &o, &o);
	end_to_state(b, IBV_QPS_RESET);
	wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 8, NULL, NULL);
	good = !rdmaemu_clock_get(ctl, &before) && !before.running && !end_send(a, &wr);
	good = good && !rdmaemu_clock_advance(ctl, 2 * (4096ULL << 14) - 1) &&
	       !end_poll(a, 0, 0, &wc);
	good = good && !rdmaemu_clock_advance(ctl, 1) && end_poll(a, 0, 0, &wc) &&
	       wc.status == IBV_WC_RETRY_EXC_ERR;
	good = good && !rdmaemu_clock_get(ctl, &after) &&
	       after.now_ns == before.now_ns + 2 * (4096ULL << 14);
	ok(good, "a timeout fires when the test moves the clock");
}

int main(int argc, char **argv)
{
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	ctl = rdmaemu_open();
	if (!ctl)
		die("rdmaemu_open: %s", strerror(errno));
	if (argc > 1 && !strcmp(argv[1], "manual"))
		test_clock();
	test_call();
	test_completion();
	test_wait();
	test_counters();
	test_fork();
	rdmaemu_close(ctl);
	return tap_failed != 0;
}
