/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous events: which process gets them, acknowledgement, and events that stay unread.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct vb_side *s;
static struct vb_pair p;

static bool pending(int ms)
{
	struct pollfd fd = { s->ctx->async_fd, POLLIN, 0 };

	return poll(&fd, 1, ms) == 1;
}

/* The next event, not acknowledged. Return: whether there was one within @ms. */
static bool next(struct ibv_async_event *ev, int ms)
{
	return pending(ms) && !ibv_get_async_event(s->ctx, ev);
}

static bool came(enum ibv_event_type type, const void *element)
{
	struct ibv_async_event ev;

	if (!next(&ev, VB_WAIT))
		return false;
	ibv_ack_async_event(&ev);
	if (ev.event_type != type || ev.element.qp != element)
		note("%s of %s", ibv_event_type_str(ev.event_type),
		     ev.element.qp == element ? "the right one" : "another object");
	return ev.event_type == type && ev.element.qp == element;
}

static bool none(void)
{
	struct ibv_async_event ev;
	int flags = fcntl(s->ctx->async_fd, F_GETFL);
	bool empty;

	if (pending(VB_SHORT))
		return false;
	fcntl(s->ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	empty = ibv_get_async_event(s->ctx, &ev) == -1 && errno == EAGAIN;
	fcntl(s->ctx->async_fd, F_SETFL, flags);
	return empty;
}

/* A destroying verb in a thread of its own: it may have to wait. */
struct destroyer {
	int (*fn)(void *obj);
	void *obj;
	pthread_t thread;
	_Atomic(bool) done;
	int ret;
};

static void *destroy_thread(void *arg)
{
	struct destroyer *d = arg;

	d->ret = d->fn(d->obj);
	d->done = true;
	return NULL;
}

static int destroy_qp(void *obj)
{
	return ibv_destroy_qp(obj);
}

static int destroy_cq(void *obj)
{
	return ibv_destroy_cq(obj);
}

static int destroy_srq(void *obj)
{
	return ibv_destroy_srq(obj);
}

static void waits(const char *what, int (*fn)(void *), void *obj, struct ibv_async_event *ev, int n)
{
	struct destroyer d = { .fn = fn, .obj = obj };
	bool early;

	pthread_create(&d.thread, NULL, destroy_thread, &d);
	usleep(100000);
	early = d.done;
	while (n-- > 1) {
		ibv_ack_async_event(ev);
		usleep(20000);
		early |= d.done;
	}
	ibv_ack_async_event(ev);
	pthread_join(d.thread, NULL);
	ok(!early && !d.ret, "%s waits for all acknowledgements", what);
}

static void connect_up(enum ibv_qp_type type)
{
	struct vb_spec spec = vb_spec_of(type);
	int ret = vb_pair_up(&p, s, s, &spec);

	if (ret)
		die("cannot connect: %s", strerror(ret));
}

/* An access error at the responder. */
static bool access_error(void)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, 100);
	struct ibv_wc wc;

	wr.rkey ^= 0x5a5a00;
	return !vb_send(s, 0, false, &wr) && vb_poll(s, 0, VB_SCQ, VB_WAIT, &wc) &&
	       wc.status == IBV_WC_REM_ACCESS_ERR;
}

static void test_qp(void)
{
	struct ibv_async_event ev;

	connect_up(IBV_QPT_RC);
	ok(access_error() && next(&ev, VB_WAIT) && ev.event_type == IBV_EVENT_QP_ACCESS_ERR &&
		   ev.element.qp == s->qp[1].qp,
	   "QP_ACCESS_ERR names the responder's QP");
	waits("ibv_destroy_qp", destroy_qp, s->qp[1].qp, &ev, 1);
	s->qp[1].qp = NULL;
	vb_pair_down(&p);
	connect_up(IBV_QPT_RC);
	ok(access_error() && pending(VB_WAIT), "an event that nobody reads");
	ok(!vb_destroy(s, 1) && none(), "goes with its QP, which does not wait for it");
	vb_pair_down(&p);
}

