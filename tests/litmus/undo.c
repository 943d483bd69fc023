/* SPDX-License-Identifier: MIT */
/* The words that an execution has changed, and their values before it. */
#include "tests/litmus/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define UNDO_MAX 4096u

static struct {
	void *addr;
	u64 old;
} undo[UNDO_MAX];
static u32 n_undo;

void model_fatal(const char *what)
{
	fprintf(stderr, "litmus: %s\n", what);
	abort();
}

u64 memory_get(const void *addr, u32 size)
{
	u64 v = 0;

	memcpy(&v, addr, size);
	return v;
}

/* Executions begin with the same memory: words are restored at the end of each. */
void undo_note(void *addr)
{
	void *word = (void *)((uintptr_t)addr & ~(uintptr_t)7);

	if (n_undo == UNDO_MAX)
		model_fatal("too many stores");
	undo[n_undo].addr = word;
	undo[n_undo++].old = memory_get(word, 8);
}

u32 undo_mark(void)
{
	return n_undo;
}

void undo_to(u32 mark)
{
	while (n_undo > mark) {
		n_undo--;
		memcpy(undo[n_undo].addr, &undo[n_undo].old, 8);
	}
}
