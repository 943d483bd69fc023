/* SPDX-License-Identifier: MIT */
/*
 * ACK timeouts, RNR waits, flushes, draining. See also tests/verbs/qp/errors.c.
 *	app_qp_retry [local|remote]
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT 20000

static struct end *a, *b;

static struct rc_wr send8(uint64_t id)
{
	return wr_make(IBV_WR_SEND, id, a, a->buf, 8, NULL, NULL);
}

static struct rc_wr recv64(struct end *e, uint64_t id)
{
	return wr_make(IBV_WR_SEND, id, e, e->buf + 4096, 64, NULL, NULL);
}

static bool expect(struct end *e, int which, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!end_poll(e, which, WAIT, &wc)) {
		note("no completion of %lu", (unsigned long)id);
		return false;
	}
	if (wc.wr_id == id && wc.status == status)
		return true;
	note("wr_id %lu: %s, wanted %lu: %s", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status),
	     (unsigned long)id, ibv_wc_status_str(status));
	return false;
}

static bool silent(struct end *e, int which, int ms)
{
	struct ibv_wc wc;

	if (!end_poll(e, which, ms, &wc))
		return true;
	note("wr_id %lu: %s", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
	return false;
}

/* The peer does not answer. */
enum gone { DESTROYED, RESET, INIT, ERR };

static void lose_peer(enum gone gone, const struct rc_opts *o)
{
	pair_up(a, b, o, o);
	if (gone == DESTROYED)
		end_destroy(b);
	else if (gone == ERR)
		end_to_state(b, IBV_QPS_ERR);
	else
		end_to_state(b, IBV_QPS_RESET);
	if (gone == INIT) {
		struct rc_opts init = *o;

		init.until = IBV_QPS_INIT;
		end_connect(b, a, &init);
	}
}

static void test_retry(void)
{
	static const char *const names[] = { "destroyed", "in RESET", "in INIT", "in ERR" };
	/* timeout code, retry_cnt: (retry_cnt + 1) x 4.096 us x 2^timeout at least */
	static const uint8_t cases[][2] = { { 12, 3 }, { 14, 0 }, { 10, 7 }, { 8, 1 } };
	struct rc_opts o = rc_defaults;

	for (int i = 0; i < 4; i++) {
		for (enum gone gone = DESTROYED; gone <= ERR; gone++) {
			double least, took;
			uint64_t start;
			struct rc_wr wr = send8(1);
			bool good;

			o.timeout = cases[i][0];
			o.retry_cnt = cases[i][1];
			lose_peer(gone, &o);
			least = 4.096e-3 * (1 << o.timeout) * (o.retry_cnt + 1);
			start = now_ns();
			good = !end_send(a, &wr) && expect(a, 0, 1, IBV_WC_RETRY_EXC_ERR);
			took = (double)(now_ns() - start) / 1e6;
			if (took < least * 0.95 || took > least * 4 + WAIT)
				note("after %.1f ms, (retry_cnt + 1) timeouts are %.1f", took,
				     least);
			good = good && took >= least * 0.95 && took <= least * 4 + WAIT;
			ok(good && end_state(a) == IBV_QPS_ERR,
			   "RETRY_EXC_ERR, timeout %u retry_cnt %u, peer %s", o.timeout,
			   o.retry_cnt, names[gone]);
		}
	}
	o.timeout = 0;
	lose_peer(DESTROYED, &o);
	struct rc_wr wr = send8(1);

	ok(!end_send(a, &wr) && silent(a, 0, 500) && end_state(a) == IBV_QPS_RTS,
	   "timeout 0 waits indefinitely");
}

static void test_retry_flush(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr recv = recv64(a, 9);
	struct rc_wr wr[3];

	o.timeout = 10;
	o.retry_cnt = 1;
	lose_peer(DESTROYED, &o);
	wr[0] = send8(1);
	wr[1] = wr_make(IBV_WR_RDMA_READ, 2, a, a->buf, 8, b, b->buf);
	wr[2] = send8(3);
	wr[2].flags = 0;
	ok(!end_recv(a, &recv) && !end_sends(a, wr, 3, NULL) &&
		   expect(a, 0, 1, IBV_WC_RETRY_EXC_ERR) && expect(a, 0, 2, IBV_WC_WR_FLUSH_ERR) &&
		   expect(a, 0, 3, IBV_WC_WR_FLUSH_ERR) && expect(a, 1, 9, IBV_WC_WR_FLUSH_ERR) &&
		   silent(a, 0, 10),
	   "the first has the cause, the rest is flushed, receives too");
}

