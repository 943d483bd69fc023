/* SPDX-License-Identifier: MIT */
/* The search and the memory of model.h, without instrumentation itself. */
#include "tests/litmus/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define LOCS	   48u
#define MSGS	   32u
#define CHOICES	   400u
#define UNDO_MAX   4096u
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

/* @acq, @rel: what an acquire fence would add, and what the last release fence published. */
struct thread {
	ucontext_t ctx;
	struct view cur, acq, rel;
	u64 history; /* hash of all that it has read: the thread's own state follows from it */
	bool ended;
};

static struct thread threads[LITMUS_THREADS];
static char stacks[LITMUS_THREADS][STACK_SIZE] __attribute__((aligned(64)));
static struct location locs[LOCS];
static struct view sc_view;
static u32 n_locs, n_threads;
static struct thread *running;
static ucontext_t scheduler;
static const struct litmus_test *test;

/* The path of choices to the execution at hand. */
static struct {
	u32 taken, of;
} choice[CHOICES];
static u32 n_choices, depth, replay;

static struct {
	void *addr;
	u64 old;
} undo[UNDO_MAX];
static u32 n_undo;

static u64 visited[VISITED];
static u64 n_states;

static void model_fatal(const char *what)
{
	fprintf(stderr, "litmus: %s\n", what);
	abort();
}

static u64 memory_get(const void *addr, u32 size)
{
	u64 v = 0;

	memcpy(&v, addr, size);
	return v;
}

/* Executions begin with the same memory: words are restored at the end of each. */
static void undo_note(void *addr)
{
	void *word = (void *)((uintptr_t)addr & ~(uintptr_t)7);

	if (n_undo == UNDO_MAX)
		model_fatal("too many stores");
	undo[n_undo].addr = word;
	undo[n_undo++].old = memory_get(word, 8);
}

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

static bool order_releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

#define STORES 64u

/* A word that a store changed. @last: a release store: all before it have become visible. */
struct store {
	void *addr;
	u64 before, after;
	u32 epoch; /* of release fences */
	bool last;
};

static struct store stores[STORES];
static u32 n_stores, n_noted, epoch;
static bool recording;

/* Read the values of the stores that were announced. */
static void stores_settle(void)
{
	u32 i, n = n_stores;

	for (i = n_stores; i < n_noted; i++) {
		stores[i].after = memory_get(stores[i].addr, 8);
		if (stores[i].after != stores[i].before)
			stores[n++] = stores[i];
	}
	n_stores = n_noted = n;
}

static void store_note(uintptr_t word)
{
	if (n_noted == STORES)
		model_fatal("too many stores of one step");
	stores[n_noted++] = (struct store){
		.addr = (void *)word,
		.before = memory_get((void *)word, 8),
		.epoch = epoch,
	};
}

static void death_fence(int order)
{
	if (!recording || !order_releases(order))
		return;
	stores_settle();
	epoch++;
}

