/* SPDX-License-Identifier: MIT */
/* Records of sealed connections: what the peer has sealed, in its order, and nothing else. */
#include "fabric/join/seal.h"
#include "tests/lib/c/cu.h"

#include <errno.h>
#include <string.h>

static struct seal tx, rx;
static u8 text[SEAL_MAX], got[SEAL_MAX], rec[3][SEAL_RECORD];

static void begin_both(bool aes)
{
	u8 secret[SEAL_KEY];

	memset(secret, 7, sizeof(secret));
	seal_begin(&tx, secret, aes);
	seal_begin(&rx, secret, aes);
}

static void check_opens(const u8 *r, const u8 *want, u32 len)
{
	CU_ASSERT_EQUAL(seal_length(r, SEAL_HEAD), (int)(SEAL_HEAD + len + SEAL_TAG));
	CU_ASSERT_EQUAL(seal_read(&rx, r, got), (int)len);
	CU_ASSERT_EQUAL(memcmp(got, want, len), 0);
}

static void test_lengths(void)
{
	static const u32 len[] = { 1, 15, 16, 17, 63, 64, 200, 4096, SEAL_MAX - 1, SEAL_MAX };
	u32 i, k;

	for (i = 0; i < SEAL_MAX; i++)
		text[i] = (u8)(i * 31 + i / 256);
	for (k = 0; k < 2; k++) {
		begin_both(k);
		for (i = 0; i < ARRAY_SIZE(len); i++) {
			CU_ASSERT_EQUAL(seal_write(&tx, rec[0], text, len[i]),
					SEAL_HEAD + len[i] + SEAL_TAG);
			/* The text is not in the record. */
			if (len[i] > 15)
				CU_ASSERT_PTR_NULL(memmem(rec[0], SEAL_HEAD + len[i], text, 16));
			check_opens(rec[0], text, len[i]);
		}
	}
}

static void test_lengths_that_are_none(void)
{
	u8 none[SEAL_HEAD] = { 0 }, huge[SEAL_HEAD] = { 1, 0, 1, 0 };
	u8 most[SEAL_HEAD] = { 0xff, 0xff, 0xff, 0xff };

	CU_ASSERT_EQUAL(seal_length(none, SEAL_HEAD), -EBADMSG);
	CU_ASSERT_EQUAL(seal_length(huge, SEAL_HEAD), -EBADMSG);
	CU_ASSERT_EQUAL(seal_length(most, SEAL_HEAD), -EBADMSG);
	CU_ASSERT_EQUAL(seal_length(most, SEAL_HEAD - 1), 0);
	CU_ASSERT_EQUAL(seal_read(&rx, huge, got), -EBADMSG);
}

static void test_replayed_and_reordered(void)
{
	u32 k, i;

	for (k = 0; k < 2; k++) {
		begin_both(k);
		for (i = 0; i < 3; i++)
			seal_write(&tx, rec[i], text + i, 100);
		check_opens(rec[0], text, 100);
		CU_ASSERT_EQUAL(seal_read(&rx, rec[0], got), -EBADMSG);
		begin_both(k);
		for (i = 0; i < 3; i++)
			seal_write(&tx, rec[i], text + i, 100);
		/* One is left out. */
		CU_ASSERT_EQUAL(seal_read(&rx, rec[1], got), -EBADMSG);
	}
}

static void test_changed_bits(void)
{
	u32 k, bit, len;

	for (k = 0; k < 2; k++)
		for (bit = 0; bit < 8 * (SEAL_HEAD + 40 + SEAL_TAG); bit++) {
			begin_both(k);
			len = seal_write(&tx, rec[0], text, 40);
			rec[0][bit / 8] ^= (u8)(1u << bit % 8);
			CU_ASSERT_EQUAL(seal_read(&rx, rec[0], got), -EBADMSG);
			CU_ASSERT_EQUAL(len, SEAL_HEAD + 40 + SEAL_TAG);
		}
}

static void test_own_record(void)
{
	u8 a[SEAL_KEY] = { 1 }, b[SEAL_KEY] = { 2 };

	/* The directions have other keys. */
	seal_begin(&tx, a, true);
	seal_begin(&rx, b, true);
	seal_write(&tx, rec[0], text, 100);
	CU_ASSERT_EQUAL(seal_read(&rx, rec[0], got), -EBADMSG);
}

static void test_next_key(void)
{
	u32 i, bad = 0;

	begin_both(true);
	for (i = 0; i < SEAL_RECORDS + 3; i++) {
		seal_write(&tx, rec[0], text + i % 100, 8);
		bad += seal_read(&rx, rec[0], got) != 8 || memcmp(got, text + i % 100, 8) != 0;
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_EQUAL(memcmp(tx.secret, rx.secret, SEAL_KEY), 0);
	CU_ASSERT_NOT_EQUAL(tx.secret[0], 7);
}

static const struct cu_test tests[] = {
	{ "lengths", test_lengths },
	{ "lengths that are none", test_lengths_that_are_none },
	{ "records replayed and reordered", test_replayed_and_reordered },
	{ "records with a changed bit", test_changed_bits },
	{ "records of the other direction", test_own_record },
	{ "the key is replaced", test_next_key },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("seal", tests);
}
