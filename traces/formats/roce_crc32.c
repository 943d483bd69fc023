/* SPDX-License-Identifier: MIT */
/**
 * DOC: the CRC-32 of ICRCs.
 *
 * A wire computes an ICRC for each packet that it sends or receives: a loop that handles a word at
 * a time takes a quarter of its time. Processors that multiply without carries (PCLMULQDQ)
 * fold a text: a block of 16 bytes that stands n bits before another one has the same CRC as that
 * block after a multiplication by x^n modulo the polynomial, and both can be added. Four blocks are
 * folded at a time, or eight or 16 where registers have 256 bits (VPCLMULQDQ) or 512 (AVX-512 as
 * well), then these into one, and that to the 32 bits of the CRC. Sums have variables of their own:
 * compilers keep an array in memory, and each fold would wait for a store.
 * With 512 bits, a text is folded while it is copied: a pass over it is spared.
 * V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction,
 * Intel 2009, derives the constants. Bits are reflected, as in the packet.
 */
#include "traces/formats/roce_model.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define BLOCK	   16ul
#define BLOCKS	   (4ul * BLOCK)
#define TWO	   (2ul * BLOCK)
#define TWOS	   (4ul * TWO)
#define FOUR	   (4ul * BLOCK)
#define FOURS	   (4ul * FOUR)
#define FOLDS	   __attribute__((target("pclmul,sse4.1")))
#define FOLDS_TWO  __attribute__((target("vpclmulqdq,avx2,pclmul,sse4.1")))
#define FOLDS_FOUR __attribute__((target("vpclmulqdq,avx512f,avx2,pclmul,sse4.1")))
#define INLINE	   inline __attribute__((always_inline))

/* Powers of x modulo the polynomial: the lower half of a block is multiplied by the first. */
#define BY_1024_BITS 0x000000014a7fe880ll, 0x00000001e88ef372ll
#define BY_2048_BITS 0x00000001322d1430ll, 0x000000011542778all
#define BY_256_BITS  0x000000015a546366ll, 0x00000000f1da05aall
#define BY_512_BITS  0x00000001c6e41596ll, 0x0000000154442bd4ll
#define BY_128_BITS  0x00000000ccaa009ell, 0x00000001751997d0ll
#define BY_64_BITS   0, 0x0000000163cd6124ll
/* The polynomial, and the quotient of x^64 by it, for Barrett's reduction. */
#define POLYNOMIAL 0x00000001f7011641ll, 0x00000001db710641ll

FOLDS static __m128i fold_block(__m128i block, __m128i by, __m128i onto)
{
	__m128i low = _mm_clmulepi64_si128(block, by, 0x00);
	__m128i high = _mm_clmulepi64_si128(block, by, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

FOLDS static __m128i fold_load(const u8 *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The CRC of a block that all others were folded onto. */
FOLDS static u32 fold_reduce(__m128i x)
{
	const __m128i by_128 = _mm_set_epi64x(BY_128_BITS), by_64 = _mm_set_epi64x(BY_64_BITS);
	const __m128i low = _mm_set_epi32(0, 0, 0, -1), poly = _mm_set_epi64x(POLYNOMIAL);
	__m128i q;

	x = _mm_xor_si128(_mm_clmulepi64_si128(x, by_128, 0x10), _mm_srli_si128(x, 8));
	x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low), by_64, 0x00),
			  _mm_srli_si128(x, 4));
	q = _mm_clmulepi64_si128(_mm_and_si128(x, low), poly, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, low), poly, 0x00);
	return (u32)_mm_extract_epi32(_mm_xor_si128(x, q), 1);
}

/** struct folding - a text that is being folded: @len bytes at @p are left, a multiple of BLOCK. */
struct folding {
	const u8 *p;
	size_t len;
};

FOLDS static __m128i fold_next(struct folding *t)
{
	__m128i block = fold_load(t->p);

	t->p += BLOCK;
	t->len -= BLOCK;
	return block;
}

/* Fold four blocks at a time; at least BLOCKS are left. Return: what they were folded onto. */
FOLDS static __m128i fold_blocks(u32 state, struct folding *t)
{
	const __m128i by_512 = _mm_set_epi64x(BY_512_BITS), by_128 = _mm_set_epi64x(BY_128_BITS);
	const u8 *p = t->p, *end = p + t->len / BLOCKS * BLOCKS;
	__m128i a = fold_load(p), b = fold_load(p + BLOCK);
	__m128i c = fold_load(p + 2 * BLOCK), d = fold_load(p + 3 * BLOCK);

	a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)state));
	for (p += BLOCKS; p < end; p += BLOCKS) {
		a = fold_block(a, by_512, fold_load(p));
		b = fold_block(b, by_512, fold_load(p + BLOCK));
		c = fold_block(c, by_512, fold_load(p + 2 * BLOCK));
		d = fold_block(d, by_512, fold_load(p + 3 * BLOCK));
	}
	t->len -= (size_t)(p - t->p);
	t->p = p;
	b = fold_block(a, by_128, b);
	c = fold_block(b, by_128, c);
	return fold_block(c, by_128, d);
}

