/* SPDX-License-Identifier: MIT */
/* The text of entries of the journal. */
#include "emulator/journal/text.h"
#include "emulator/journal/writer.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

/* Every cause and every reason has words and a name of its own. */
static void test_words(void)
{
	struct journal_entry j = { .kind = JRN_COMPLETION, .status = WCS_RETRY_EXC_ERR };
	char text[768], before[768] = "";
	struct emu *m = emu_new(1);

	for (u32 i = 0; i < CAUSE_COUNT; i++) {
		j.cause = (u8)i;
		journal_why_text(m->hca, &j, 0, NULL, text, sizeof(text));
		CU_ASSERT_TRUE(text[0] && strcmp(text, "?") != 0 && strcmp(text, before) != 0);
		CU_ASSERT_TRUE(journal_cause_name(i) && strcmp(journal_cause_name(i), "?") != 0);
		snprintf(before, sizeof(before), "%s", text);
	}
	j.cause = CAUSE_RETRY;
	for (u32 i = 0; i < WHY_COUNT; i++) {
		j.why = (u8)i;
		journal_why_text(m->hca, &j, 0, NULL, text, sizeof(text));
		CU_ASSERT_TRUE(text[0] && strcmp(journal_why_name(i), "?") != 0);
	}
	/* Text that is too long is cut off. */
	journal_entry_text(m->hca, &j, 0, NULL, text, 16);
	CU_ASSERT_EQUAL(strlen(text), 15);
	emu_free(m);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "all causes have words", test_words },
		{ NULL, NULL },
	};

	return cu_run("journal text", tests);
}
