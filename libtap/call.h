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

/**
 * tap_end_begin() - within a call of the program, a library is about to make @call, which ends
 * @obj: an object that librdmacm has created in passing. No user sees the call. A context is
 * forgotten here, while it can still be used: users may have a thread that does.
 * Return: the ordinal of the object, for tap_end(); 0: none, or forgotten
 */
u32 tap_end_begin(enum vcall call, const void *obj);
/** tap_end() - it has succeeded. Keeps errno. */
void tap_end(enum vcall call, const void *obj, u32 ord);

#endif
