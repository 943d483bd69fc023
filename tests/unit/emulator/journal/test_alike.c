/* SPDX-License-Identifier: MIT */
/* Notices that are alike: a few are written, the others are counted. */
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define MS 1000000ULL

/* Eight of 1,141 drops that are alike are written; the first of them counts all others. */
static void test_flood(void)
{
	struct burst burst = { .op = BOP_SEND, .npkts = 1, .dst_type = QPT_UD, .dst_qpn = 0x123 };
	const struct journal_entry *j;
	struct emu *m;
	char text[768], why[256];
	u64 before;

	m = emu_new(1);
	before = m->hca->notice_seq;
	for (u32 i = 0; i < 1141; i++) {
		burst.psn = i;
		m->clock += MS;
		journal_drop(&m->fabric, &burst, CAUSE_NO_RECEIVE, 0);
	}
	CU_ASSERT_EQUAL(m->hca->notice_seq, before + 8);
	j = &m->hca->notice[before];
	CU_ASSERT_TRUE(j->more == 1140 && j->until == m->clock && j->psn == 0 && !j->counted_in);
	journal_entry_text(m->hca, j, 0, NULL, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "dropped: no receive is posted; 1141 times, the last at"));
	journal_why_text(m->hca, j, 0, NULL, why, sizeof(why));
	CU_ASSERT_TRUE(strstr(why, "no receive is posted; 1141 times, the last at") == why);
	/* Readers leave the other seven out. */
	for (u32 i = 1; i < 8; i++)
		CU_ASSERT_EQUAL(j[i].counted_in, i);
	/* Another one in between is written, and the flood is counted on. */
	journal_drop(&m->fabric, &burst, CAUSE_NO_PORT, 0);
	journal_drop(&m->fabric, &burst, CAUSE_NO_RECEIVE, 0);
	CU_ASSERT_EQUAL(m->hca->notice_seq, before + 9);
	CU_ASSERT_EQUAL(j->more, 1141);
	CU_ASSERT_EQUAL(m->hca->flood_seq, 1142 - 8);
	/* Each hit of a rule is written. */
	for (u32 i = 0; i < 20; i++)
		journal_drop(&m->fabric, &burst, CAUSE_FAULT, 3);
	CU_ASSERT_EQUAL(m->hca->notice_seq, before + 29);
	emu_free(m);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a flood is counted", test_flood },
		{ NULL, NULL },
	};

	return cu_run("journal, alike", tests);
}
