/* SPDX-License-Identifier: MIT */
/*
 * The order of bytes: a reader that sees the last byte of a message sees all of it.
 *	app_qp_order local|remote|pidns|lines COUNT [SEED]
 *
 * A thread polls the last byte of the next message's buffer, as MPI, UCX and ib_write_lat do, and
 * then checks the bytes before it. The buffers are shared memory, so it may do that
 * here also when the other end lives in another process.
 *
 * lines: small WRITEs to one line of memory each, which are posted together to lines in a row. A
 * reader that sees the first word of one sees the other words of that line, too, if memory is
 * mapped on both sides.
 */
#include "tests/lib/c/rc.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AREA (1u << 18)
/*
 * Seconds of a run, by ORDER_SECONDS. On a busy machine each message waits for its reader to be
 * scheduled, twice; what has been sent in time is checked.
 */
static long seconds = 50;

static struct end *a, *b;

/* One message at a time: ready by the watcher when the place is prepared, sent by the poster. */
static _Atomic(long) ready, landed;
static _Atomic(long) stale;
static _Atomic(bool) stop;

struct shot {
	uint8_t *where;
	uint32_t len;
	uint32_t soff;
	uint8_t value;
};

/* Small ones most of the time, at any alignment. */
static struct shot shot_of(uint64_t *seed, uint8_t *base, long i)
{
	uint32_t max = rnd(seed) % 8 ? 5000 : 70000;
	struct shot s;

	s.len = 1 + (uint32_t)(rnd(seed) % max);
	s.where = base + rnd(seed) % (AREA - s.len);
	s.soff = (uint32_t)(rnd(seed) % (AREA - s.len));
	s.value = (uint8_t)(1 + i % 250);
	return s;
}

/* The first failure, for the TAP comment: the side's own text, or a completion's status. */
static char trouble[160];

static bool accepted(long i, const char *what, int ret)
{
	if (ret)
		snprintf(trouble, sizeof(trouble), "message %ld: %s: %s", i, what, strerror(ret));
	return !ret;
}

static void wait_until(_Atomic(long) *what, long i)
{
	uint64_t began = now_ns();

	while (*what != i)
		poll_pause(began, 0);
}

static bool completes(struct end *e, int which, long i)
{
	const char *end = which ? "receive" : "send";
	struct ibv_wc wc;

	if (!end_poll(e, which, 120000, &wc))
		snprintf(trouble, sizeof(trouble),
			 "message %ld: no completion of the %s in 120 s, QPs in states %d, %d", i,
			 end, end_state(a), end_state(b));
	else if (wc.status)
		snprintf(trouble, sizeof(trouble), "message %ld: the %s ends with %s", i, end,
			 ibv_wc_status_str(wc.status));
	else
		return true;
	return false;
}

/* Messages sent, or rows. */
static long sent;

/* Whether the run has time left after @sent of @count messages. */
static bool has_time(uint64_t began, long count)
{
	if (now_ns() - began < (uint64_t)seconds * 1000000000)
		return true;
	note("the machine is busy: %ld of %ld sent in %ld s", sent, count, seconds);
	return false;
}

struct job {
	uint64_t seed;
	long count;
	uint8_t *base;
};

static void *watcher(void *arg)
{
	struct job *job = arg;
	uint64_t seed = job->seed;

	for (long i = 1; i <= job->count && !stop; i++) {
		struct shot s = shot_of(&seed, job->base, i);
		volatile uint8_t *last = s.where + s.len - 1;
		unsigned int spins = 0;
		uint64_t began = now_ns();
		long bad = 0;

		memset(s.where, 0xff, s.len);
		atomic_store(&ready, i);
		while (*last != s.value && !stop)
			if (++spins % 4096 == 0)
				poll_pause(began, 0);
		atomic_thread_fence(memory_order_acquire);
		for (uint32_t k = 0; k < s.len; k++)
			bad += ((volatile uint8_t *)s.where)[k] != s.value;
		stale += !!bad && !stop;
		atomic_store(&landed, i);
	}
	return NULL;
}

