/* SPDX-License-Identifier: MIT */
/*
 * Objects that are compiled with -fsanitize=thread call these hooks instead of that sanitizer's
 * library: each access to memory is a step of the victim in emu_die.c. Machines with a trap flag do
 * not use them.
 */
#if !defined(__x86_64__)
#include "tests/lib/engine/emu.h"

/* A hook is called from compiled code only, and is declared nowhere else. */
#define STEP_HOOK(name, ...)                                                                       \
	void name(__VA_ARGS__);                                                                    \
	void name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		emu_step();                                                                        \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

STEP_HOOK(__tsan_read1, void *p)
STEP_HOOK(__tsan_read2, void *p)
STEP_HOOK(__tsan_read4, void *p)
STEP_HOOK(__tsan_read8, void *p)
STEP_HOOK(__tsan_read16, void *p)
STEP_HOOK(__tsan_write1, void *p)
STEP_HOOK(__tsan_write2, void *p)
STEP_HOOK(__tsan_write4, void *p)
STEP_HOOK(__tsan_write8, void *p)
STEP_HOOK(__tsan_write16, void *p)
STEP_HOOK(__tsan_volatile_read1, void *p)
STEP_HOOK(__tsan_volatile_read2, void *p)
STEP_HOOK(__tsan_volatile_read4, void *p)
STEP_HOOK(__tsan_volatile_read8, void *p)
STEP_HOOK(__tsan_volatile_read16, void *p)
STEP_HOOK(__tsan_volatile_write1, void *p)
STEP_HOOK(__tsan_volatile_write2, void *p)
STEP_HOOK(__tsan_volatile_write4, void *p)
STEP_HOOK(__tsan_volatile_write8, void *p)
STEP_HOOK(__tsan_volatile_write16, void *p)
STEP_HOOK(__tsan_unaligned_read2, void *p)
STEP_HOOK(__tsan_unaligned_read4, void *p)
STEP_HOOK(__tsan_unaligned_read8, void *p)
STEP_HOOK(__tsan_unaligned_write2, void *p)
STEP_HOOK(__tsan_unaligned_write4, void *p)
STEP_HOOK(__tsan_unaligned_write8, void *p)
STEP_HOOK(__tsan_read_range, void *p, size_t n)
STEP_HOOK(__tsan_write_range, void *p, size_t n)

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_atomic_thread_fence(int order);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The strongest order serves: what this tests is the death, not the order. */
#define STEP_ATOMIC_RMW(bits, type, op)                                                            \
	type __tsan_atomic##bits##_##op(type *p, type v, int order);                               \
	type __tsan_atomic##bits##_##op(type *p, type v, int order)                                \
	{                                                                                          \
		emu_step();                                                                        \
		return __atomic_##op(p, v, __ATOMIC_SEQ_CST);                                      \
	}

#define STEP_ATOMICS(bits, type)                                                                   \
	type __tsan_atomic##bits##_load(const type *p, int order);                                 \
	void __tsan_atomic##bits##_store(type *p, type v, int order);                              \
	type __tsan_atomic##bits##_exchange(type *p, type v, int order);                           \
	int __tsan_atomic##bits##_compare_exchange_strong(type *p, type *old, type v, int order,   \
							  int failed);                             \
	type __tsan_atomic##bits##_load(const type *p, int order)                                  \
	{                                                                                          \
		emu_step();                                                                        \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	void __tsan_atomic##bits##_store(type *p, type v, int order)                               \
	{                                                                                          \
		emu_step();                                                                        \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	type __tsan_atomic##bits##_exchange(type *p, type v, int order)                            \
	{                                                                                          \
		emu_step();                                                                        \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_strong(type *p, type *old, type v, int order,   \
							  int failed)                              \
	{                                                                                          \
		emu_step();                                                                        \
		return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST,             \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	STEP_ATOMIC_RMW(bits, type, fetch_add)                                                     \
	STEP_ATOMIC_RMW(bits, type, fetch_and)                                                     \
	STEP_ATOMIC_RMW(bits, type, fetch_or)

STEP_ATOMICS(8, u8)
STEP_ATOMICS(16, u16)
STEP_ATOMICS(32, u32)
STEP_ATOMICS(64, u64)
#else
typedef int emu_step_is_a_trap; /* a file must have a declaration */
#endif
