/* SPDX-License-Identifier: MIT */
/* The CRC-32 of ICRCs, next to one that takes a bit at a time. */
#include "tests/lib/c/cu.h"
#include "traces/formats/roce_model.h"

#define LONGEST 1700u
#define OFFSETS 17u

static u8 text[LONGEST + OFFSETS];

static u32 crc_of_bits(u32 crc, const u8 *p, u32 len)
{
	u32 i, bit;

	crc = ~crc;
	for (i = 0; i < len; i++) {
		crc ^= p[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void test_texts_of_all_lengths_have_their_crc(void)
{
	u32 len, i, wrong = 0, start = 0;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (u8)(i * 167 + i / 3);
	for (len = 0; len <= LONGEST; len++) {
		const u8 *p = text + len % OFFSETS;

		wrong += roce_crc32(start, p, len) != crc_of_bits(start, p, len);
		wrong += roce_crc32_by_table(start, p, len) != crc_of_bits(start, p, len);
		start = start * 1103515245u + 12345u;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void test_a_text_in_parts_has_the_crc_of_the_whole(void)
{
	u32 at, whole = crc_of_bits(0, text, LONGEST), wrong = 0;

	for (at = 0; at <= LONGEST; at++)
		wrong += roce_crc32(roce_crc32(0, text, at), text + at, LONGEST - at) != whole;
	CU_ASSERT_EQUAL(wrong, 0);
	/* The check value of CRC-32. */
	CU_ASSERT_EQUAL(roce_crc32(0, (const u8 *)"123456789", 9), 0xcbf43926u);
}

/* A copy, from and to any address, has the CRC of its text, and nothing next to it is written. */
static void test_a_copy_has_the_crc_of_its_text(void)
{
	static u8 copy[LONGEST + 2 * OFFSETS];
	u32 len, wrong = 0, start = 0, i, at;

	for (len = 0; len <= LONGEST; len++) {
		const u8 *p = text + len % OFFSETS;

		at = len / OFFSETS % OFFSETS;
		memset(copy, 0xee, sizeof(copy));
		wrong += roce_crc32_copy(start, copy + at, p, len) != crc_of_bits(start, p, len);
		wrong += memcmp(copy + at, p, len) != 0;
		for (i = 0; i < sizeof(copy); i++)
			wrong += (i < at || i >= at + len) && copy[i] != 0xee;
		start = start * 1103515245u + 12345u;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "texts of all lengths have their CRC", test_texts_of_all_lengths_have_their_crc },
		{ "a text in parts has the CRC of the whole",
		  test_a_text_in_parts_has_the_crc_of_the_whole },
		{ "a copy has the CRC of its text", test_a_copy_has_the_crc_of_its_text },
		{ NULL, NULL },
	};

	return cu_run("roce_crc32", tests);
}
