/* SPDX-License-Identifier: MIT */
/*
 * Verbs from many threads of one process, all data verified: app_device_threads [ROUNDS]
 *
 *  - posters share one QP, pollers share its CQ and repost its receives;
 *  - makers create, connect, use, break and destroy objects of their own, and open the device anew;
 *  - one thread sends, another one sleeps in a completion channel for what arrives;
 *  - one thread takes the asynchronous events of the queue pairs that the makers break.
 *
 * Thread sanitizer runs this with the shim built for it.
 */
#include "tests/lib/c/rc_qps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define POSTERS 3
#define POLLERS 2
#define MAKERS	2
#define RECVS	16
#define BURST	32u /* small WRITEs, one post each */
#define PIECE	48u
#define MSG	(16u << 10)
#define SLEEPS	60000000000ULL /* without progress for so long: something was lost */

struct poster_area {
	uint8_t src[MSG];
	uint8_t back[MSG];
	uint8_t target[MSG];
};

struct memory {
	struct poster_area poster[POSTERS];
	uint8_t recv[RECVS][MSG];
	uint8_t event_src[MSG];
	uint8_t event_recv[RECVS][MSG];
	struct poster_area maker[MAKERS];
};

struct poster {
	int index;
	struct poster_area *area;
	uint64_t seed;
	uint32_t posted;
	_Atomic(uint32_t) done; /* by pollers */
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct memory *mem;
static struct rc_opts opts;
static long rounds;

static struct ibv_cq *shared_cq;
static struct rc_qps shared;
static struct poster posters[POSTERS];

static struct ibv_comp_channel *chan;
static struct ibv_cq *event_scq, *event_rcq;
static struct rc_qps event_pair;

static _Atomic(bool) failed, stop;
static _Atomic(long) broken, told; /* QPs broken by makers, events of them */

static bool fail(const char *what, long x)
{
	note("%s (%ld)", what, x);
	failed = true;
	return false;
}

/* Whether a wait that began at @since may go on. */
static bool waiting(uint64_t since)
{
	if (failed)
		return false;
	if (now_ns() - since > SLEEPS)
		return fail("nothing happens any more", 0);
	sched_yield();
	return true;
}

static bool make_pair(struct rc_qps *p, struct ibv_pd *of, struct ibv_cq *scq, struct ibv_cq *rcq)
{
	int ret = rc_qps_up(p, of, scq, rcq, &opts);

	return !ret || fail("creating and connecting", ret);
}

static bool destroy_pair(struct rc_qps *p)
{
	int ret = rc_qps_down(p);

	return !ret || fail("ibv_destroy_qp", ret);
}

static struct ibv_sge sge_of(const void *p, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)p, len, mr->lkey };
}

static bool post_recv(struct ibv_qp *qp, uint8_t *buf, uint64_t wr_id)
{
	int ret = rc_qps_recv(qp, wr_id, sge_of(buf, MSG));

	return !ret || fail("ibv_post_recv", ret);
}

static bool post(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge sge,
		 const void *remote, uint32_t rkey)
{
	int ret = rc_qps_send(qp, op, wr_id, sge, remote, rkey);

	return !ret || fail("ibv_post_send", ret);
}

/* --- one QP and one CQ for all */

static bool poster_wait(struct poster *p)
{
	uint64_t since = now_ns();

	while (p->done != p->posted)
		if (!waiting(since))
			return false;
	return true;
}

static bool poster_post(struct poster *p, enum ibv_wr_opcode op, uint32_t off, uint32_t len)
{
	const uint8_t *local = op == IBV_WR_RDMA_READ ? p->area->back : p->area->src;

	p->posted++;
	return post(shared.a, op, (uint64_t)p->index, sge_of(local + off, len),
		    p->area->target + off, mr->rkey);
}

static bool poster_round(struct poster *p)
{
	uint32_t len = (uint32_t)sizeof(struct rc_head) +
		       (uint32_t)(rnd(&p->seed) % (rnd(&p->seed) % 3 ? 100 : MSG - 100));

	rc_msg(p->area->src, len, rnd(&p->seed));
	switch (rnd(&p->seed) % 3) {
	case 0:
		return poster_post(p, IBV_WR_SEND, 0, len) && poster_wait(p);
	case 1:
		if (!poster_post(p, IBV_WR_RDMA_WRITE, 0, len))
			return false;
		break;
	default:
		len = BURST * PIECE;
		rc_msg(p->area->src, len, rnd(&p->seed));
		for (uint32_t i = 0; i < BURST; i++)
			if (!poster_post(p, IBV_WR_RDMA_WRITE, i * PIECE, PIECE))
				return false;
	}
	if (!poster_wait(p) || !poster_post(p, IBV_WR_RDMA_READ, 0, len) || !poster_wait(p))
		return false;
	if (memcmp(p->area->src, p->area->back, len) != 0 ||
	    memcmp(p->area->src, p->area->target, len) != 0)
		return fail("a WRITE or READ brought wrong data", len);
	return true;
}

