/* SPDX-License-Identifier: MIT */
/* A table of texts: comments of packets, of which many have the same. */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"

#include <stdlib.h>
#include <string.h>

static u32 strings_hash(const char *text, size_t len)
{
	u32 h = 2166136261u;

	for (; len; len--)
		h = (h ^ (u8)*text++) * 16777619u;
	return h;
}

static bool strings_make_slots(struct report_strings *s)
{
	s->slots = 2 * REPORT_STRINGS;
	s->slot = calloc(s->slots, sizeof(*s->slot));
	return s->slot;
}

static bool strings_make_room(struct report_strings *s)
{
	u32 cap = s->cap ? 2 * s->cap : 256;
	char **more;

	if (s->n < s->cap)
		return true;
	if (s->n >= REPORT_STRINGS)
		return false;
	more = realloc(s->text, cap * sizeof(*more));
	if (!more)
		return false;
	s->text = more;
	s->cap = cap;
	return true;
}

u32 strings_number(struct report_strings *s, const char *text, size_t len)
{
	u32 at;

	len = strnlen(text, len);
	if (!len || (!s->slot && !strings_make_slots(s)))
		return 0;
	/* Twice as many slots as texts: one is always empty. */
	for (at = strings_hash(text, len) % s->slots; s->slot[at]; at = (at + 1) % s->slots)
		if (!strncmp(s->text[s->slot[at] - 1], text, len) && !s->text[s->slot[at] - 1][len])
			return s->slot[at];
	if (!strings_make_room(s))
		return s->full = true, 0;
	s->text[s->n] = strndup(text, len);
	if (!s->text[s->n])
		return 0;
	s->slot[at] = ++s->n;
	return s->n;
}

struct json_object *strings_json(const struct report_strings *s)
{
	struct json_object *all = json_object_new_array();
	u32 i;

	for (i = 0; i < s->n; i++)
		json_append(all, json_object_new_string(s->text[i]));
	return all;
}

void strings_free(struct report_strings *s)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		free(s->text[i]);
	free(s->text);
	free(s->slot);
}
