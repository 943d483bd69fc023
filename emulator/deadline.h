/* SPDX-License-Identifier: MIT */
/**
 * DOC: deadlines: a bit per object that waits for a time. See deadline.c.
 */
#ifndef EMULATOR_DEADLINE_H
#define EMULATOR_DEADLINE_H

#include "emulator/engine.h"

/* --- deadline.c --- */

/** typedef deadline_fn - run the object's timer if it is due. Return: its deadline, 0: none. */
typedef u64 (*deadline_fn)(struct engine *e, u32 slot, u64 now);
/**
 * deadline_set() - set the bit of object @slot in its kind's @bits and @sum; does nothing if
 * @deadline is 0.
 */
void deadline_set(struct engine *e, u64 *bits, u64 *sum, u32 slot, u64 deadline);
/**
 * deadline_scan() - call @look for all of @n slots that have a bit. Return: the next deadline, or
 * ~0.
 */
u64 deadline_scan(struct engine *e, u64 *bits, u64 *sum, u32 n, u64 now, deadline_fn look);

#endif