static void *poster(void *arg)
{
	struct poster *p = arg;

	for (long i = 0; i < rounds && !failed; i++)
		if (!poster_round(p))
			break;
	return NULL;
}

static void *poller(void *arg)
{
	struct ibv_wc wc[8];

	(void)arg;
	while (!stop && !failed) {
		int n = ibv_poll_cq(shared_cq, 8, wc);

		for (int i = 0; i < n; i++) {
			if (wc[i].status) {
				fail(ibv_wc_status_str(wc[i].status), (long)wc[i].wr_id);
			} else if (wc[i].opcode != IBV_WC_RECV) {
				posters[wc[i].wr_id].done++;
			} else {
				uint8_t *buf = mem->recv[wc[i].wr_id];

				if (!rc_msg_ok(buf, wc[i].byte_len))
					fail("a SEND brought wrong data", (long)wc[i].byte_len);
				post_recv(shared.b, buf, wc[i].wr_id);
			}
		}
		if (n < 0)
			fail("ibv_poll_cq", n);
		if (!n)
			sched_yield();
	}
	return NULL;
}

/* --- objects that come and go */

static bool one_completion(struct ibv_cq *cq, enum ibv_wc_status want)
{
	uint64_t since = now_ns();
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		if (!waiting(since))
			return false;
	if (n != 1 || wc.status != want)
		return fail("a maker's completion", n == 1 ? (long)wc.status : n);
	return true;
}

static bool reopen(void)
{
	struct ibv_context *c = rc_open_first();
	struct ibv_device_attr attr;
	int ret = ibv_query_device(c, &attr);

	if (!ret)
		ret = ibv_close_device(c);
	return !ret || fail("open, query, close", ret);
}

/* One round with objects of its own; in some, the QP is broken, and has events when it goes. */
static bool make_round(struct poster_area *area, struct ibv_pd *own, struct ibv_cq *cq, bool breaks,
		       uint64_t seed)
{
	struct ibv_mr *r = ibv_reg_mr(own, area, sizeof(*area), (unsigned int)opts.access);
	struct ibv_sge sge = { (uintptr_t)area->src, MSG, r ? r->lkey : 0 };
	struct rc_qps p = { NULL, NULL };
	int ret;

	if (!r)
		return fail("ibv_reg_mr", errno);
	if (!make_pair(&p, own, cq, cq))
		return false;
	fill(area->src, MSG, seed);
	if (!post(p.a, IBV_WR_RDMA_WRITE, 0, sge, area->target, r->rkey) ||
	    !one_completion(cq, IBV_WC_SUCCESS))
		return false;
	if (!filled(area->target, MSG, seed))
		return fail("a maker's WRITE brought wrong data", 0);
	if (breaks) {
		broken++;
		if (!post(p.a, IBV_WR_RDMA_WRITE, 0, sge, area->target, ~r->rkey) ||
		    !one_completion(cq, IBV_WC_REM_ACCESS_ERR))
			return false;
	}
	if (!destroy_pair(&p))
		return false;
	ret = ibv_dereg_mr(r);
	return !ret || fail("ibv_dereg_mr", ret);
}

static void *maker(void *arg)
{
	struct poster_area *area = arg;
	uint64_t seed = (uintptr_t)arg;

	for (long i = 0; i < rounds / 4 && !failed; i++) {
		struct ibv_pd *own = ibv_alloc_pd(ctx);
		struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
		int ret;

		if (!own || !cq) {
			fail("a maker's PD or CQ", errno);
			break;
		}
		if (!make_round(area, own, cq, i % 4 == 3, rnd(&seed)))
			break;
		ret = ibv_resize_cq(cq, 200);
		if (!ret)
			ret = ibv_destroy_cq(cq);
		if (!ret)
			ret = ibv_dealloc_pd(own);
		if (ret)
			fail("a maker's CQ or PD", ret);
		if (i % 8 == 5)
			reopen();
	}
	return NULL;
}

/* --- events */

