/* SPDX-License-Identifier: MIT */
#include "traces/vtrace/command_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool word_is_plain(const char *word)
{
	const char *c;

	for (c = word; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-+=.,:/@%^", *c))
			return false;
	return c != word && strcmp(word, WORDS_CUT) != 0;
}

/* Return: bytes written, or @room: the word does not fit. */
static size_t vt_command_quote_word(char *at, size_t room, const char *word)
{
	static const char quote[] = { '\'', '\\', '\'', '\'' };
	bool plain = word_is_plain(word);
	size_t n = 0;

	if (!plain && n < room)
		at[n++] = '\'';
	for (; *word && n < room; word++) {
		if (*word == '\'') {
			if (room - n < sizeof(quote))
				return room;
			memcpy(at + n, quote, sizeof(quote));
			n += sizeof(quote);
		} else if ((unsigned char)*word < ' ') {
			at[n++] = ' ';
		} else {
			at[n++] = *word;
		}
	}
	if (!plain && n < room)
		at[n++] = '\'';
	return n;
}

bool vt_command_add_word(char *line, size_t cap, const char *word)
{
	size_t len = strlen(line), room = sizeof(" " WORDS_CUT), n;

	if (len) {
		if (cap < len + 1 + room)
			return false;
		line[len++] = ' ';
	}
	/* Reserves room for the mark that the command was cut. */
	n = cap > len + room ? vt_command_quote_word(line + len, cap - len - room, word) : 0;
	if (n && n < cap - len - room) {
		line[len + n] = '\0';
		return true;
	}
	snprintf(line + len, cap - len, "%s", WORDS_CUT);
	return false;
}

bool vt_command_is_whole(const char *line)
{
	size_t len = strlen(line), cut = strlen(WORDS_CUT);

	return len && (len < cut || strcmp(line + len - cut, WORDS_CUT) != 0 ||
		       (len > cut && line[len - cut - 1] != ' '));
}