FOLDS_TWO static __m256i fold_load_two(const u8 *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

FOLDS_TWO static __m256i fold_two(__m256i two, __m256i by, __m256i onto)
{
	__m256i low = _mm256_clmulepi64_epi128(two, by, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(two, by, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), onto);
}

/* The same with eight blocks at a time, two in a register; at least TWOS are left. */
FOLDS_TWO static __m128i fold_twos(u32 state, struct folding *t)
{
	const __m256i by_1024 = _mm256_broadcastsi128_si256(_mm_set_epi64x(BY_1024_BITS));
	const __m256i by_256 = _mm256_broadcastsi128_si256(_mm_set_epi64x(BY_256_BITS));
	const u8 *p = t->p, *end = p + t->len / TWOS * TWOS;
	__m256i a = fold_load_two(p), b = fold_load_two(p + TWO);
	__m256i c = fold_load_two(p + 2 * TWO), d = fold_load_two(p + 3 * TWO);

	a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)));
	for (p += TWOS; p < end; p += TWOS) {
		a = fold_two(a, by_1024, fold_load_two(p));
		b = fold_two(b, by_1024, fold_load_two(p + TWO));
		c = fold_two(c, by_1024, fold_load_two(p + 2 * TWO));
		d = fold_two(d, by_1024, fold_load_two(p + 3 * TWO));
	}
	t->len -= (size_t)(p - t->p);
	t->p = p;
	b = fold_two(a, by_256, b);
	c = fold_two(b, by_256, c);
	d = fold_two(c, by_256, d);
	return fold_block(_mm256_castsi256_si128(d), _mm_set_epi64x(BY_128_BITS),
			  _mm256_extracti128_si256(d, 1));
}

/* @shift: how far from there the blocks are copied to; 0: they are not */
FOLDS_FOUR static INLINE __m512i fold_load_four(const u8 *p, uintptr_t shift)
{
	__m512i four = _mm512_loadu_si512((const void *)p);

	if (shift)
		_mm512_storeu_si512((void *)((uintptr_t)p + shift), four);
	return four;
}

FOLDS_FOUR static __m512i fold_four(__m512i four, __m512i by, __m512i onto)
{
	__m512i low = _mm512_clmulepi64_epi128(four, by, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(four, by, 0x11);

	return _mm512_xor_si512(_mm512_xor_si512(low, high), onto);
}

/* The blocks of a register onto its last one. */
FOLDS_FOUR static __m128i fold_narrow(__m512i four)
{
	const __m128i by_128 = _mm_set_epi64x(BY_128_BITS);
	__m128i x = _mm512_castsi512_si128(four);

	x = fold_block(x, by_128, _mm512_extracti32x4_epi32(four, 1));
	x = fold_block(x, by_128, _mm512_extracti32x4_epi32(four, 2));
	return fold_block(x, by_128, _mm512_extracti32x4_epi32(four, 3));
}

/*
 * The same with 16 blocks at a time, four in a register; at least FOURS are left. @shift: as
 * fold_load_four(); the compiler makes a loop for each kind of use.
 */
FOLDS_FOUR static INLINE __m128i fold_fours_shifted(u32 state, struct folding *t, uintptr_t shift)
{
	const __m512i by_2048 = _mm512_broadcast_i32x4(_mm_set_epi64x(BY_2048_BITS));
	const __m512i by_512 = _mm512_broadcast_i32x4(_mm_set_epi64x(BY_512_BITS));
	const u8 *p = t->p, *end = p + t->len / FOURS * FOURS;
	__m512i a = fold_load_four(p, shift), b = fold_load_four(p + FOUR, shift);
	__m512i c = fold_load_four(p + 2 * FOUR, shift), d = fold_load_four(p + 3 * FOUR, shift);

	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	for (p += FOURS; p < end; p += FOURS) {
		a = fold_four(a, by_2048, fold_load_four(p, shift));
		b = fold_four(b, by_2048, fold_load_four(p + FOUR, shift));
		c = fold_four(c, by_2048, fold_load_four(p + 2 * FOUR, shift));
		d = fold_four(d, by_2048, fold_load_four(p + 3 * FOUR, shift));
	}
	t->len -= (size_t)(p - t->p);
	t->p = p;
	b = fold_four(a, by_512, b);
	c = fold_four(b, by_512, c);
	return fold_narrow(fold_four(c, by_512, d));
}

FOLDS_FOUR static __m128i fold_fours(u32 state, struct folding *t)
{
	return fold_fours_shifted(state, t, 0);
}

FOLDS_FOUR static __m128i fold_fours_copy(u32 state, struct folding *t, uintptr_t shift)
{
	return fold_fours_shifted(state, t, shift);
}

/* Features of the processor, whose registers the system keeps. */
enum {
	CPU_LOOKED = 1,
	CPU_FOLDS = 2,
	CPU_FOLDS_TWO = 4,
	CPU_FOLDS_FOUR = 8,
};

/* Registers of 256 bits, and of 512, are kept: bits of XCR0. */
#define XCR0_YMM 0x06u
#define XCR0_ZMM 0xe6u

static u32 cpu_registers(void)
{
	u32 low, high;

	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

/*
 * Not by __builtin_cpu_supports(): that brings a constructor along, and librdmaemu.so, which has
 * this file, is loaded into every program.
 */
static u32 cpu_look(void)
{
	u32 a, b, c, d, b7 = 0, c7 = 0, found = CPU_LOOKED, kept;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_PCLMUL) || !(c & bit_SSE4_1))
		return found;
	found |= CPU_FOLDS;
	if (!(c & bit_OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d))
		return found;
	kept = cpu_registers();
	if (!(c7 & bit_VPCLMULQDQ) || !(b7 & bit_AVX2) || (kept & XCR0_YMM) != XCR0_YMM)
		return found;
	found |= CPU_FOLDS_TWO;
	if (b7 & bit_AVX512F && (kept & XCR0_ZMM) == XCR0_ZMM)
		found |= CPU_FOLDS_FOUR;
	return found;
}

