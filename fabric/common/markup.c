/* SPDX-License-Identifier: MIT */
/* See markup.h. */
#include "fabric/common/markup.h"
#include "fabric/common/unicode.h"

#include "emulator/types.h"

#define MARKUP_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Whether XML 1.0 allows the character of @n bytes. */
static bool markup_is_char(const char *s, size_t n)
{
	if (n == 1)
		return (u8)*s >= 0x20 || *s == '\t' || *s == '\n' || *s == '\r';
	/* U+FFFE and U+FFFF */
	return n && memcmp(s, "\xef\xbf\xbe", n) != 0 && memcmp(s, "\xef\xbf\xbf", n) != 0;
}

static void markup_print_char(FILE *out, const char *s, size_t n)
{
	switch (*s) {
	case '&':
		fputs("&amp;", out);
		break;
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	case '\t':
	case '\n':
	case '\r':
		/* A reader makes blanks of these in attributes. */
		fprintf(out, "&#%d;", *s);
		break;
	default:
		fwrite(s, 1, n, out);
	}
}

void markup_print(FILE *out, const char *text)
{
	size_t n;

	for (; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (markup_is_char(text, n))
			markup_print_char(out, text, n);
		else
			fputs(MARKUP_REPLACEMENT, out);
	}
}
