/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric's state, from JSON object to text.
 */
#ifndef FABRIC_STATUS_H
#define FABRIC_STATUS_H

#include <json-c/json.h>
#include <stdio.h>

/** status_print() - print the object that status.c gathers for people. */
void status_print(FILE *out, struct json_object *o);

#endif
