/* SPDX-License-Identifier: MIT */
/*
 * Every work request keeps the stack that has posted it, so taking one must be cheap. Unwinding
 * takes microseconds. Each thread remembers the stacks of its latest call sites, by the address to
 * which the wrapper returns and the wrapper's frame: callers further out are the same as long as
 * both are, but for frames that were replaced meanwhile by others of the same size. The few call
 * sites of a loop must not take turns in one place, as each turn would unwind: a set has several.
 *
 * The table has a fixed size and grows only: what does not fit has no stack.
 */
#include "libtap/check/stack.h"
#include "libtap/process.h"

#include <execinfo.h>
#include <pthread.h>

#define STACK_SETS 16u /* of a thread */
#define STACK_WAYS 4u

struct stack_entry {
	u32 n;
	u32 hash;
	void *frame[STACK_FRAMES];
};

/* struct stack_site - a call site. @is_known: it was unwound */
struct stack_site {
	const void *caller;
	const void *frame;
	check_stack stack;
	bool is_known;
};

/* struct stack_set - sites of the same hash. @oldest: the one to replace */
struct stack_set {
	struct stack_site site[STACK_WAYS];
	u32 oldest;
};

/* Entry 0 stays empty. Readers need no lock: an entry does not change once its number is known. */
static struct stack_entry entries[STACKS];
static u32 n_entries = 1;
static u32 buckets[STACKS]; /* open addressing by hash; number of the entry, 0: free */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct stack_set sets[STACK_SETS] __attribute__((tls_model("initial-exec")));

void check_stack_start(void)
{
	void *frame[2];

	backtrace(frame, 2);
}

void check_stack_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static u32 stack_hash(void *const *frame, u32 n)
{
	u64 h = n;
	u32 i;

	for (i = 0; i < n; i++)
		h = (h ^ (uintptr_t)frame[i]) * 0x9e3779b97f4a7c15ull;
	return (u32)(h >> 32);
}

/* The caller holds the lock. */
static check_stack stack_intern(void *const *frame, u32 n)
{
	u32 hash = stack_hash(frame, n), at = hash % STACKS;
	struct stack_entry *e;

	for (; buckets[at]; at = (at + 1) % STACKS) {
		e = &entries[buckets[at]];
		if (e->hash == hash && e->n == n && !memcmp(e->frame, frame, n * sizeof(*frame)))
			return buckets[at];
	}
	if (n_entries == STACKS)
		return 0;
	e = &entries[n_entries];
	e->n = n;
	e->hash = hash;
	memcpy(e->frame, frame, n * sizeof(*frame));
	buckets[at] = n_entries;
	return n_entries++;
}

/* The place of a site, which is not known yet if it is new. */
static struct stack_site *stack_find_site(const void *caller, const void *frame)
{
	u64 mix = ((uintptr_t)caller ^ (uintptr_t)frame >> 4) * 0x9e3779b97f4a7c15ull;
	struct stack_set *set = &sets[(mix >> 32) % STACK_SETS];
	struct stack_site *s;
	u32 i;

	for (i = 0; i < STACK_WAYS; i++) {
		s = &set->site[i];
		if (s->caller == caller && s->frame == frame)
			return s;
	}
	s = &set->site[set->oldest++ % STACK_WAYS];
	*s = (struct stack_site){ caller, frame, 0, false };
	return s;
}

check_stack check_stack_here(void)
{
	struct stack_site *s = stack_find_site(tap_thread.caller, tap_thread.frame);
	void *frame[STACK_FRAMES + 8];
	int n, own;

	if (s->is_known)
		return s->stack;
	n = backtrace(frame, ARRAY_SIZE(frame));
	/* Those of the tap end where the wrapper returns to. */
	for (own = 0; own < n && frame[own] != tap_thread.caller; own++)
		;
	if (own == n)
		own = 0;
	n -= own;
	pthread_mutex_lock(&lock);
	s->stack = stack_intern(frame + own, min_u32((u32)n, STACK_FRAMES));
	pthread_mutex_unlock(&lock);
	s->is_known = true;
	return s->stack;
}

check_stack check_stack_at(const void *place)
{
	void *frame[STACK_FRAMES + 8];
	check_stack stack;
	int n = backtrace(frame, ARRAY_SIZE(frame)), own;

	/* Those of the handler end where the signal came. */
	for (own = 0; own < n && frame[own] != place; own++)
		;
	if (own == n)
		return 0;
	n -= own;
	/* Readers of a stack take each frame for the instruction after a call. */
	frame[own] = (u8 *)frame[own] + 1;
	pthread_mutex_lock(&lock);
	stack = stack_intern(frame + own, min_u32((u32)n, STACK_FRAMES));
	pthread_mutex_unlock(&lock);
	return stack;
}

u32 check_stack_frames(check_stack stack, void *const **frames)
{
	*frames = entries[stack].frame;
	return entries[stack].n;
}
