/* SPDX-License-Identifier: MIT */
/** DOC: calls of the control path. */
#ifndef LIBTAP_CALL_H
#define LIBTAP_CALL_H

#include "libtap/process.h"

/**
 * tap_call_begin() - a call begins, after tap_enter(). Keeps errno.
 * Return: whether to carry it out; its result goes to @c->ret, and errno must stay as it has set it
 */
bool tap_call_begin(struct tap_call *c, enum vcall call, const u64 *args);
/**
 * tap_call_end() - the call has ended. Sets errno. Its result is @c->ret. After it,
 * tap_objects_attach() patches the objects that the call has created, before tap_leave().
 */
void tap_call_end(struct tap_call *c);

#endif
