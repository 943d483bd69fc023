/* SPDX-License-Identifier: MIT */
/* Lines are compared word by word: which words form a pair, and which have none. */
#include "tests/lib/c/cu.h"
#include "traces/compare/compare.h"

#include <stdio.h>
#include <string.h>

/* The pairs that differ and the words without one, as text. */
static char seen[256];

static bool note_pair(void *arg, const char *a, size_t a_len, const char *b, size_t b_len,
		      size_t name)
{
	size_t len = strlen(seen);

	if (a_len == b_len && !memcmp(a, b, a_len))
		return true;
	snprintf(seen + len, sizeof(seen) - len, "%.*s/%.*s ", (int)a_len, a,
		 (int)(b_len - name - 1), b + name + 1);
	return *(bool *)arg;
}

static bool note_word(void *arg, const char *word, size_t len, size_t name, bool of_a)
{
	size_t end = strlen(seen);

	(void)name;
	snprintf(seen + end, sizeof(seen) - end, "%c%.*s ", of_a ? '-' : '+', (int)len, word);
	return *(bool *)arg;
}

/* Whether the lines are the same where @all differences are, and what was asked. */
static bool same(bool all, const char *a, const char *b)
{
	const struct cmp_judge judge = { .is_same = note_pair, .may_lack = note_word, .arg = &all };

	seen[0] = '\0';
	return cmp_words_are_same(&judge, a, b);
}

static void test_equal_lines_ask_nothing(void)
{
	CU_ASSERT(same(false, "call a=1 b=2 = 0 c=3", "call a=1 b=2 = 0 c=3"));
	CU_ASSERT_STRING_EQUAL(seen, "");
	CU_ASSERT(same(false, "", ""));
}

static void test_words_of_a_key_are_a_pair(void)
{
	CU_ASSERT(same(true, "call a=1 b=2", "call a=5 b=2"));
	CU_ASSERT_STRING_EQUAL(seen, "a=1/5 ");
	CU_ASSERT(!same(false, "call a=1 b=2", "call a=5 b=2"));
}

/* A field of 0 has no word: the words after it still form pairs. */
static void test_a_missing_word_leaves_the_other_pairs(void)
{
	CU_ASSERT(same(true, "call b=2 c=3", "call a=1 b=7 c=3"));
	CU_ASSERT_STRING_EQUAL(seen, "+a=1 b=2/7 ");
	CU_ASSERT(same(true, "call a=1 b=2 c=3", "call b=7 c=3"));
	CU_ASSERT_STRING_EQUAL(seen, "-a=1 b=2/7 ");
	CU_ASSERT(same(true, "call a=1 c=3", "call b=2 c=3"));
	CU_ASSERT_STRING_EQUAL(seen, "-a=1 +b=2 ");
	CU_ASSERT(same(true, "call a=1", "call a=1 b=2"));
	CU_ASSERT_STRING_EQUAL(seen, "+b=2 ");
	CU_ASSERT(!same(false, "call b=2", "call a=1 b=2"));
}

static void test_an_input_is_no_result(void)
{
	CU_ASSERT(!same(false, "call a=1 = 0", "call = 0 a=1"));
	CU_ASSERT(!same(false, "call = 0", "call = -1"));
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "equal lines ask nothing", test_equal_lines_ask_nothing },
		{ "words of a key are a pair", test_words_of_a_key_are_a_pair },
		{ "a missing word leaves the other pairs",
		  test_a_missing_word_leaves_the_other_pairs },
		{ "an input is no result", test_an_input_is_no_result },
		{ NULL, NULL },
	};

	return cu_run("words", tests);
}
