/* SPDX-License-Identifier: MIT */
/* Order among the threads of a replay: which waits for which, and that each is woken. */
#include "tests/lib/c/cu.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/turn.h"
#include "traces/replay/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4u
#define RECORDS 20000u /* of each thread at most */
#define HEAD	sizeof(struct vt_head)
/* Many times what it takes; and a small part of what it took if all sleeps ended by their bound. */
#define SOON_NS 60000000000ULL
#define NAP_US	20000

/**
 * struct entry - a record, and the number of records of each thread that had ended before it began.
 */
struct entry {
	struct vt_rec rec;
	uint32_t before[THREADS];
};

static struct world {
	struct rp_world w;
	struct rp_share share;
	struct rp_slot slot[THREADS];
	struct vt_program p;
	struct rp_prog g;
	struct rp_thread t[THREADS];
	struct entry *entry[THREADS];
	uint32_t n[THREADS], done[THREADS], wrong;
} world;

static void make(struct world *o)
{
	uint32_t i;

	memset(o, 0, sizeof(*o));
	o->w.share = &o->share;
	o->w.slot = o->slot;
	o->w.n_slots = THREADS;
	o->w.dir.prog = &o->p;
	o->w.dir.n_progs = 1;
	o->p.size = HEAD + sizeof(struct entry) * THREADS * RECORDS;
	o->p.data = calloc(1, o->p.size);
	if (!o->p.data)
		abort();
	o->g.w = &o->w;
	o->g.p = &o->p;
	for (i = 0; i < THREADS; i++) {
		o->slot[i].next_end = o->slot[i].wanted = RP_DONE;
		o->t[i].prog = &o->g;
		o->t[i].slot = &o->slot[i];
		o->entry[i] = (struct entry *)(o->p.data + HEAD) + (size_t)i * RECORDS;
	}
}

static struct vt_rec *put(struct world *o, uint32_t thread, uint64_t begin, uint64_t end,
			  enum vt_kind kind)
{
	struct vt_rec *rec = &o->entry[thread][o->n[thread]++].rec;

	rec->size = sizeof(struct entry);
	rec->kind = kind;
	rec->thread = thread;
	rec->begin = begin;
	rec->end = end;
	return rec;
}

/* Threads begin and end calls in any order. */
static void record(struct world *o, uint32_t threads, unsigned int seed)
{
	uint32_t ended[THREADS] = { 0 }, i, k;
	bool busy[THREADS] = { false };
	struct entry *e;
	uint64_t number;

	for (number = 1; o->n[0] < RECORDS; number++) {
		i = (uint32_t)rand_r(&seed) % threads;
		if (o->n[i] == RECORDS)
			continue;
		if (busy[i]) {
			o->entry[i][ended[i]++].rec.end = number;
		} else {
			e = &o->entry[i][o->n[i]];
			put(o, i, number, 0, VT_POLL);
			for (k = 0; k < threads; k++)
				e->before[k] = ended[k];
		}
		busy[i] = !busy[i];
	}
	for (i = 0; i < threads; i++) {
		if (busy[i])
			o->entry[i][ended[i]].rec.end = number++;
		o->slot[i].next_end = o->n[i] ? o->entry[i][0].rec.end : RP_DONE;
	}
}

static void *play(void *arg)
{
	struct rp_thread *t = arg;
	struct world *o = &world;
	uint32_t me = (uint32_t)(t - o->t), i, k;

	for (i = 0; i < o->n[me]; i++) {
		const struct entry *e = &o->entry[me][i];

		rp_slot_enter(t, &e->rec);
		if (!rp_turn_wait(t, &e->rec))
			break;
		for (k = 0; k < THREADS; k++)
			if (k != me &&
			    __atomic_load_n(&o->done[k], __ATOMIC_SEQ_CST) < e->before[k])
				__atomic_add_fetch(&o->wrong, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&o->done[me], 1, __ATOMIC_SEQ_CST);
	}
	rp_slot_enter(t, NULL);
	return NULL;
}

