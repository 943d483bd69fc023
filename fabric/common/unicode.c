/* SPDX-License-Identifier: MIT */
/* See unicode.h. */
#include "fabric/common/unicode.h"

#include "emulator/types.h"

#include <string.h>

/* The range of the second byte keeps out overlong forms, surrogates and what is above U+10FFFF. */
static const struct utf8_lead {
	u8 first, last; /* of the first byte */
	u8 low, high; /* of the second byte */
	u8 length;
} utf8_leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

size_t utf8_length(const char *s)
{
	const u8 *byte = (const u8 *)s;
	size_t i, k;

	if (byte[0] < 0x80)
		return byte[0] ? 1 : 0;
	for (i = 0; i < ARRAY_SIZE(utf8_leads); i++) {
		const struct utf8_lead *l = &utf8_leads[i];

		if (byte[0] < l->first || byte[0] > l->last)
			continue;
		if (byte[1] < l->low || byte[1] > l->high)
			return 0;
		for (k = 2; k < l->length; k++)
			if ((byte[k] & 0xc0) != 0x80)
				return 0;
		return l->length;
	}
	return 0;
}

/* C0, DEL and C1. */
static bool utf8_is_control(const char *s, size_t length)
{
	const u8 *byte = (const u8 *)s;

	return length == 1 ? byte[0] < ' ' || byte[0] == 0x7f
			   : length == 2 && byte[0] == 0xc2 && byte[1] < 0xa0;
}

void utf8_make_printable(char *s)
{
	size_t n;

	for (; *s; s += n) {
		n = utf8_length(s);
		if (!n || utf8_is_control(s, n)) {
			n = n ? n : 1;
			memset(s, '?', n);
		}
	}
}