static void test_rnr(void)
{
	/* rnr_retry, min_rnr_timer, the least that this takes in ms */
	static const struct {
		uint8_t retry, timer;
		double least;
	} cases[] = { { 0, 12, 0 },	   { 1, 12, 0.64 },	 { 3, 1, 0.03 },
		      { 3, 18, 3 * 5.12 }, { 3, 22, 3 * 20.48 }, { 6, 14, 6 * 1.28 } };
	struct rc_opts oa = rc_defaults, ob = rc_defaults;
	struct rc_wr wr, recv = recv64(b, 5), three[3];
	uint64_t start;
	bool good;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double took;

		oa.rnr_retry = cases[i].retry;
		ob.min_rnr = cases[i].timer;
		pair_up(a, b, &oa, &ob);
		wr = send8(1);
		start = now_ns();
		good = !end_send(a, &wr) && expect(a, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR);
		took = (double)(now_ns() - start) / 1e6;
		if (took < cases[i].least || took > cases[i].least * 3 + WAIT) {
			note("after %.2f ms, at least %.2f wanted", took, cases[i].least);
			good = false;
		}
		ok(good && end_state(a) == IBV_QPS_ERR && end_state(b) == IBV_QPS_RTS,
		   "RNR_RETRY_EXC_ERR, rnr_retry %u, timer %u", cases[i].retry, cases[i].timer);
	}

	oa.rnr_retry = 7;
	pair_up(a, b, &oa, &ob);
	wr = send8(1);
	good = !end_send(a, &wr) && silent(a, 0, 300) && !end_recv(b, &recv);
	ok(good && expect(a, 0, 1, IBV_WC_SUCCESS) && expect(b, 1, 5, IBV_WC_SUCCESS),
	   "rnr_retry 7 waits until there is a receive");
	/*
	 * Tries every 655 ms: the receive is there for the second, and for later ones where this is
	 * late.
	 */
	oa.rnr_retry = 6;
	ob.min_rnr = 0;
	pair_up(a, b, &oa, &ob);
	good = !end_send(a, &wr);
	usleep(100000);
	ok(good && !end_recv(b, &recv) && expect(a, 0, 1, IBV_WC_SUCCESS) &&
		   expect(b, 1, 5, IBV_WC_SUCCESS),
	   "a receive in time for a later try");
	oa.rnr_retry = 0;
	pair_up(a, b, &oa, &ob);
	for (uint64_t i = 0; i < 3; i++)
		three[i] = send8(i);
	ok(!end_sends(a, three, 3, NULL) && expect(a, 0, 0, IBV_WC_RNR_RETRY_EXC_ERR) &&
		   expect(a, 0, 1, IBV_WC_WR_FLUSH_ERR) && expect(a, 0, 2, IBV_WC_WR_FLUSH_ERR),
	   "three SENDs, the first fails");
}

static void test_flush(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr[4], recv[4], late;
	bool good = true;

	/* Nothing is received, so four sends wait. */
	for (uint64_t i = 0; i < 4; i++) {
		wr[i] = send8(10 + i);
		wr[i].flags = i & 1 ? IBV_SEND_SIGNALED : 0;
		recv[i] = recv64(a, 20 + i);
	}
	pair_up(a, b, &o, &o);
	good = !end_sends(a, wr, 4, NULL) && !end_recvs(a, recv, 4, NULL) &&
	       !end_to_state(a, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 4; i++)
		good = good && expect(a, 0, 10 + i, IBV_WC_WR_FLUSH_ERR) &&
		       expect(a, 1, 20 + i, IBV_WC_WR_FLUSH_ERR);
	ok(good && silent(a, 0, 5) && silent(a, 1, 5), "to ERR: all is flushed, in order");
	ok(end_event(a, 5, NULL) < 0, "to ERR: no event");
	late = send8(30);
	ok(!end_send(a, &late) && expect(a, 0, 30, IBV_WC_WR_FLUSH_ERR), "post_send in ERR");
	late = recv64(a, 31);
	ok(!end_recv(a, &late) && expect(a, 1, 31, IBV_WC_WR_FLUSH_ERR), "post_recv in ERR");

	pair_up(a, b, &o, &o);
	good = !end_sends(a, wr, 4, NULL) && !end_recvs(a, recv, 4, NULL) &&
	       !end_to_state(a, IBV_QPS_RESET);
	ok(good && silent(a, 0, 20) && silent(a, 1, 20), "to RESET: nothing completes");

	/* And the same QP works anew. */
	end_to_state(b, IBV_QPS_RESET);
	good = !end_connect(b, a, &o) && !end_connect(a, b, &o);
	recv[0] = recv64(b, 40);
	ok(good && !end_recv(b, recv) && !end_send(a, &wr[1]) && expect(a, 0, 11, IBV_WC_SUCCESS) &&
		   expect(b, 1, 40, IBV_WC_SUCCESS) && silent(a, 0, 5),
	   "from RESET to RTS again");
}

