/* SPDX-License-Identifier: MIT */
/** DOC: building JSON objects, and printing them. */
#ifndef FABRIC_COMMON_JSON_H
#define FABRIC_COMMON_JSON_H

#include "emulator/types.h"

#include <json-c/json.h>
#include <stdio.h>

/** json_begin() - let json_end() say whether memory is missing from here on. */
void json_begin(void);
/** json_end() - Return: 0, or -ENOMEM: something that was built or printed since is incomplete. */
int json_end(void);

/** json_add() - add a member to an object. Both may be NULL, for lack of memory. @v becomes its. */
void json_add(struct json_object *o, const char *key, struct json_object *v);
/** json_append() - the same for an array. */
void json_append(struct json_object *array, struct json_object *v);
/** json_text() - as json_object_to_json_string_ext(3); "" if there is no memory. */
const char *json_text(struct json_object *o, int flags);
/** json_print() - print an object or array, readable for people and machines, and release it. */
void json_print(FILE *out, struct json_object *o);

static inline void json_add_int(struct json_object *o, const char *key, u64 v)
{
	json_add(o, key, json_object_new_int64((int64_t)v));
}

static inline void json_add_str(struct json_object *o, const char *key, const char *v)
{
	json_add(o, key, json_object_new_string(v));
}

/** json_get_int() - a number of an object; 0: it has none. @o may be NULL, as below. */
static inline u64 json_get_int(struct json_object *o, const char *key)
{
	return (u64)json_object_get_int64(json_object_object_get(o, key));
}

/** json_length() - elements of an array; 0: it is none. */
static inline size_t json_length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/** json_get_str() - a text of an object, or a number as text; "": it has none. */
static inline const char *json_get_str(struct json_object *o, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(o, key));

	return text ? text : "";
}

#endif
