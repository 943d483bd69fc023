/* SPDX-License-Identifier: MIT */
/* Lists of findings, and patterns of their names. */
#include "fabric/proto/finding.h"

#include <string.h>

const char *finding_severity_name(enum finding_severity severity)
{
	static const char *const names[FINDING_SEVERITIES] = { "error", "warning", "info" };

	return names[severity];
}

bool finding_pattern_matches(const char *pattern, size_t len, const char *text)
{
	/* After a '*' that has matched too little, it takes one character more. */
	const char *star = NULL, *resume = NULL, *end = pattern + len;

	while (*text) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (pattern < end && *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* Whether a word is the plural of a severity. */
static bool finding_word_is_severity(const char *word, size_t len, enum finding_severity severity)
{
	const char *name = finding_severity_name(severity);
	size_t n = strlen(name);

	return len == n + 1 && !memcmp(word, name, n) && word[n] == 's';
}

/*
 * Whether a word of a list means a finding. A group has its cost: a pattern of names does not turn
 * it on.
 */
static bool finding_word_means(const char *word, size_t len, const struct finding_def *d, bool add)
{
	return (len == 3 && !memcmp(word, "all", 3)) ||
	       (d->group ? len == strlen(d->group) && !memcmp(word, d->group, len)
			 : finding_word_is_severity(word, len, d->severity)) ||
	       (!(add && d->group && memchr(word, '*', len)) &&
		finding_pattern_matches(word, len, d->name));
}

/* Adds the findings of a word, or takes them out. Return: whether it names any. */
static bool finding_set_change(struct finding_set *set, const char *word, size_t len, bool add)
{
	bool found = false;
	u32 id;

	for (id = 0; id < FINDING_COUNT; id++) {
		u64 *bits = &set->word[id / 64], bit = 1ull << id % 64;

		if (!finding_word_means(word, len, &finding_defs[id], add))
			continue;
		found = true;
		*bits = add ? *bits | bit : *bits & ~bit;
	}
	return found;
}

const char *finding_list_parse(const char *list, struct finding_set *on)
{
	const char *word = list;
	size_t len, minus;

	*on = (struct finding_set){ { 0 } };
	if (*list == '-')
		finding_list_parse(FINDING_LIST_DEFAULT, on);
	for (;; word += len + 1) {
		len = strcspn(word, ",");
		minus = *word == '-';
		if (!finding_set_change(on, word + minus, len - minus, !minus))
			return word;
		if (!word[len])
			return NULL;
	}
}

bool finding_pattern_is_known(const char *pattern)
{
	u32 id;

	for (id = 0; id < FINDING_COUNT; id++)
		if (finding_pattern_matches(pattern, strlen(pattern), finding_defs[id].name))
			return true;
	return false;
}

int finding_find(const char *name)
{
	int id;

	for (id = 0; id < FINDING_COUNT; id++)
		if (!strcmp(finding_defs[id].name, name))
			return id;
	return -1;
}