/* An atomic store of the thread that will die, or outside all threads. */
static void death_store(void *addr, int order)
{
	undo_note(addr);
	if (!recording)
		return;
	stores_settle();
	store_note((uintptr_t)addr & ~(uintptr_t)7);
	stores[n_noted - 1].last = order_releases(order);
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

/* Every atomic access: the others may run first. */
static void step_begin(void *addr)
{
	history_add((uintptr_t)addr);
	swapcontext(&running->ctx, &scheduler);
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

static u64 model_load(void *addr, u32 size, int order)
{
	struct location *l;
	u32 low;

	if (!running)
		return memory_get(addr, size);
	step_begin(addr);
	l = location_find(addr, size);
	low = message_oldest(l, order);
	return message_read(l, l->n - 1 - choose_next(l->n - low), order);
}

static void model_store(void *addr, u32 size, u64 value, int order)
{
	if (running) {
		step_begin(addr);
		message_write(location_find(addr, size), value, order, NULL);
		return;
	}
	death_store(addr, order);
	memcpy(addr, &value, size);
}

enum rmw_op { RMW_EXCHANGE, RMW_ADD, RMW_OR, RMW_AND };

static u64 model_rmw(void *addr, u32 size, enum rmw_op op, u64 v, int order)
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

static bool model_cas(void *addr, u32 size, u64 *expected, u64 v, int order, int failed)
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

static void model_fence(int order)
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

/* --- the search --- */

static void thread_main(int nth)
{
	test->thread[nth]();
	threads[nth].ended = true;
	swapcontext(&threads[nth].ctx, &scheduler);
}

static void threads_start(void)
{
	u32 i;

	memset(threads, 0, sizeof(threads));
	memset(&sc_view, 0, sizeof(sc_view));
	n_locs = 0;
	for (i = 0; i < LITMUS_THREADS && test->thread[i]; i++) {
		getcontext(&threads[i].ctx);
		threads[i].ctx.uc_stack.ss_sp = stacks[i];
		threads[i].ctx.uc_stack.ss_size = STACK_SIZE;
		threads[i].history = i + 1;
		makecontext(&threads[i].ctx, (void (*)(void))thread_main, 1, (int)i);
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

/* Return: whether the execution came to its end, and was not cut as a repetition. */
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
		swapcontext(&scheduler, &running->ctx);
		running = NULL;
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
	u64 runs = 0, ends = 0;
	bool good = true;

	test = t;
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
		while (n_undo) {
			n_undo--;
			memcpy(undo[n_undo].addr, &undo[n_undo].old, 8);
		}
		runs++;
	} while (good && search_advance());
	printf("%sok - %s\n# %llu executions, %llu of them to the end, %llu states\n",
	       good ? "" : "not ", t->name, (unsigned long long)runs, (unsigned long long)ends,
	       (unsigned long long)n_states);
	return good;
}

/* --- the death of a thread --- */

/* The stores of @chosen (bits from store @from on) and all before them are visible: go on so. */
static bool death_try(u32 from, u64 chosen)
{
	u32 undone = n_undo, i;
	bool good;

	for (i = 0; i < n_stores; i++) {
		if (i >= from && (i - from >= 64 || !(chosen >> (i - from) & 1)))
			continue;
		undo_note(stores[i].addr);
		memcpy(stores[i].addr, &stores[i].after, 8);
	}
	test->thread[1]();
	good = test->holds();
	while (n_undo > undone) {
		n_undo--;
		memcpy(undo[n_undo].addr, &undo[n_undo].old, 8);
	}
	return good;
}

/* Whether the model lets these of the stores [@from, @end) be the visible ones. */
static bool death_can_be(u32 from, u32 end, u64 chosen)
{
	u32 i;

	for (i = from; i < end; i++)
		if (stores[i].last && chosen >> (i - from) & 1 &&
		    ~chosen & ((1ULL << (i - from)) - 1))
			return false;
	return true;
}

bool litmus_die(const struct litmus_test *t)
{
	u32 from, end, i;
	u64 chosen, n = 0;
	bool good = true;

	test = t;
	n_stores = n_noted = epoch = 0;
	t->init();
	recording = true;
	t->thread[0]();
	stores_settle();
	recording = false;
	for (i = n_stores; i-- > 0;)
		memcpy(stores[i].addr, &stores[i].before, 8);
	for (from = 0; good && from < n_stores; from = end) {
		for (end = from; end < n_stores && stores[end].epoch == stores[from].epoch; end++)
			;
		if (end - from > 20)
			model_fatal("too many stores without order");
		for (chosen = 0; good && chosen < 1ULL << (end - from); chosen++) {
			if (!death_can_be(from, end, chosen))
				continue;
			good = death_try(from, chosen);
			n++;
		}
	}
	printf("%sok - %s\n# %u stores, %llu deaths\n", good ? "" : "not ", t->name, n_stores,
	       (unsigned long long)n);
	return good;
}

/* --- what instrumented code calls --- */

static void undo_range(void *p, size_t n)
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + n;

	/* A thread's own variables need no undo, and its stack is in use. */
	if ((char *)p >= stacks[0] && (char *)p < stacks[LITMUS_THREADS - 1] + STACK_SIZE)
		return;
	if (recording)
		stores_settle();
	for (; at < end; at += 8) {
		undo_note((void *)at);
		if (recording)
			store_note(at);
	}
}

#define PLAIN_HOOK(name)                                                                           \
	void name(void *p);                                                                        \
	void name(void *p)                                                                         \
	{                                                                                          \
		(void)p;                                                                           \
	}

#define WRITE_HOOK(name, size)                                                                     \
	void name(void *p);                                                                        \
	void name(void *p)                                                                         \
	{                                                                                          \
		undo_range(p, size);                                                               \
	}

PLAIN_HOOK(__tsan_read1)
PLAIN_HOOK(__tsan_read2)
PLAIN_HOOK(__tsan_read4)
PLAIN_HOOK(__tsan_read8)
PLAIN_HOOK(__tsan_read16)
PLAIN_HOOK(__tsan_func_entry)
WRITE_HOOK(__tsan_write1, 1)
WRITE_HOOK(__tsan_write2, 2)
WRITE_HOOK(__tsan_write4, 4)
WRITE_HOOK(__tsan_write8, 8)
WRITE_HOOK(__tsan_write16, 16)

void __tsan_init(void);
void __tsan_func_exit(void);
void __tsan_read_range(void *p, size_t n);
void __tsan_write_range(void *p, size_t n);
void __tsan_atomic_thread_fence(int order);

void __tsan_init(void)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *p, size_t n)
{
	(void)p;
	(void)n;
}

