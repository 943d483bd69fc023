/* SPDX-License-Identifier: MIT */
/* The memory of model.h and the search, without instrumentation themselves. */
#include "tests/litmus/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define LOCS	   48u
#define MSGS	   32u
#define CHOICES	   400u
#define VISITED	   (1u << 22)
#define STACK_SIZE (256u << 10)

struct view {
	u8 ts[LOCS];
};

/* A store: @view is what a reader that acquires it knows from then on. */
struct message {
	u64 value;
	struct view view;
};

struct location {
	void *addr;
	u32 size;
	u32 n;
	u32 sc; /* the oldest that a sequentially consistent load may read */
	u32 sc_written; /* the same, after a sequentially consistent fence, for all loads */
	struct message msg[MSGS];
};

/*
 * @start: where it begins, and @at, where it goes on; swapcontext(3) would cost system calls
 * @acq, @rel: what an acquire fence would add, and what the last release fence published
 */
struct thread {
	ucontext_t start;
	jmp_buf at;
	struct view cur, acq, rel;
	u64 history; /* hash of all that it has read: the thread's own state follows from it */
	u32 steps;
	bool began, ended;
};

static struct thread threads[LITMUS_THREADS];
static char stacks[LITMUS_THREADS][STACK_SIZE] __attribute__((aligned(64)));
static struct location locs[LOCS];
static struct view sc_view;
static u32 n_locs, n_threads;
static struct thread *running;
static jmp_buf scheduler;
static const struct litmus_test *test;

/* The path of choices to the execution at hand. */
static struct {
	u32 taken, of;
} choice[CHOICES];
static u32 n_choices, depth, replay;
static u32 steps_max; /* of a thread, or 0: any number */
static bool is_cut; /* a thread has taken more */

static u64 visited[VISITED];
static u64 n_states;

static u32 choose_next(u32 of)
{
	if (of == 1)
		return 0;
	if (depth == CHOICES)
		model_fatal("an execution does not end");
	if (depth == n_choices) {
		choice[depth].taken = 0;
		choice[depth].of = of;
		n_choices++;
	} else if (choice[depth].of != of) {
		model_fatal("an execution cannot be repeated");
	}
	return choice[depth++].taken;
}

static bool order_acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
	       order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void view_join(struct view *to, const struct view *from)
{
	u32 i;

	for (i = 0; i < LOCS; i++)
		to->ts[i] = to->ts[i] > from->ts[i] ? to->ts[i] : from->ts[i];
}

static struct location *location_find(void *addr, u32 size)
{
	struct location *l;
	u32 i;

	for (i = 0; i < n_locs && locs[i].addr != addr; i++)
		;
	l = &locs[i];
	if (i == n_locs) {
		if (n_locs++ == LOCS)
			model_fatal("too many locations");
		memset(l, 0, offsetof(struct location, msg));
		l->addr = addr;
		l->size = size;
	}
	/* The first message, or a plain store, which everybody sees. */
	if (!l->n || memory_get(addr, size) != l->msg[l->n - 1].value) {
		if (l->n == MSGS)
			model_fatal("too many stores to a location");
		memset(&l->msg[l->n], 0, sizeof(l->msg[0]));
		l->msg[l->n++].value = memory_get(addr, size);
		l->sc = l->n - 1;
	}
	return l;
}

static void history_add(u64 v)
{
	running->history = mix64(running->history ^ v);
}

/* Back to the scheduler, until it lets the running thread go on. */
static void thread_pause(void)
{
	if (!_setjmp(running->at))
		_longjmp(scheduler, 1);
}

static void thread_resume(void)
{
	if (_setjmp(scheduler))
		return;
	if (running->began)
		_longjmp(running->at, 1);
	running->began = true;
	setcontext(&running->start);
}

/* Every atomic access: the others may run first. */
static void step_begin(void *addr)
{
	history_add((uintptr_t)addr);
	is_cut = steps_max && ++running->steps > steps_max;
	thread_pause();
}

