/* SPDX-License-Identifier: MIT */
/*
 * Compares lines word by word. Words have the same order in all lines of a call; one that is 0 is
 * left out.
 */
#include "traces/compare/compare.h"

#include <string.h>

/* Whether a line has a word of this key. */
static bool words_have_key(const char *line, const char *key, size_t name)
{
	for (; *line; line += strcspn(line, " "), line += *line == ' ')
		if (strcspn(line, "= ") == name && !memcmp(line, key, name))
			return true;
	return false;
}

bool cmp_words_are_same(const struct cmp_judge *j, const char *a, const char *b)
{
	size_t a_len, b_len, a_name, b_name;

	while (*a || *b) {
		a_len = strcspn(a, " ");
		b_len = strcspn(b, " ");
		a_name = strcspn(a, "= ");
		b_name = strcspn(b, "= ");
		if (a_name == b_name && !memcmp(a, b, a_name)) {
			if (!j->is_same(j->arg, a, a_len, b, b_len, a_name))
				return false;
			a += a_len;
			b += b_len;
		} else if (*a && !words_have_key(b, a, a_name) &&
			   j->may_lack(j->arg, a, a_len, a_name, true)) {
			a += a_len;
		} else if (*b && !words_have_key(a, b, b_name) &&
			   j->may_lack(j->arg, b, b_len, b_name, false)) {
			b += b_len;
		} else {
			return false;
		}
		a += *a == ' ';
		b += *b == ' ';
	}
	return true;
}
