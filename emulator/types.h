/* SPDX-License-Identifier: MIT */
/**
 * DOC: short integer names and the few macros that every part of the emulator uses.
 */
#ifndef EMULATOR_TYPES_H
#define EMULATOR_TYPES_H

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a)	   (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a)	   (((x) + (a)-1) / (a) * (a))
#define DIV_ROUND_UP(x, y) (((x) + (y)-1) / (y))
#define BIT64(n)	   (1ULL << (n))
#define likely(x)	   __builtin_expect(!!(x), 1)
#define unlikely(x)	   __builtin_expect(!!(x), 0)
#define __cold		   __attribute__((cold)) /* a function for rare branches */
#define cacheline_aligned  __attribute__((aligned(64)))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Shared memory is read while another process writes it: one load, one store, nothing torn. */
#define load_relaxed(p)	    __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define fetch_or(p, v)	    __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define fetch_and(p, v)	    __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define exchange(p, v)	    __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/*
 * docs/design/memory-order.md names the protocols that use the following, and why each needs it.
 *
 * load_seq_cst(): after an atomic read-modify-write of another word. A relaxed load may be executed
 * before the write half of it on arm64. On x86 this is a plain load.
 */
#define load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

/*
 * Stores keep their order, and a locked instruction is a full fence: then the fences below only
 * bind the compiler.
 */
#if !defined(CPU_KEEPS_STORE_ORDER)
#if defined(__x86_64__) || defined(__i386__)
#define CPU_KEEPS_STORE_ORDER 1
#else
#define CPU_KEEPS_STORE_ORDER 0
#endif
#endif

/** fence_after_atomic() - full fence after an atomic read-modify-write. */
static inline void fence_after_atomic(void)
{
	__atomic_thread_fence(CPU_KEEPS_STORE_ORDER ? __ATOMIC_ACQ_REL : __ATOMIC_SEQ_CST);
}

/**
 * store_between() - a store that neither the stores before it nor those after it pass. A release
 * store alone lets later ones pass.
 */
#define store_between(p, v)                                                                        \
	do {                                                                                       \
		store_release(p, v);                                                               \
		__atomic_thread_fence(__ATOMIC_RELEASE);                                           \
	} while (0)

/**
 * prefetch_write() - have the cache line of @p here soon, to be written. In code for any x86-64,
 * __builtin_prefetch() fetches a line to be read: the store then asks the other CPUs once more.
 */
static inline void prefetch_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/** for_each_bit64() - walk the set bits of a 64-bit word; @bit is the index, @word is consumed. */
#define for_each_bit64(bit, word)                                                                  \
	for (; (word) && ((bit) = (u32)__builtin_ctzll(word), 1); (word) &= (word)-1)

/** mix64() - a number in which each bit of @x has changed about half of the bits (splitmix64). */
static inline u64 mix64(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static inline u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

#define FNV1A_BASIS 0xcbf29ce484222325ULL

/**
 * fnv1a() - the hash FNV-1a, on from @h, which is FNV1A_BASIS at first: stable, spreads names well.
 */
static inline u64 fnv1a(u64 h, const void *data, size_t n)
{
	const u8 *p = data;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

#endif