static u64 message_read(struct location *l, u32 ts, int order)
{
	u32 i = (u32)(l - locs);

	running->cur.ts[i] = (u8)ts;
	view_join(order_acquires(order) ? &running->cur : &running->acq, &l->msg[ts].view);
	if (order == __ATOMIC_SEQ_CST && ts > l->sc)
		l->sc = ts;
	history_add(l->msg[ts].value ^ (u64)ts << 56);
	return l->msg[ts].value;
}

static u32 message_oldest(const struct location *l, int order)
{
	u32 low = running->cur.ts[l - locs];

	if (order != __ATOMIC_SEQ_CST)
		return low;
	return max_u32(max_u32(low, l->sc), sc_view.ts[l - locs]);
}

static void message_write(struct location *l, u64 value, int order, const struct view *follows)
{
	struct message *m = &l->msg[l->n];
	u32 i = (u32)(l - locs);

	if (l->n == MSGS)
		model_fatal("too many stores to a location");
	running->cur.ts[i] = (u8)l->n;
	m->value = value;
	m->view = order_releases(order) ? running->cur : running->rel;
	m->view.ts[i] = (u8)l->n;
	if (follows)
		view_join(&m->view, follows);
	if (order == __ATOMIC_SEQ_CST)
		l->sc = l->sc_written = l->n;
	l->n++;
	undo_note(l->addr);
	memcpy(l->addr, &value, l->size);
}

static bool memory_is_stack(const void *p)
{
	return (const char *)p >= stacks[0] &&
	       (const char *)p < stacks[LITMUS_THREADS - 1] + STACK_SIZE;
}

bool memory_is_own(const void *p)
{
	return !running || memory_is_stack(p);
}

u64 model_load(void *addr, u32 size, int order)
{
	struct location *l;
	u32 low;

	if (memory_is_own(addr))
		return memory_get(addr, size);
	step_begin(addr);
	l = location_find(addr, size);
	low = message_oldest(l, order);
	return message_read(l, l->n - 1 - choose_next(l->n - low), order);
}

void model_store(void *addr, u32 size, u64 value, int order)
{
	if (running) {
		step_begin(addr);
		message_write(location_find(addr, size), value, order, NULL);
		return;
	}
	death_store(addr, order);
	memcpy(addr, &value, size);
}

u64 model_rmw(void *addr, u32 size, enum rmw_op op, u64 v, int order)
{
	struct location *l;
	u64 old;
	u32 ts;

	if (running)
		step_begin(addr);
	old = memory_get(addr, size);
	v = op == RMW_ADD ? old + v : op == RMW_OR ? old | v : op == RMW_AND ? old & v : v;
	if (!running) {
		death_store(addr, order);
		memcpy(addr, &v, size);
		return old;
	}
	l = location_find(addr, size);
	ts = l->n - 1;
	message_read(l, ts, order);
	message_write(l, v, order, &l->msg[ts].view);
	return old;
}

bool model_cas(void *addr, u32 size, u64 *expected, u64 v, int order, int failed)
{
	u32 ts, low, n = 0, at[MSGS];
	struct location *l;

	if (!running)
		model_fatal("compare-and-swap outside a thread");
	step_begin(addr);
	l = location_find(addr, size);
	ts = l->n - 1;
	/* A failure may have read any value but the expected one. */
	at[n++] = ts;
	for (low = message_oldest(l, failed); low < ts; low++)
		if (l->msg[low].value != *expected)
			at[n++] = low;
	ts = at[choose_next(n)];
	if (l->msg[ts].value != *expected) {
		*expected = message_read(l, ts, failed);
		return false;
	}
	message_read(l, ts, order);
	message_write(l, v, order, &l->msg[ts].view);
	return true;
}

void model_fence(int order)
{
	u32 i;

	if (!running) {
		death_fence(order);
		return;
	}
	if (order == __ATOMIC_SEQ_CST)
		step_begin(&sc_view);
	if (order_acquires(order))
		view_join(&running->cur, &running->acq);
	if (order == __ATOMIC_SEQ_CST) {
		view_join(&running->cur, &sc_view);
		for (i = 0; i < n_locs; i++)
			running->cur.ts[i] = (u8)max_u32(running->cur.ts[i], locs[i].sc_written);
		sc_view = running->cur;
	}
	if (order_releases(order))
		running->rel = running->cur;
}

