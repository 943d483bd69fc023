/* SPDX-License-Identifier: MIT */
/* What unit tests of fault rules' texts share: whether a text is read, and why it is refused. */
#ifndef TESTS_LIB_C_FAULT_TEXT_H
#define TESTS_LIB_C_FAULT_TEXT_H

#include "fabric/fault/parse.h"

#include <stdio.h>
#include <string.h>

static struct fault_rule rule;
static struct fault_bad bad;

/* Whether it is read; it is in @rule then. */
static bool reads(const char *text)
{
	if (!fault_parse(&rule, text, &bad))
		return true;
	printf("\n'%s': '%s': expected %s\n", text, bad.word, bad.expected);
	return false;
}

/* Whether it is refused, because of @word, and what was expected has @part in it. */
static bool refused(const char *text, const char *word, const char *part)
{
	if (!fault_parse(&rule, text, &bad)) {
		printf("\n'%s' is read\n", text);
		return false;
	}
	if (!strcmp(bad.word, word) && strstr(bad.expected, part))
		return true;
	printf("\n'%s': '%s': expected %s\n", text, bad.word, bad.expected);
	return false;
}

#endif