static bool cpu_can(u32 what)
{
	static u32 known;
	u32 found = load_relaxed(&known);

	if (unlikely(!found)) {
		found = cpu_look();
		store_relaxed(&known, found);
	}
	return found & what;
}

static bool crc_can_fold_twos(size_t len)
{
	return len >= 2ul * TWOS && cpu_can(CPU_FOLDS_TWO);
}

static bool crc_can_fold_fours(size_t len)
{
	return len >= 2 * FOURS && cpu_can(CPU_FOLDS_FOUR);
}

/* @len: a multiple of BLOCK, and not 0. @state: the CRC before, without its inversion */
FOLDS static u32 fold_text(u32 state, const u8 *p, size_t len)
{
	struct folding t = { p, len };
	__m128i x;

	if (crc_can_fold_fours(len))
		x = fold_fours(state, &t);
	else if (crc_can_fold_twos(len))
		x = fold_twos(state, &t);
	else if (len >= BLOCKS)
		x = fold_blocks(state, &t);
	else
		x = _mm_xor_si128(fold_next(&t), _mm_cvtsi32_si128((int)state));
	while (t.len)
		x = fold_block(x, _mm_set_epi64x(BY_128_BITS), fold_next(&t));
	return fold_reduce(x);
}

static bool crc_can_fold(size_t len)
{
	return len >= BLOCK && cpu_can(CPU_FOLDS);
}

/* Fold blocks while they are copied. Return: bytes; 0: this processor gains nothing by that. */
FOLDS static size_t fold_copy(u32 *state, u8 *to, const u8 *p, size_t len)
{
	struct folding t = { p, len / FOURS * FOURS };

	if (to == p || !crc_can_fold_fours(len))
		return 0;
	*state = fold_reduce(fold_fours_copy(*state, &t, (uintptr_t)to - (uintptr_t)p));
	return len / FOURS * FOURS;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

#define BLOCK	   8u
#define CRC_OF_ARM __attribute__((target("+crc")))
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif

/* Processors have an instruction for this polynomial. */
CRC_OF_ARM static u32 fold_text(u32 state, const u8 *p, size_t len)
{
	u64 word;

	for (; len; len -= BLOCK, p += BLOCK) {
		memcpy(&word, p, sizeof(word));
		__asm__("crc32x %w0, %w0, %x1" : "+r"(state) : "r"(word));
	}
	return state;
}

static bool crc_can_fold(size_t len)
{
	return len >= BLOCK && getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#else
#define BLOCK 1u

static u32 fold_text(u32 state, const u8 *p, size_t len)
{
	(void)p;
	(void)len;
	return state;
}

static bool crc_can_fold(size_t len)
{
	(void)len;
	return false;
}
#endif

#if !defined(__x86_64__)
static size_t fold_copy(u32 *state, u8 *to, const u8 *p, size_t len)
{
	(void)state;
	(void)to;
	(void)p;
	(void)len;
	return 0;
}
#endif

u32 roce_crc32(u32 crc, const u8 *p, size_t len)
{
	size_t whole = len / BLOCK * BLOCK;

	if (crc_can_fold(len)) {
		crc = ~fold_text(~crc, p, whole);
		p += whole;
		len -= whole;
	}
	return roce_crc32_by_table(crc, p, len);
}

u32 roce_crc32_copy(u32 crc, u8 *to, const u8 *p, size_t len)
{
	u32 state = ~crc;
	size_t done = fold_copy(&state, to, p, len);

	/* The sum is of what was written: the source may change at any time. */
	memcpy(to + done, p + done, len - done);
	return roce_crc32(~state, to + done, len - done);
}