static void test_sqd(void)
{
	struct rc_opts o = rc_defaults;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct rc_wr wr = send8(1), recv = recv64(b, 2);
	bool own = false;

	pair_up(a, b, &o, &o);
	ok(!end_modify(a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
		   end_event(a, WAIT, &own) == IBV_EVENT_SQ_DRAINED && own,
	   "SQD: SQ_DRAINED");
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && silent(a, 0, 50),
	   "a SEND posted in SQD waits");
	ok(!end_to_state(a, IBV_QPS_RTS) && expect(a, 0, 1, IBV_WC_SUCCESS) &&
		   expect(b, 1, 2, IBV_WC_SUCCESS),
	   "and goes in RTS, without another post");

	/* A message that was begun is finished first. */
	pair_up(a, b, &o, &o);
	ok(!end_send(a, &wr) && silent(a, 0, 50) &&
		   !end_modify(a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
		   end_event(a, 20, NULL) < 0,
	   "SQD with work outstanding: not drained yet");
	ok(!end_recv(b, &recv) && expect(a, 0, 1, IBV_WC_SUCCESS) &&
		   end_event(a, WAIT, &own) == IBV_EVENT_SQ_DRAINED && own,
	   "drained when it has completed");
}

static void test_comm_est(void)
{
	struct rc_opts oa = rc_defaults, ob = rc_defaults;
	struct rc_wr wr = send8(1), recv = recv64(b, 2);
	bool own = false;

	ob.until = IBV_QPS_RTR;
	pair_up(a, b, &oa, &ob);
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && expect(a, 0, 1, IBV_WC_SUCCESS) &&
		   expect(b, 1, 2, IBV_WC_SUCCESS),
	   "a QP in RTR receives");
	ok(end_event(b, WAIT, &own) == IBV_EVENT_COMM_EST && own, "and has COMM_EST");
	ok(end_state(b) == IBV_QPS_RTR, "and stays in RTR");
}

static void test_rd_atomic(void)
{
	struct rc_opts oa = rc_defaults, ob = rc_defaults;
	struct rc_wr wr;
	int ret;

	ob.dest_rd_atomic = 0;
	pair_up(a, b, &oa, &ob);
	wr = wr_make(IBV_WR_RDMA_READ, 1, a, a->buf, 8, b, b->buf);
	ok(!end_send(a, &wr) && expect(a, 0, 1, IBV_WC_REM_INV_REQ_ERR) &&
		   end_state(b) == IBV_QPS_ERR,
	   "READ, max_dest_rd_atomic 0");
	end_event(b, 100, NULL);
	ob.dest_rd_atomic = 4;
	oa.rd_atomic = 0;
	pair_up(a, b, &oa, &ob);
	ret = end_send(a, &wr);
	ok(ret == EINVAL || (!ret && expect(a, 0, 1, IBV_WC_LOC_QP_OP_ERR)),
	   "READ, max_rd_atomic 0: an error at once");
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "local";

	b = strcmp(where, "local") ? end_fork(false) : end_local();
	a = end_local();
	end_open(a);
	end_open(b);
	test_retry();
	test_retry_flush();
	test_rnr();
	test_flush();
	test_sqd();
	test_comm_est();
	test_rd_atomic();
	end_close(b);
	return tap_failed != 0;
}