void __tsan_write_range(void *p, size_t n)
{
	undo_range(p, n);
}

void __tsan_atomic_thread_fence(int order)
{
	model_fence(order);
}

#define ATOMIC_RMW(bits, name, op)                                                                 \
	u##bits __tsan_atomic##bits##_##name(u##bits *p, u##bits v, int order);                    \
	u##bits __tsan_atomic##bits##_##name(u##bits *p, u##bits v, int order)                     \
	{                                                                                          \
		return (u##bits)model_rmw(p, sizeof(*p), op, v, order);                            \
	}

#define ATOMIC_HOOKS(bits)                                                                         \
	u##bits __tsan_atomic##bits##_load(u##bits *p, int order);                                 \
	void __tsan_atomic##bits##_store(u##bits *p, u##bits v, int order);                        \
	int __tsan_atomic##bits##_compare_exchange_strong(u##bits *p, u##bits *old, u##bits v,     \
							  int order, int failed);                  \
	u##bits __tsan_atomic##bits##_load(u##bits *p, int order)                                  \
	{                                                                                          \
		return (u##bits)model_load(p, sizeof(*p), order);                                  \
	}                                                                                          \
	void __tsan_atomic##bits##_store(u##bits *p, u##bits v, int order)                         \
	{                                                                                          \
		model_store(p, sizeof(*p), v, order);                                              \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_strong(u##bits *p, u##bits *old, u##bits v,     \
							  int order, int failed)                   \
	{                                                                                          \
		u64 expected = *old;                                                               \
		bool done = model_cas(p, sizeof(*p), &expected, v, order, failed);                 \
                                                                                                   \
		*old = (u##bits)expected;                                                          \
		return done;                                                                       \
	}                                                                                          \
	ATOMIC_RMW(bits, exchange, RMW_EXCHANGE)                                                   \
	ATOMIC_RMW(bits, fetch_add, RMW_ADD)                                                       \
	ATOMIC_RMW(bits, fetch_or, RMW_OR)                                                         \
	ATOMIC_RMW(bits, fetch_and, RMW_AND)

ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)
