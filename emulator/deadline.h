/* SPDX-License-Identifier: MIT */
/**
 * DOC: deadlines: a bit per object that waits for a time. See deadline.c.
 */
#ifndef EMULATOR_DEADLINE_H
#define EMULATOR_DEADLINE_H

#include "emulator/engine.h"

/* --- deadline.c --- */

/** typedef deadline_fn - look at an object with a bit, serve what is due. Return: its deadline, 0: none. */
typedef u64 (*deadline_fn)(struct engine *e, u32 slot, u64 now);
/** deadline_set() - an object of a kind whose @bits and @sum these are has a deadline; 0: nothing. */
void deadline_set(struct engine *e, u64 *bits, u64 *sum, u32 slot, u64 deadline);
/** deadline_scan() - look at all, of @n slots, that have a bit. Return: the next deadline, or ~0. */
u64 deadline_scan(struct engine *e, u64 *bits, u64 *sum, u32 n, u64 now, deadline_fn look);

#endif
