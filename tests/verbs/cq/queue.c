/* SPDX-License-Identifier: MIT */
/* Completion queues and channels: depth, overrun, resize, arming, descriptors, acknowledgement. */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#define WAIT 20000

static struct end *a, *b;

static bool send_one(unsigned int flags, uint64_t id)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, id, b, b->buf, 64, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, id, a, a->buf, 8, NULL, NULL);
	struct ibv_wc wc;

	wr.flags |= flags;
	return !end_recv(b, &recv) && !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) &&
	       wc.status == IBV_WC_SUCCESS;
}

static void test_create(void)
{
	struct ibv_context *ctx = a->side->ctx;
	struct ibv_cq *cq;

	errno = 0;
	ok(!ibv_create_cq(ctx, 0, NULL, NULL, 0) && errno == EINVAL, "0 entries: EINVAL");
	errno = 0;
	ok(!ibv_create_cq(ctx, -1, NULL, NULL, 0) && errno == EINVAL, "-1 entries: EINVAL");
	errno = 0;
	ok(!ibv_create_cq(ctx, a->dev.max_cqe + 1, NULL, NULL, 0) && errno == EINVAL,
	   "more than max_cqe: EINVAL");
	errno = 0;
	ok(!ibv_create_cq(ctx, 1, NULL, NULL, 9999) && errno == EINVAL, "comp_vector 9999: EINVAL");
	cq = ibv_create_cq(ctx, 100, NULL, NULL, ctx->num_comp_vectors - 1);
	if (!ok(cq && cq->cqe >= 100, "100 entries on the last vector") || !cq)
		return;
	ok(!ibv_resize_cq(cq, 1000) && cq->cqe >= 1000, "resize to 1000");
	ok(!ibv_resize_cq(cq, 1) && cq->cqe >= 1, "resize to 1");
	ok(ibv_resize_cq(cq, 0) == EINVAL, "resize to 0: EINVAL");
	ok(ibv_resize_cq(cq, a->dev.max_cqe + 1) == EINVAL, "resize to more than max_cqe: EINVAL");
	ok(!ibv_destroy_cq(cq), "destroy");
}

static void test_overrun(void)
{
	struct rc_opts o = rc_defaults;
	struct ibv_wc wc;
	int events = 0, cqe, n = 0;
	bool own, all_own = true;

	o.scqe = 4;
	pair_up(a, b, &o, &rc_defaults);
	cqe = a->side->scq->cqe;
	for (int i = 0; i < cqe + 8; i++) {
		struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, (uint64_t)i, a, a->buf, 8, b, b->buf);

		if (end_send(a, &wr))
			break;
	}
	while (end_event(a, events ? 50 : WAIT, &own) == IBV_EVENT_CQ_ERR) {
		events++;
		all_own = all_own && own;
	}
	ok(events == 1 && all_own, "CQ overrun: one CQ_ERR that names the CQ");
	ok(end_state(a) == IBV_QPS_ERR, "CQ overrun: the QP is in ERR");
	while (n < cqe && end_poll(a, 0, 10, &wc) && wc.wr_id == (uint64_t)n)
		n++;
	ok(n >= 4, "what was in it can still be polled (%d)", n);
	while (end_event(a, 5, NULL) >= 0)
		;
}

static void test_resize_full(void)
{
	struct ibv_wc wc;
	bool good = true;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	for (uint64_t i = 0; i < 20; i++)
		good = good && send_one(0, i);
	ok(good && end_resize(b, 1, 10) == EINVAL, "resize below what waits: EINVAL");
	ok(!end_resize(b, 1, 1000), "resize with completions waiting");
	for (uint64_t i = 0; i < 20; i++)
		good = good && end_poll(b, 1, WAIT, &wc) && wc.wr_id == i && !wc.status;
	ok(good && !end_poll(b, 1, 5, &wc), "they are all still there, in order");
	ok(send_one(0, 77) && end_poll(b, 1, WAIT, &wc) && wc.wr_id == 77, "and new ones come");
}

