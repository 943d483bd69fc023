/* SPDX-License-Identifier: MIT */
/** DOC: adding members to JSON objects, and printing objects. */
#ifndef FABRIC_COMMON_JSON_H
#define FABRIC_COMMON_JSON_H

#include "emulator/types.h"

#include <json-c/json.h>
#include <stdio.h>

static inline void json_add_int(struct json_object *o, const char *key, u64 v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

static inline void json_add_str(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

/** json_print() - print an object or array, readable for people and machines, and release it. */
static inline void json_print(FILE *out, struct json_object *o)
{
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

#endif
