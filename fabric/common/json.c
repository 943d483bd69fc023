/* SPDX-License-Identifier: MIT */
/**
 * DOC: see json.h.
 *
 * json-c ends the process when something is added to an object for which there was no memory. The
 * fabric process has to outlive that: it serves programs that ask for nothing. So code that builds
 * JSON adds with the functions here. They remember that something is missing, and the caller throws
 * away what it has built.
 */
#include "fabric/common/json.h"

static bool incomplete;

void json_begin(void)
{
	incomplete = false;
}

int json_end(void)
{
	return incomplete ? -ENOMEM : 0;
}

void json_add(struct json_object *o, const char *key, struct json_object *v)
{
	if (o && v && !json_object_object_add(o, key, v))
		return;
	json_object_put(v);
	incomplete = true;
}

void json_append(struct json_object *array, struct json_object *v)
{
	if (array && v && !json_object_array_add(array, v))
		return;
	json_object_put(v);
	incomplete = true;
}

const char *json_text(struct json_object *o, int flags)
{
	const char *text = o ? json_object_to_json_string_ext(o, flags) : NULL;

	incomplete |= !text;
	return text ? text : "";
}

void json_print(FILE *out, struct json_object *o)
{
	fprintf(out, "%s\n",
		json_text(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}
