/* SPDX-License-Identifier: MIT */
/*
 * The engine from several threads at once: two threads per client, as threads of one process share
 * its engine, and one thread in the fabric process's place. Thread sanitizer runs this, too.
 *
 * The threads form a ring. Each sends to the next one, writes and reads back its memory and adds to
 * its counter, and now and then makes, uses and destroys queue pairs of its own.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define THREADS	 6u
#define CLIENTS	 3u
#define OPS	 2000u
#define CHURN	 16u /* operations between two makings of QPs */
#define RECVS	 8u
#define MSG	 (32u << 10)
#define LIMIT_NS 120000000000ULL

/* The part of its client's memory that a thread has. */
struct area {
	u8 src[MSG];
	u8 back[MSG];
	u8 target[MSG]; /* the thread before writes here */
	u8 recv[RECVS][MSG];
	u8 own[2][MSG];
	u64 sum; /* the thread before adds to it */
	u64 old;
};

struct worker {
	pthread_t thread;
	u32 index;
	u32 client;
	struct area *area;
	struct worker *next; /* to whom it sends */
	struct emu_qp tx; /* connected with next->rx */
	struct emu_qp rx;
	u64 seed;
	u32 ops;
	u64 added;
	u32 sends;
	u32 received; /* read by the thread before */
	u32 last_sends; /* all SENDs of this thread, once it knows; 0: not yet */
	const char *error;
};

_Static_assert(2 * sizeof(struct area) <= EMU_AREA, "two threads share a client's memory");

static struct emu *m;
static struct worker workers[THREADS];
static u32 failed;
static u64 give_up;

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static bool fail(struct worker *w, const char *why)
{
	w->error = why;
	store_release(&failed, 1);
	return false;
}

/* A program polls and finds nothing. Return: whether to continue. */
static bool idle(struct worker *w)
{
	if (load_acquire(&failed))
		return false;
	if (now_ns() > give_up)
		return fail(w, "nothing happens any more");
	if (!engine_poke(&m->c[w->client].e))
		sched_yield();
	return true;
}

static u64 seed_of(const struct worker *from, u32 k)
{
	return from->index * 1000003ULL + k * 7919ULL;
}

static void post_recv(struct worker *w, u32 k)
{
	emu_recv(m, &w->rx, k, w->area->recv[k % RECVS], MSG);
}

/* Take what has come from the thread before. Return: false on an error. */
static bool receive(struct worker *w)
{
	const struct worker *prev = &workers[(w->index + THREADS - 1) % THREADS];
	u8 *buf = w->area->recv[w->received % RECVS];
	struct cqe c;

	while (emu_poll(m, &w->rx.rcq, &c, buf)) {
		if (c.status != WCS_SUCCESS || c.wr_id != w->received)
			return fail(w, "a receive failed");
		if (!emu_filled(buf, c.byte_len, seed_of(prev, w->received)))
			return fail(w, "a SEND brought wrong data");
		post_recv(w, w->received + RECVS);
		store_release(&w->received, w->received + 1);
		buf = w->area->recv[w->received % RECVS];
	}
	return true;
}

/* Wait for the completion of @q's one request; what comes in meanwhile is received. */
static bool wait_done(struct worker *w, struct emu_qp *q)
{
	struct cqe c;

	while (!emu_poll(m, &q->scq, &c, NULL))
		if (!receive(w) || !idle(w))
			return false;
	return c.status == WCS_SUCCESS || fail(w, "a request failed");
}

static bool do_send(struct worker *w, u32 len)
{
	/* As many as the other has receives for. */
	while (w->sends - load_acquire(&w->next->received) >= RECVS)
		if (!receive(w) || !idle(w))
			return false;
	emu_fill(w->area->src, len, seed_of(w, w->sends));
	emu_post(m, &w->tx, WR_SEND, w->sends++, w->area->src, len);
	emu_ring(m, &w->tx);
	return wait_done(w, &w->tx);
}

