/* SPDX-License-Identifier: MIT */
/* litmus_die() of model.h: which of a thread's stores others may see when it has died. */
#include "tests/litmus/memory.h"

#include <stdio.h>

#define STORES 64u

bool order_releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

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

void death_fence(int order)
{
	if (!recording || !order_releases(order))
		return;
	stores_settle();
	epoch++;
}

/* An atomic store of the thread that will die, or outside all threads. */
void death_store(void *addr, int order)
{
	undo_note(addr);
	if (!recording)
		return;
	stores_settle();
	store_note((uintptr_t)addr & ~(uintptr_t)7);
	stores[n_noted - 1].last = order_releases(order);
}

void death_plain_store(uintptr_t at, uintptr_t end)
{
	if (!recording)
		return;
	stores_settle();
	for (; at < end; at += 8)
		store_note(at);
}

/* The stores of @chosen (bits from store @from on) and all before them are visible: go on so. */
static bool death_try(const struct litmus_test *t, u32 from, u64 chosen)
{
	u32 undone = undo_mark(), i;
	bool good;

	for (i = 0; i < n_stores; i++) {
		if (i >= from && (i - from >= 64 || !(chosen >> (i - from) & 1)))
			continue;
		undo_note(stores[i].addr);
		memcpy(stores[i].addr, &stores[i].after, 8);
	}
	t->thread[1]();
	good = t->holds();
	undo_to(undone);
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
			good = death_try(t, from, chosen);
			n++;
		}
	}
	printf("%sok - %s\n# %u stores, %llu deaths\n", good ? "" : "not ", t->name, n_stores,
	       (unsigned long long)n);
	return good;
}