static void test_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_async_event ev;
	struct vb_wr wr;
	struct ibv_wc wc;
	bool good;

	connect_up(IBV_QPT_RC);
	spec.srq = 1;
	good = !vb_destroy(s, 1) && !vb_srq(s, 0, 16, 1, false) && !vb_create(s, 1, &spec) &&
	       !vb_connect(s, 1, s, 0, &spec) && !vb_recv1(s, -1, 1, s->buf, 64) &&
	       !vb_recv1(s, -1, 2, s->buf, 64) && !ibv_modify_srq(s->srq[0], &attr, IBV_SRQ_LIMIT);
	wr = vb_wr(IBV_WR_SEND, 1, s, s->buf + 4096, 8);
	vb_destroy(s, 0);
	spec.srq = 0;
	good = good && !vb_create(s, 0, &spec) && !vb_connect(s, 0, s, 1, &spec);
	spec.srq = 1;
	good = good && !vb_to_state(s, 1, IBV_QPS_RESET) && !vb_connect(s, 1, s, 0, &spec);
	ok(good && !vb_send(s, 0, false, &wr) && vb_done(s, 0, VB_SCQ, 1, IBV_WC_SEND, &wc) &&
		   next(&ev, VB_WAIT) && ev.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
		   ev.element.srq == s->srq[0],
	   "SRQ_LIMIT_REACHED names the SRQ");
	ok(!vb_to_state(s, 1, IBV_QPS_ERR) && came(IBV_EVENT_QP_LAST_WQE_REACHED, s->qp[1].qp) &&
		   none(),
	   "QP_LAST_WQE_REACHED of its QP in ERR, once");
	ok(!vb_destroy(s, 1), "the QP goes");
	waits("ibv_destroy_srq", destroy_srq, s->srq[0], &ev, 1);
	s->srq[0] = NULL;
	vb_destroy(s, 0);
}

static bool write_some(int qp, int n)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 1, s, s->buf, 8);
	bool good = true;

	wr.raddr = (uintptr_t)s->buf + 4096;
	wr.rkey = s->info.rkey;
	while (n--)
		good = good && !vb_send(s, qp, false, &wr);
	return good;
}

/* Four QPs, two of which complete their sends to one small CQ. */
static void test_overrun(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_async_event ev;
	bool good = true;

	spec.cqe = 4;
	good = !vb_create(s, 0, &spec);
	spec.cqs_of = 1;
	good = good && !vb_create(s, 2, &spec);
	spec.cqs_of = 0;
	spec.cqe = 64;
	good = good && !vb_create(s, 1, &spec) && !vb_create(s, 3, &spec);
	for (int i = 0; good && i < 4; i++)
		good = !vb_connect(s, i, s, i ^ 1, &spec);
	if (!ok(good && write_some(0, s->qp[0].scq->cqe), "a full CQ") || !none())
		return;
	ok(write_some(0, 3) && next(&ev, VB_WAIT) && ev.event_type == IBV_EVENT_CQ_ERR &&
		   ev.element.cq == s->qp[0].scq,
	   "one more: CQ_ERR names the CQ");
	ok(came(IBV_EVENT_QP_FATAL, s->qp[0].qp) && vb_state(s, 0) == IBV_QPS_ERR,
	   "QP_FATAL of the QP that it was of, which is in ERR");
	ok(none() && vb_state(s, 2) == IBV_QPS_RTS, "nothing else, the other QP lives");
	ok(write_some(2, 1) && came(IBV_EVENT_QP_FATAL, s->qp[2].qp) &&
		   vb_state(s, 2) == IBV_QPS_ERR && none(),
	   "until it completes something; the CQ says it once");
	ok(!ibv_destroy_qp(s->qp[0].qp) && !ibv_destroy_qp(s->qp[2].qp), "they go");
	s->qp[0].qp = s->qp[2].qp = NULL;
	waits("ibv_destroy_cq", destroy_cq, s->qp[0].scq, &ev, 1);
	s->qp[0].scq = NULL;
	for (int i = 3; i >= 0; i--)
		vb_destroy(s, i);
}

/* An SRQ with a CQ of its own, which fills up. */
static void test_srq_error(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_XRC_SEND);
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->info.lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, s, s->buf + 4096, 8);
	bool good = !vb_pair_up(&p, s, s, &spec);
	struct ibv_async_event ev;
	int room;

	if (!ok(good && !ibv_resize_cq(s->srq_cq[0], 3), "an XRC SRQ with a small CQ"))
		return;
	room = s->srq_cq[0]->cqe;
	wr.srqn = s->srqn[0];
	for (int i = 0; i < room + 2; i++)
		good = good && !ibv_post_srq_recv(s->srq[0], &recv, &bad);
	for (int i = 0; i < room; i++)
		good = good && !vb_send(s, 0, false, &wr);
	ok(good && none(), "as many messages as it has room for");
	ok(!vb_send(s, 0, false, &wr) && came(IBV_EVENT_CQ_ERR, s->srq_cq[0]) &&
		   came(IBV_EVENT_QP_FATAL, s->qp[1].qp),
	   "one more: CQ_ERR, and QP_FATAL of the QP that it came to");
	ok(next(&ev, VB_WAIT) && ev.event_type == IBV_EVENT_SRQ_ERR &&
		   ev.element.srq == s->srq[0] && none(),
	   "SRQ_ERR names the SRQ, once");
	vb_destroy(s, 0);
	vb_destroy(s, 1);
	waits("ibv_destroy_srq", destroy_srq, s->srq[0], &ev, 1);
	s->srq[0] = NULL;
	vb_pair_down(&p);
}