static void *async(void *arg)
{
	struct pollfd p = { ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event ev;

	(void)arg;
	while (!stop) {
		if (poll(&p, 1, 20) <= 0)
			continue;
		if (ibv_get_async_event(ctx, &ev)) {
			if (errno != EAGAIN)
				fail("ibv_get_async_event", errno);
			continue;
		}
		if (ev.event_type != IBV_EVENT_QP_ACCESS_ERR &&
		    ev.event_type != IBV_EVENT_COMM_EST && ev.event_type != IBV_EVENT_QP_FATAL)
			fail(ibv_event_type_str(ev.event_type), (long)ev.event_type);
		told++;
		ibv_ack_async_event(&ev);
	}
	return NULL;
}

static void *event_sender(void *arg)
{
	uint64_t seed = 99;

	(void)arg;
	for (long i = 0; i < rounds && !failed; i++) {
		uint32_t len = (uint32_t)sizeof(struct rc_head) + (uint32_t)(rnd(&seed) % 5000);

		rc_msg(mem->event_src, len, rnd(&seed));
		if (!post(event_pair.a, IBV_WR_SEND, 0, sge_of(mem->event_src, len), NULL, 0) ||
		    !one_completion(event_scq, IBV_WC_SUCCESS))
			break;
	}
	return NULL;
}

/* Take all that has arrived. Return: how much, or -1. */
static long event_take(void)
{
	struct ibv_wc wc;
	long got = 0;
	int n;

	while ((n = ibv_poll_cq(event_rcq, 1, &wc)) == 1) {
		uint8_t *buf = mem->event_recv[wc.wr_id];

		if (wc.status || !rc_msg_ok(buf, wc.byte_len) ||
		    !post_recv(event_pair.b, buf, wc.wr_id))
			return -1;
		got++;
	}
	return n ? -1 : got;
}

static void *event_receiver(void *arg)
{
	struct pollfd p = { chan->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	long got = 0, n;
	void *context;

	(void)arg;
	while (got < rounds && !failed) {
		ibv_req_notify_cq(event_rcq, 0);
		n = event_take();
		if (n < 0)
			fail("what a sleeper woke for", n);
		got += n;
		if (n)
			continue;
		if (poll(&p, 1, (int)(SLEEPS / 1000000)) != 1)
			fail("no completion event", got);
		else if (ibv_get_cq_event(chan, &cq, &context) || cq != event_rcq)
			fail("ibv_get_cq_event", errno);
		else
			ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

/* --- */

static void setup(void)
{
	ctx = rc_open_first();
	opts = rc_defaults;
	opts.send_wr = 256;
	opts.recv_wr = RECVS;
	opts.send_sge = opts.recv_sge = 1;
	/* What made it readable may be gone with its QP when it is read. */
	fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);
	mem = aligned_alloc(4096, (sizeof(*mem) + 4095) & ~4095UL);
	pd = ibv_alloc_pd(ctx);
	if (!mem || !pd)
		die("cannot set up: %s", strerror(errno));
	memset(mem, 0, sizeof(*mem));
	mr = ibv_reg_mr(pd, mem, sizeof(*mem), (unsigned int)opts.access);
	chan = ibv_create_comp_channel(ctx);
	shared_cq = ibv_create_cq(ctx, 1024, NULL, NULL, 0);
	event_scq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	event_rcq = ibv_create_cq(ctx, 64, NULL, chan, 0);
	if (!mr || !chan || !shared_cq || !event_scq || !event_rcq)
		die("cannot set up: %s", strerror(errno));
	if (!make_pair(&shared, pd, shared_cq, shared_cq) ||
	    !make_pair(&event_pair, pd, event_scq, event_rcq))
		die("cannot connect");
	for (uint64_t i = 0; i < RECVS; i++) {
		post_recv(shared.b, mem->recv[i], i);
		post_recv(event_pair.b, mem->event_recv[i], i);
	}
	for (int i = 0; i < POSTERS; i++) {
		posters[i].index = i;
		posters[i].area = &mem->poster[i];
		posters[i].seed = 1 + (uint64_t)i;
	}
}

static void teardown(void)
{
	bool gone = destroy_pair(&shared) && destroy_pair(&event_pair) &&
		    !ibv_destroy_cq(shared_cq) && !ibv_destroy_cq(event_scq) &&
		    !ibv_destroy_cq(event_rcq) && !ibv_destroy_comp_channel(chan) &&
		    !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd) && !ibv_close_device(ctx);

	ok(gone, "all objects go");
	free(mem);
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int ret = pthread_create(&t, NULL, fn, arg);

	if (ret)
		die("pthread_create: %s", strerror(ret));
	return t;
}

int main(int argc, char **argv)
{
	pthread_t finite[POSTERS + MAKERS + 2], endless[POLLERS + 1];
	int n = 0, k = 0;

	rounds = argc > 1 ? atol(argv[1]) : 400;
	setup();
	for (int i = 0; i < POLLERS; i++)
		endless[k++] = start(poller, NULL);
	endless[k++] = start(async, NULL);
	for (int i = 0; i < POSTERS; i++)
		finite[n++] = start(poster, &posters[i]);
	for (int i = 0; i < MAKERS; i++)
		finite[n++] = start(maker, &mem->maker[i]);
	finite[n++] = start(event_sender, NULL);
	finite[n++] = start(event_receiver, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(finite[i], NULL);
	stop = true;
	for (int i = 0; i < k; i++)
		pthread_join(endless[i], NULL);
	ok(!failed, "%ld rounds, %ld broken QPs, %ld asynchronous events", rounds, broken, told);
	if (!failed)
		teardown();
	return tap_failed != 0;
}
