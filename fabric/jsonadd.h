/* SPDX-License-Identifier: MIT */
/**
 * DOC: members of JSON objects.
 */
#ifndef FABRIC_JSONADD_H
#define FABRIC_JSONADD_H

#include "emulator/types.h"

#include <json-c/json.h>

static inline void add_int(struct json_object *o, const char *key, u64 v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

static inline void add_str(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

#endif