static void test_states(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct rc_opts o = rc_defaults;
	struct rc_addr peer;
	bool good;

	/* QP 1 stays in RTR: the first packet establishes the communication. */
	good = !vb_create(s, 0, &spec) && !vb_create(s, 1, &spec) && !vb_connect(s, 0, s, 1, &spec);
	peer = (struct rc_addr){ s->addr[0].qpn, s->addr[0].psn, s->info.gid };
	o.until = IBV_QPS_RTR;
	good = good && !rc_up(s->qp[1].qp, &o, &peer, s->gid_index, 0);
	ok(good && write_some(0, 2) && came(IBV_EVENT_COMM_EST, s->qp[1].qp) && none(),
	   "COMM_EST of a QP in RTR, once");
	ok(!ibv_modify_qp(s->qp[0].qp, &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
		   came(IBV_EVENT_SQ_DRAINED, s->qp[0].qp) && none(),
	   "SQ_DRAINED, once, on the QP whose modify requested it");
	vb_destroy(s, 0);
	vb_destroy(s, 1);
}

static struct ibv_qp *open_target(void)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = s->addr[1].qpn,
		.xrcd = s->xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = ibv_open_qp(s->ctx, &attr);

	if (!qp)
		die("ibv_open_qp: %s", strerror(errno));
	return qp;
}

/* Each handle has its events. @own: the creator's is among them. */
static bool all_told(struct ibv_qp *own, struct ibv_qp *one, struct ibv_qp *two)
{
	int n = own ? 3 : 2, seen = 0;

	for (int i = 0; i < n; i++) {
		struct ibv_async_event ev;

		if (!next(&ev, VB_WAIT) || ev.event_type != IBV_EVENT_QP_ACCESS_ERR)
			return false;
		ibv_ack_async_event(&ev);
		seen |= ev.element.qp == one ? 1 : ev.element.qp == two ? 2 : 0;
		seen |= own && ev.element.qp == own ? 4 : 0;
	}
	return seen == (own ? 7 : 3) && none();
}

static void test_opened(void)
{
	struct ibv_async_event ev[2];
	struct ibv_qp *one, *two;

	connect_up(IBV_QPT_XRC_SEND);
	one = open_target();
	two = open_target();
	ok(access_error() && all_told(s->qp[1].qp, one, two),
	   "a target QP's event comes by the creator's handle and by each opened one");
	vb_pair_down(&p); /* the creator's handle goes, its place is taken */
	ok(!ibv_destroy_qp(one) && !ibv_destroy_qp(two), "all handles go");

	connect_up(IBV_QPT_XRC_SEND);
	one = open_target();
	two = open_target();
	ok(!ibv_destroy_qp(s->qp[1].qp), "the creator's handle goes first");
	s->qp[1].qp = NULL;
	ok(access_error() && all_told(NULL, one, two), "the others have their events all the same");
	vb_pair_down(&p);
	ok(!ibv_destroy_qp(one) && !ibv_destroy_qp(two), "and go");

	connect_up(IBV_QPT_XRC_SEND);
	one = open_target();
	ok(access_error() && next(&ev[0], VB_WAIT) && next(&ev[1], VB_WAIT), "two events");
	if (ev[0].element.qp == one)
		ev[0] = ev[1];
	ibv_ack_async_event(&ev[0]);
	ev[0].element.qp = one;
	waits("closing a handle", destroy_qp, one, &ev[0], 1);
	one = open_target();
	vb_pair_down(&p);
	ok(!ibv_destroy_qp(one) && none(), "nothing is left");
}

int main(void)
{
	s = vb_local();
	vb_open(s);
	test_qp();
	test_srq();
	test_overrun();
	test_srq_error();
	test_states();
	test_opened();
	return tap_failed != 0;
}
