/* SPDX-License-Identifier: MIT */
/**
 * DOC: an exhaustive search through what a protocol can do under a weak memory model.
 *
 * The sources of the protocol are compiled as they are, with -fsanitize=thread. What that option
 * makes them call is hooks.c instead of the sanitizer's library: each atomic access becomes a step
 * of a search through all orders of the threads' steps and, for each load, all values that the
 * model lets it read.
 *
 * The model is C11's, by views: a store appends a message to the history of its location; a thread
 * knows, for each location, the oldest message that it may still read. An acquire of a release
 * joins the writer's view, a sequentially consistent fence a view that all share. A sequentially
 * consistent load reads no message older than the last sequentially consistent access of that
 * location, but does not hold back the thread's relaxed accesses: on arm64 without LSE they pass
 * the write half of an exclusive pair. Histories grow at their ends and loads do not read stores of
 * the future; no protocol here depends on either.
 *
 * Plain accesses go to memory at once. The protocols make them with the token held. What memmove(3)
 * stores is relaxed: its words may become visible in any order.
 */
#ifndef TESTS_LITMUS_MODEL_H
#define TESTS_LITMUS_MODEL_H

#include "emulator/types.h"

#define LITMUS_THREADS 3u

/**
 * struct litmus_test - one protocol with few threads.
 * @name: the sentence that holds
 * @init: sets up memory, before each execution
 * @thread: what runs at once; the first NULL ends them
 * @holds: after all threads have ended, whether the sentence was true
 */
struct litmus_test {
	const char *name;
	void (*init)(void);
	void (*thread[LITMUS_THREADS])(void);
	bool (*holds)(void);
};

/* --- model.c --- */

/** litmus_run() - try all executions, print a line of TAP. Return: whether the sentence held. */
bool litmus_run(const struct litmus_test *t);
/**
 * litmus_run_bounded() - likewise, but leave an execution in which a thread takes more than @steps
 * steps. For a reader that tries again until it succeeds: a failed attempt leaves nothing behind,
 * so what a long execution reads, one whose reader begins later reads as well.
 */
bool litmus_run_bounded(const struct litmus_test *t, u32 steps);

/* --- hooks.c --- */

/** model_memmove() - memmove(3), which all sources of the protocols call by this name. */
void *model_memmove(void *dst, const void *src, size_t n);

/* --- sequence.c --- */

/** model_calloc() - calloc(3), which all sources of the protocols call by this name. */
void *model_calloc(size_t n, size_t size);

/* --- death.c --- */

/**
 * litmus_die() - the death of a thread at any moment of t->thread[0], and then t->thread[1]: all
 * sets of its stores that may have become visible by then. A store after a release fence, and a
 * release store, follow all before them. Prints and returns as litmus_run().
 */
bool litmus_die(const struct litmus_test *t);

#endif