void model_plain_store(void *p, size_t n)
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + n;

	/* A thread's own variables need no undo, and its stack is in use. */
	if (memory_is_stack(p))
		return;
	death_plain_store(at, end);
	for (; at < end; at += 8)
		undo_note((void *)at);
}

/* --- the search --- */

static void thread_main(int nth)
{
	test->thread[nth]();
	threads[nth].ended = true;
	_longjmp(scheduler, 1);
}

static void threads_start(void)
{
	u32 i;

	memset(threads, 0, sizeof(threads));
	memset(&sc_view, 0, sizeof(sc_view));
	n_locs = 0;
	is_cut = false;
	for (i = 0; i < LITMUS_THREADS && test->thread[i]; i++) {
		getcontext(&threads[i].start);
		threads[i].start.uc_stack.ss_sp = stacks[i];
		threads[i].start.uc_stack.ss_size = STACK_SIZE;
		threads[i].history = i + 1;
		makecontext(&threads[i].start, (void (*)(void))thread_main, 1, (int)i);
	}
	n_threads = i;
}

static u64 state_hash(void)
{
	u64 h = fnv1a(FNV1A_BASIS, &sc_view, sizeof(sc_view)), sum = 0;
	u32 i, k;

	for (i = 0; i < n_threads; i++) {
		h = mix64(h ^ threads[i].history ^ (u64)threads[i].ended << 63);
		h = fnv1a(h, &threads[i].cur, 3 * sizeof(struct view));
	}
	for (i = 0; i < n_locs; i++) {
		u64 one = mix64((uintptr_t)locs[i].addr ^ (u64)locs[i].sc << 40 ^
				(u64)locs[i].sc_written << 48 ^ (u64)i << 56);

		for (k = 0; k < locs[i].n; k++)
			one = fnv1a(mix64(one ^ locs[i].msg[k].value), &locs[i].msg[k].view,
				    sizeof(struct view));
		sum += one;
	}
	return mix64(h ^ sum) | 1;
}

/* Return: whether an earlier execution has been in this state: then all that follows was tried. */
static bool state_is_known(void)
{
	u64 h = state_hash();
	u32 i = (u32)(h >> 20) % VISITED, tries;

	for (tries = 0; tries < VISITED / 2; tries++, i = (i + 1) % VISITED) {
		if (visited[i] == h)
			return true;
		if (!visited[i]) {
			visited[i] = h;
			n_states++;
			return false;
		}
	}
	model_fatal("too many states");
	return true;
}

/* Return: whether the execution came to its end, and was not cut: a repetition, or too long. */
static bool execution_run(void)
{
	struct thread *can[LITMUS_THREADS];
	u32 i, n;

	for (;;) {
		for (n = i = 0; i < n_threads; i++)
			if (!threads[i].ended)
				can[n++] = &threads[i];
		if (!n)
			return true;
		if (depth >= replay && depth == n_choices && state_is_known())
			return false;
		running = can[choose_next(n)];
		thread_resume();
		running = NULL;
		if (is_cut)
			return false;
	}
}

/* Return: whether there is another execution to try. */
static bool search_advance(void)
{
	while (n_choices && choice[n_choices - 1].taken + 1 == choice[n_choices - 1].of)
		n_choices--;
	if (!n_choices)
		return false;
	choice[n_choices - 1].taken++;
	replay = n_choices;
	return true;
}

bool litmus_run(const struct litmus_test *t)
{
	return litmus_run_bounded(t, 0);
}

bool litmus_run_bounded(const struct litmus_test *t, u32 steps)
{
	u64 runs = 0, ends = 0;
	bool good = true;

	test = t;
	steps_max = steps;
	memset(visited, 0, sizeof(visited));
	n_states = n_choices = replay = 0;
	do {
		depth = 0;
		threads_start();
		t->init();
		if (execution_run()) {
			ends++;
			good = t->holds();
		}
		running = NULL;
		undo_to(0);
		runs++;
	} while (good && search_advance());
	good = good && ends;
	printf("%sok - %s\n# %llu executions, %llu of them to the end, %llu states\n",
	       good ? "" : "not ", t->name, (unsigned long long)runs, (unsigned long long)ends,
	       (unsigned long long)n_states);
	return good;
}
