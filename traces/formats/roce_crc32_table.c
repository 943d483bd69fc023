/* SPDX-License-Identifier: MIT */
/**
 * DOC: the CRC-32 by tables, eight bytes at a time: for what roce_crc32.c does not fold.
 *
 * Table k has the CRC of each byte with k zeros after it, so the CRC of eight bytes is the sum of
 * eight entries. zlib has the same; programs that send by a wire shall not load it for that.
 */
#include "traces/formats/roce_model.h"

#include <endian.h>

#define WORD	   8ul
#define POLYNOMIAL 0xedb88320u /* reflected */

static u32 table[WORD][256];

/* Two threads may do that at the same time: each writes the same. */
static void table_fill(void)
{
	u32 i, k, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		store_relaxed(&table[0][i], crc);
	}
	for (k = 1; k < WORD; k++)
		for (i = 0; i < 256; i++) {
			crc = load_relaxed(&table[k - 1][i]);
			crc = crc >> 8 ^ load_relaxed(&table[0][crc & 0xff]);
			store_relaxed(&table[k][i], crc);
		}
}

static u32 crc_add_word(u32 state, const u8 *p)
{
	u64 word;

	memcpy(&word, p, sizeof(word));
	word = le64toh(word) ^ state;
	return table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^ table[5][word >> 16 & 0xff] ^
	       table[4][word >> 24 & 0xff] ^ table[3][word >> 32 & 0xff] ^
	       table[2][word >> 40 & 0xff] ^ table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
}

u32 roce_crc32_by_table(u32 crc, const u8 *p, size_t len)
{
	u32 state = ~crc;

	/* The entry that is written last. */
	if (unlikely(!load_acquire(&table[WORD - 1][255])))
		table_fill();
	for (; len >= WORD; len -= WORD, p += WORD)
		state = crc_add_word(state, p);
	for (; len; len--)
		state = state >> 8 ^ table[0][(state ^ *p++) & 0xff];
	return ~state;
}