static void test_arm(void)
{
	struct rc_opts o = rc_defaults;
	struct ibv_wc wc;

	o.chan = true;
	pair_up(a, b, &o, &o);
	ok(send_one(0, 1) && end_comp(b, 20) == -1, "not armed: no event");
	ok(end_poll(b, 1, WAIT, &wc), "poll");
	ok(!end_arm(b, 1, false) && send_one(0, 2) && end_comp(b, WAIT) == 1, "armed: an event");
	ok(send_one(0, 3) && end_comp(b, 20) == -1, "one only");
	ok(!end_arm(b, 1, false) && end_comp(b, 20) == -1, "armed with completions waiting: none");
	ok(send_one(0, 8) && end_comp(b, WAIT) == 1, "the next one brings it");
	while (end_poll(b, 1, 5, &wc))
		;
	ok(!end_arm(b, 1, true) && send_one(0, 4) && end_comp(b, 20) == -1,
	   "armed for solicited: none for a plain SEND");
	ok(send_one(IBV_SEND_SOLICITED, 5) && end_comp(b, WAIT) == 1, "one for a solicited SEND");
	ok(!end_arm(b, 1, true) && !end_arm(b, 1, false) && send_one(0, 6) &&
		   end_comp(b, WAIT) == 1,
	   "armed for any after solicited: any");
	end_arm(b, 1, false);
	ok(!end_arm(b, 1, true) && send_one(0, 7) && end_comp(b, WAIT) == 1,
	   "arming for solicited takes nothing back");
	end_arm(b, 1, true);
	struct rc_wr recv = wr_make(IBV_WR_SEND, 9, b, b->buf, 64, NULL, NULL);

	end_recv(b, &recv);
	end_to_state(b, IBV_QPS_ERR);
	ok(end_comp(b, WAIT) == 1, "a completion in error counts as solicited");
	ok(!end_arm(a, 0, false), "send CQ armed");
	struct rc_wr wr = wr_make(IBV_WR_SEND, 10, a, a->buf, 8, NULL, NULL);

	end_to_state(a, IBV_QPS_ERR);
	ok(!end_send(a, &wr) && end_comp(a, WAIT) == 0, "its event comes by the same channel");
}