static bool do_write(struct worker *w, u32 len)
{
	struct sq_wqe *r;

	emu_fill(w->area->src, len, w->seed);
	r = emu_post(m, &w->tx, WR_RDMA_WRITE, 1, w->area->src, len);
	emu_remote(m, r, w->next->client, w->next->area->target);
	/* A doorbell left pending is somebody's: here, that of who polls or holds the token. */
	emu_publish(m, &w->tx);
	if (!wait_done(w, &w->tx))
		return false;
	r = emu_post(m, &w->tx, WR_RDMA_READ, 2, w->area->back, len);
	emu_remote(m, r, w->next->client, w->next->area->target);
	emu_ring(m, &w->tx);
	if (!wait_done(w, &w->tx))
		return false;
	return !memcmp(w->area->src, w->area->back, len) || fail(w, "a READ brought wrong data");
}

static bool do_add(struct worker *w)
{
	u64 old = w->added;
	struct sq_wqe *r = emu_post(m, &w->tx, WR_ATOMIC_FETCH_AND_ADD, 3, &w->area->old, 8);

	emu_remote(m, r, w->next->client, &w->next->area->sum);
	r->compare_add = 1 + w->index;
	w->added += r->compare_add;
	emu_ring(m, &w->tx);
	if (!wait_done(w, &w->tx))
		return false;
	return w->area->old == old || fail(w, "an atomic returned a wrong value");
}

/* A pair of QPs of its own: made, used, destroyed. */
static bool do_churn(struct worker *w)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b;
	struct sq_wqe *r;
	bool fine;

	o.depth = 4;
	emu_connect(m, w->client, w->client, &o, &a, &b);
	emu_fill(w->area->own[0], MSG, w->seed);
	r = emu_post(m, &a, WR_RDMA_WRITE, 0, w->area->own[0], MSG);
	emu_remote(m, r, w->client, w->area->own[1]);
	emu_ring(m, &a);
	fine = wait_done(w, &a) &&
	       (emu_filled(w->area->own[1], MSG, w->seed) || fail(w, "a WRITE brought wrong data"));
	emu_destroy(m, &a);
	emu_destroy(m, &b);
	return fine;
}

static bool one_op(struct worker *w)
{
	u32 len = (u32)(emu_rnd(&w->seed) % (emu_rnd(&w->seed) % 4 ? 200 : MSG));

	if (w->ops++ % CHURN == 0 && !do_churn(w))
		return false;
	switch (emu_rnd(&w->seed) % 3) {
	case 0:
		return do_send(w, len);
	case 1:
		return do_write(w, len);
	default:
		return do_add(w);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct worker *prev = &workers[(w->index + THREADS - 1) % THREADS];
	u32 all = 0;

	while (w->ops < OPS)
		if (!one_op(w) || !receive(w))
			return NULL;
	store_release(&w->last_sends, w->sends);
	while (!(all = load_acquire(&prev->last_sends)) || w->received < all)
		if (!receive(w) || !idle(w))
			return NULL;
	return NULL;
}

static void setup(void)
{
	m = emu_new(1);
	for (u32 i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){ .index = i, .client = i % CLIENTS, .seed = i + 1 };
		w->area = (struct area *)(void *)m->c[w->client].mem + i / CLIENTS;
		w->next = &workers[(i + 1) % THREADS];
	}
	for (u32 i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		emu_connect(m, w->client, w->next->client, &emu_conn_defaults, &w->tx,
			    &w->next->rx);
	}
	for (u32 i = 0; i < THREADS; i++)
		for (u32 k = 0; k < RECVS; k++)
			post_recv(&workers[i], k);
	failed = 0;
	give_up = now_ns() + LIMIT_NS;
}

/* The fabric process's part: what is left when a budget was used up. */
static void *serve(void *stop)
{
	while (!load_acquire((u32 *)stop)) {
		if (engine_enter(&m->fabric))
			break;
		engine_timers(&m->fabric);
		engine_leave(&m->fabric);
		usleep(200);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t fabric;
	u32 stop = 0;

	setup();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&fabric, NULL, serve, &stop), 0);
	for (u32 i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
				      0);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	store_release(&stop, 1);
	pthread_join(fabric, NULL);
	for (u32 i = 0; i < THREADS; i++) {
		const struct worker *w = &workers[i];

		if (w->error)
			printf("# thread %u: %s\n", i, w->error);
		CU_ASSERT_PTR_NULL(w->error);
		CU_ASSERT_EQUAL(w->next->received, w->sends);
		CU_ASSERT_EQUAL(w->next->area->sum, w->added);
	}
	CU_ASSERT_EQUAL(m->hca->token, TOKEN_FREE);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "several threads, all data verified", test_threads },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("threads", tests);
}
