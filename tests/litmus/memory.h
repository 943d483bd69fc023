/* SPDX-License-Identifier: MIT */
/** DOC: what the parts of the model share: accesses to memory, and the stores to undo. */
#ifndef TESTS_LITMUS_MEMORY_H
#define TESTS_LITMUS_MEMORY_H

#include "tests/litmus/model.h"

/** enum rmw_op - what model_rmw() does with the old value and its argument. */
enum rmw_op { RMW_EXCHANGE, RMW_ADD, RMW_OR, RMW_AND };

/* --- model.c: atomic accesses are steps of the running thread. @order: __ATOMIC_* --- */

u64 model_load(void *addr, u32 size, int order);
void model_store(void *addr, u32 size, u64 value, int order);
/** model_rmw() - Return: the old value. */
u64 model_rmw(void *addr, u32 size, enum rmw_op op, u64 v, int order);
/** model_cas() - Return: whether @v was stored; if not, @expected receives what was read. */
bool model_cas(void *addr, u32 size, u64 *expected, u64 v, int order, int failed);
void model_fence(int order);
/** memory_is_own() - whether an access is no step: no thread runs, or @p is on its stack. */
bool memory_is_own(const void *p);
/** model_plain_store() - @n bytes at @p are about to change. */
void model_plain_store(void *p, size_t n);

/* --- undo.c --- */

_Noreturn void model_fatal(const char *what);
/** memory_get() - the @size bytes at @addr, zero-extended. */
u64 memory_get(const void *addr, u32 size);
/** undo_note() - the word with @addr is about to change. */
void undo_note(void *addr);
/** undo_mark() - Return: a position for undo_to(). */
u32 undo_mark(void);
/** undo_to() - restore, latest first, the words that were noted since @mark; 0: all. */
void undo_to(u32 mark);

/* --- death.c: stores outside all threads, of which litmus_die() keeps a list --- */

bool order_releases(int order);
void death_fence(int order);
void death_store(void *addr, int order);
void death_plain_store(uintptr_t at, uintptr_t end);

#endif
