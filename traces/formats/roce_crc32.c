/* SPDX-License-Identifier: MIT */
/**
 * DOC: the CRC-32 of ICRCs.
 *
 * A wire computes an ICRC for each packet that it sends or receives: zlib's loop, which handles a
 * word at a time, takes a quarter of its time. Processors that multiply without carries (PCLMULQDQ)
 * fold a text: a block of 16 bytes that stands n bits before another one has the same CRC as that
 * block after a multiplication by x^n modulo the polynomial, and both can be added. Four blocks are
 * folded at a time, or eight where registers have 256 bits (VPCLMULQDQ), then these into one, and
 * that to the 32 bits of the CRC.
 * V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction,
 * Intel 2009, derives the constants. Bits are reflected, as in the packet.
 */
#include "traces/formats/roce_model.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define BLOCK  16u
#define BLOCKS (4u * BLOCK)
#define WIDE   (2u * BLOCK)
#define WIDES  (4u * WIDE)
#define FOLDS  __attribute__((target("pclmul,sse4.1")))
#define TWICE  __attribute__((target("vpclmulqdq,avx2,pclmul,sse4.1")))

/* Powers of x modulo the polynomial: the lower half of a block is multiplied by the first. */
#define BY_1024_BITS 0x000000014a7fe880ll, 0x00000001e88ef372ll
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
	__m128i x[4];
	u32 i;

	for (i = 0; i < 4; i++)
		x[i] = fold_next(t);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)state));
	while (t->len >= BLOCKS)
		for (i = 0; i < 4; i++)
			x[i] = fold_block(x[i], by_512, fold_next(t));
	for (i = 1; i < 4; i++)
		x[i] = fold_block(x[i - 1], by_128, x[i]);
	return x[3];
}

TWICE static __m256i fold_next_wide(struct folding *t)
{
	__m256i wide = _mm256_loadu_si256((const __m256i *)(const void *)t->p);

	t->p += WIDE;
	t->len -= WIDE;
	return wide;
}

TWICE static __m256i fold_wide(__m256i wide, __m256i by, __m256i onto)
{
	__m256i low = _mm256_clmulepi64_epi128(wide, by, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(wide, by, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), onto);
}

/* The same with eight blocks at a time, two in a register; at least WIDES are left. */
TWICE static __m128i fold_wides(u32 state, struct folding *t)
{
	const __m256i by_1024 = _mm256_broadcastsi128_si256(_mm_set_epi64x(BY_1024_BITS));
	const __m128i by_128 = _mm_set_epi64x(BY_128_BITS);
	__m256i x[4];
	__m128i y;
	u32 i;

	for (i = 0; i < 4; i++)
		x[i] = fold_next_wide(t);
	x[0] = _mm256_xor_si256(x[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)));
	while (t->len >= WIDES)
		for (i = 0; i < 4; i++)
			x[i] = fold_wide(x[i], by_1024, fold_next_wide(t));
	y = _mm256_castsi256_si128(x[0]);
	y = fold_block(y, by_128, _mm256_extracti128_si256(x[0], 1));
	for (i = 1; i < 4; i++) {
		y = fold_block(y, by_128, _mm256_castsi256_si128(x[i]));
		y = fold_block(y, by_128, _mm256_extracti128_si256(x[i], 1));
	}
	return y;
}

static bool crc_can_fold_wide(size_t len)
{
	return len >= 2 * WIDES && __builtin_cpu_supports("vpclmulqdq") &&
	       __builtin_cpu_supports("avx2");
}

/* @len: a multiple of BLOCK, and not 0. @state: the CRC before, without its inversion */
FOLDS static u32 fold_text(u32 state, const u8 *p, size_t len)
{
	struct folding t = { p, len };
	__m128i x;

	if (crc_can_fold_wide(len))
		x = fold_wides(state, &t);
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
	return len >= BLOCK && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
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

u32 roce_crc32(u32 crc, const u8 *p, size_t len)
{
	size_t whole = len / BLOCK * BLOCK;

	if (crc_can_fold(len)) {
		crc = ~fold_text(~crc, p, whole);
		p += whole;
		len -= whole;
	}
	return (u32)crc32(crc, p, (uInt)len);
}
