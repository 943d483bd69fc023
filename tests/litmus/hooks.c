/* SPDX-License-Identifier: MIT */
/* What code that was compiled with -fsanitize=thread calls, in place of the sanitizer's library. */
#include "tests/litmus/memory.h"

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
		model_plain_store(p, size);                                                        \
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
	model_plain_store(p, n);
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

ATOMIC_HOOKS(8)
ATOMIC_HOOKS(16)
ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)

void *model_memmove(void *dst, const void *src, size_t n)
{
	u32 size;
	size_t i;

	if (memory_is_own(dst)) {
		model_plain_store(dst, n);
		return memmove(dst, src, n);
	}
	/* The threads' copies do not overlap. */
	for (i = 0; i < n; i += size) {
		for (size = 8; size > n - i || ((uintptr_t)dst + i) % size;)
			size /= 2;
		model_store((char *)dst + i, size, memory_get((const char *)src + i, size),
			    __ATOMIC_RELAXED);
	}
	return dst;
}