static void all_in_order(uint32_t threads, unsigned int seed)
{
	struct world *o = &world;
	uint64_t since = vt_now();
	uint32_t i;

	make(o);
	record(o, threads, seed);
	for (i = 0; i < threads; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&o->t[i].id, NULL, play, &o->t[i]), 0);
	for (i = 0; i < threads; i++)
		pthread_join(o->t[i].id, NULL);
	for (i = 0; i < threads; i++)
		CU_ASSERT_EQUAL(o->done[i], o->n[i]);
	CU_ASSERT_EQUAL(o->wrong, 0);
	CU_ASSERT(vt_now() - since < SOON_NS);
	free(o->p.data);
}

static void test_two(void)
{
	all_in_order(2, 1);
}

static void test_many(void)
{
	all_in_order(THREADS, 2);
}

static void *take_turn(void *arg)
{
	struct rp_thread *t = arg;

	return rp_turn_wait(t, &world.entry[t - world.t][0].rec) ? t : NULL;
}

/* A thread waits for its turn, and somebody fails. */
static void test_failure(void)
{
	struct world *o = &world;
	pthread_t id;
	void *had;

	make(o);
	put(o, 0, 1, 2, VT_CALL);
	put(o, 1, 3, 4, VT_CALL);
	o->slot[0].next_end = 2;
	o->slot[1].next_end = 4;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&id, NULL, take_turn, &o->t[1]), 0);
	usleep(NAP_US);
	CU_ASSERT_FALSE(rp_rec_may_begin(&o->w, &o->slot[1], 3));
	CU_ASSERT_EQUAL(__atomic_load_n(&o->slot[1].since, __ATOMIC_SEQ_CST), 0);
	rp_fail(&o->w, "it has failed");
	pthread_join(id, &had);
	CU_ASSERT_PTR_NULL(had);
	CU_ASSERT_STRING_EQUAL(o->share.why, "it has failed");
	free(o->p.data);
}

/*
 * Whether the poll of thread 0, from 10 to 20, waits for one that is at a record from @begin to
 * @end.
 */
static bool waits(uint64_t begin, uint64_t end, enum vt_kind kind)
{
	struct world *o = &world;
	struct vt_rec *poll;
	bool waited;

	make(o);
	poll = put(o, 0, 10, 20, VT_POLL);
	rp_slot_enter(&o->t[0], poll);
	rp_slot_enter(&o->t[1], put(o, 1, begin, end, kind));
	/* It does not get on: the wait is a bounded one. */
	waited = rp_turn_yield(&o->t[0], poll);
	rp_slot_enter(&o->t[1], NULL);
	CU_ASSERT_FALSE(rp_turn_yield(&o->t[0], poll));
	free(o->p.data);
	return waited;
}

static void test_others(void)
{
	CU_ASSERT(waits(9, 19, VT_POLL));
	CU_ASSERT(waits(19, 21, VT_POST_SEND));
	CU_ASSERT(waits(19, 21, VT_POST_RECV));
	/* It may itself wait for what comes behind the poll. */
	CU_ASSERT_FALSE(waits(19, 21, VT_POLL));
	CU_ASSERT_FALSE(waits(21, 22, VT_POST_SEND));
}

/* A trace that is longer in another process: what lies behind our end is not looked at. */
static void test_beyond(void)
{
	struct world *o = &world;
	struct vt_rec *poll;

	make(o);
	poll = put(o, 0, 10, 20, VT_POLL);
	rp_slot_enter(&o->t[0], poll);
	rp_slot_enter(&o->t[1], put(o, 1, 11, 15, VT_POST_SEND));
	o->p.size = o->slot[1].off;
	CU_ASSERT_FALSE(rp_turn_yield(&o->t[0], poll));
	o->p.size += sizeof(struct entry);
	CU_ASSERT(rp_turn_yield(&o->t[0], poll));
	free(o->p.data);
}

int main(void)
{
	return cu_run("turn", (struct cu_test[]){ { "two threads", test_two },
						  { "many threads", test_many },
						  { "a failure wakes who waits", test_failure },
						  { "what a poll waits for", test_others },
						  { "beyond the end", test_beyond },
						  { NULL, NULL } });
}