static void test_fd(void)
{
	struct rc_opts o = rc_defaults;
	struct ibv_comp_channel *chan = b->side->chan;
	struct ibv_async_event ev;
	struct epoll_event got, want = { .events = EPOLLIN };
	struct pollfd p = { chan->fd, POLLIN, 0 };
	struct timeval tv = { 5, 0 };
	struct ibv_cq *cq;
	void *context;
	fd_set set;
	int ep = epoll_create1(0), flags;

	o.chan = true;
	pair_up(a, b, &o, &o);
	flags = fcntl(chan->fd, F_GETFL);
	fcntl(chan->fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	ok(ibv_get_cq_event(chan, &cq, &context) == -1 && errno == EAGAIN, "O_NONBLOCK: EAGAIN");
	ok(poll(&p, 1, 0) == 0, "poll: nothing");
	epoll_ctl(ep, EPOLL_CTL_ADD, chan->fd, &want);
	ok(!end_arm(b, 1, false) && send_one(0, 1) && epoll_wait(ep, &got, 1, WAIT) == 1, "epoll");
	FD_ZERO(&set);
	FD_SET(chan->fd, &set);
	ok(select(chan->fd + 1, &set, NULL, NULL, &tv) == 1, "select");
	ok(poll(&p, 1, WAIT) == 1 && p.revents == POLLIN, "poll");
	ok(!ibv_get_cq_event(chan, &cq, &context) && cq == b->side->rcq && context == b->side,
	   "the event names CQ and context");
	ok(poll(&p, 1, 0) == 0, "poll: nothing more");
	ibv_ack_cq_events(cq, 1);
	fcntl(chan->fd, F_SETFL, flags);
	close(ep);

	flags = fcntl(b->side->ctx->async_fd, F_GETFL);
	fcntl(b->side->ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	ok(ibv_get_async_event(b->side->ctx, &ev) == -1 && errno == EAGAIN,
	   "async fd with O_NONBLOCK: EAGAIN");
	fcntl(b->side->ctx->async_fd, F_SETFL, flags);
	ok(b->side->ctx->async_fd != chan->fd, "descriptors are distinct");
}

/* ibv_destroy_cq(3): waits until every event was acknowledged. */
struct destroyer {
	struct ibv_cq *cq;
	_Atomic(bool) done;
	int ret;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	d->ret = ibv_destroy_cq(d->cq);
	d->done = true;
	return NULL;
}

static void test_ack(void)
{
	struct rc_opts o = rc_defaults;
	struct destroyer d = { 0 };
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	o.chan = true;
	pair_up(a, b, &o, &o);
	end_arm(b, 1, false);
	send_one(0, 1);
	if (!ok(!ibv_get_cq_event(b->side->chan, &cq, &context), "an event"))
		return;
	ibv_destroy_qp(b->side->qp);
	b->side->qp = NULL;
	d.cq = b->side->rcq;
	b->side->rcq = NULL;
	pthread_create(&thread, NULL, destroy, &d);
	usleep(100000);
	ok(!d.done, "ibv_destroy_cq waits for the acknowledgement");
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, NULL);
	ok(d.done && !d.ret, "and ends with it");
}

/* Arm, poll, sleep against a sender that never waits: a lost wake-up shows as a timeout. */
static _Atomic(int) in_flight;
static _Atomic(bool) stop;

static void *sender(void *arg)
{
	uint64_t seed = 42;
	struct ibv_wc wc;
	long n = (long)(intptr_t)arg;

	for (long i = 0; i < n && !stop; i++) {
		struct rc_wr wr = wr_make(IBV_WR_SEND, (uint64_t)i, a, a->buf, 8, NULL, NULL);

		while (in_flight >= 32 && !stop)
			sched_yield();
		in_flight++;
		for (volatile unsigned int k = rnd(&seed) % 3000; k; k--)
			;
		if (end_send(a, &wr) || !end_poll(a, 0, WAIT, &wc) || wc.status)
			break;
	}
	return NULL;
}

/* The queue moves to another ring again and again while it is polled without its lock. */
static void *resizer(void *arg)
{
	uint64_t seed = 43;

	(void)arg;
	while (!stop && !ibv_resize_cq(b->side->rcq, 64 + (int)(rnd(&seed) % 512)))
		usleep(50);
	return NULL;
}

static void test_race(long n, bool resize)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr recv = wr_make(IBV_WR_SEND, 0, b, b->buf, 64, NULL, NULL);
	struct ibv_comp_channel *chan = b->side->chan;
	struct pollfd p = { chan->fd, POLLIN, 0 };
	long got = 0, events = 0;
	pthread_t thread, other;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	bool lost = false;

	o.chan = true;
	pair_up(a, b, &o, &o);
	for (int i = 0; i < 64; i++)
		end_recv(b, &recv);
	stop = false;
	in_flight = 0;
	pthread_create(&thread, NULL, sender, (void *)(intptr_t)n);
	if (resize)
		pthread_create(&other, NULL, resizer, NULL);
	while (got < n && !lost) {
		int k;

		ibv_req_notify_cq(b->side->rcq, 0);
		k = ibv_poll_cq(b->side->rcq, 1, &wc);
		if (!k && poll(&p, 1, 5000) <= 0) {
			lost = !ibv_poll_cq(b->side->rcq, 1, &wc);
			note(lost ? "nothing arrives" : "a completion without its event");
			lost = true;
			break;
		}
		while (poll(&p, 1, 0) == 1 && !ibv_get_cq_event(chan, &cq, &context)) {
			ibv_ack_cq_events(cq, 1);
			events++;
		}
		for (; k > 0 || ibv_poll_cq(b->side->rcq, 1, &wc) > 0; k = 0) {
			got++;
			in_flight--;
			end_recv(b, &recv);
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	if (resize)
		pthread_join(other, NULL);
	ok(!lost && got == n, "no lost wake-up in %ld SENDs (%ld events)%s", n, events,
	   resize ? " while the CQ is resized" : "");
}

int main(int argc, char **argv)
{
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	test_create();
	test_overrun();
	test_resize_full();
	test_arm();
	test_fd();
	test_ack();
	test_race(argc > 1 ? atol(argv[1]) : 100000, false);
	test_race(argc > 1 ? atol(argv[1]) : 20000, true);
	return tap_failed != 0;
}