static bool run(enum ibv_wr_opcode op, long count, uint64_t start)
{
	struct end *target = op == IBV_WR_RDMA_READ ? a : b;
	struct job job = { start, count, target->buf };
	uint64_t seed = start, began = now_ns();
	pthread_t thread;
	bool good = true;

	trouble[0] = '\0';
	ready = landed = 0;
	stale = 0;
	stop = false;
	sent = 0;
	pthread_create(&thread, NULL, watcher, &job);
	for (long i = 1; i <= count && good && has_time(began, count); i++) {
		struct shot s = shot_of(&seed, target->buf, i);
		uint8_t *src = (op == IBV_WR_RDMA_READ ? b : a)->buf + AREA + s.soff;
		struct rc_wr wr;

		memset(src, s.value, s.len);
		wait_until(&ready, i);
		if (op == IBV_WR_SEND) {
			struct rc_wr recv = wr_make(op, 0, b, s.where, s.len, NULL, NULL);

			good = accepted(i, "ibv_post_recv", end_recv(b, &recv));
		}
		if (op == IBV_WR_RDMA_READ)
			wr = wr_make(op, 1, a, s.where, s.len, b, src);
		else
			wr = wr_make(op, 1, a, src, s.len, b, s.where);
		good = good && accepted(i, "ibv_post_send", end_send(a, &wr)) && completes(a, 0, i);
		/* A receive's bytes need not be there before the poll that reports it. */
		if (good && op == IBV_WR_SEND)
			good = completes(b, 1, i);
		if (good)
			wait_until(&landed, i);
		sent = i;
	}
	stop = true;
	pthread_join(thread, NULL);
	return good;
}

#define LINE  64u
#define WORDS (LINE / 8)
#define ROW   4u

static _Atomic(long) torn;

/* A row has come when the first word of its last line has. */
static void *row_watcher(void *arg)
{
	struct job *job = arg;
	volatile uint64_t *row = (void *)job->base, *last = row + (size_t)(ROW - 1) * WORDS;

	for (uint64_t i = 1; i <= (uint64_t)job->count && !stop; i++) {
		unsigned int spins = 0;
		uint64_t began = now_ns();
		long bad = 0;

		atomic_store(&ready, (long)i);
		while (*last != i && !stop)
			if (++spins % 4096 == 0)
				poll_pause(began, 0);
		atomic_thread_fence(memory_order_acquire);
		torn += last[WORDS - 1] != i && !stop;
		while (last[WORDS - 1] != i && !stop)
			;
		atomic_thread_fence(memory_order_acquire);
		for (unsigned int k = 0; k < ROW * WORDS; k++)
			bad += row[k] != i;
		stale += !!bad && !stop;
		atomic_store(&landed, (long)i);
	}
	return NULL;
}

static bool run_rows(long count)
{
	struct job job = { 0, count, b->buf };
	uint64_t *src = (void *)(a->buf + AREA);
	struct rc_wr wr[ROW];
	uint64_t began = now_ns();
	pthread_t thread;
	bool good = true;
	int bad;

	pthread_create(&thread, NULL, row_watcher, &job);
	for (long i = 1; i <= count && good && has_time(began, count); i++) {
		for (unsigned int k = 0; k < ROW * WORDS; k++)
			src[k] = (uint64_t)i;
		for (unsigned int k = 0; k < ROW; k++)
			wr[k] = wr_make(IBV_WR_RDMA_WRITE, k, a, src + (size_t)k * WORDS, LINE, b,
					b->buf + (size_t)k * LINE);
		wait_until(&ready, i);
		good = accepted(i, "ibv_post_send", end_sends(a, wr, ROW, &bad));
		for (unsigned int k = 0; k < ROW && good; k++)
			good = completes(a, 0, i);
		if (good)
			wait_until(&landed, i);
		sent = i;
	}
	stop = true;
	pthread_join(thread, NULL);
	return good;
}

/* A line is not copied at once either, but within nanoseconds: hardly ever seen. */
static void lines(long count)
{
	bool good = run_rows(count);

	ok(good && !stale, "%ld rows of %u lines, none with an older line before its last one",
	   sent, ROW);
	ok(torn * 100 <= sent, "of their last lines none is seen in part");
	if (!good || stale || torn)
		note("%ld with older lines, %ld in part%s%s", (long)stale, (long)torn,
		     trouble[0] ? ", " : "", trouble);
}

int main(int argc, char **argv)
{
	static const struct {
		enum ibv_wr_opcode op;
		const char *name;
		int share;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, "RDMA_WRITE", 1 },
		{ IBV_WR_RDMA_READ, "RDMA_READ", 4 },
		{ IBV_WR_SEND, "SEND", 4 },
	};
	const char *where = argc > 1 ? argv[1] : "local";
	long count = argc > 2 ? atol(argv[2]) : 10000;
	const char *budget = getenv("ORDER_SECONDS");
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : now_ns() | 1;

	if (budget)
		seconds = atol(budget);
	b = strcmp(where, "local") ? end_fork(!strcmp(where, "pidns")) : end_local();
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	if (!strcmp(where, "lines")) {
		lines(count);
		end_close(b);
		return tap_failed != 0;
	}
	for (int i = 0; i < 3; i++) {
		bool good = run(ops[i].op, count / ops[i].share, seed);

		ok(good && !stale,
		   "%s: %ld messages, none with older bytes before its last one (%s)", ops[i].name,
		   sent, where);
		if (!good || stale)
			note("seed %#lx: %ld with older bytes%s%s", (unsigned long)seed,
			     (long)stale, trouble[0] ? ", " : "", trouble);
	}
	end_close(b);
	return tap_failed != 0;
}
