/* SPDX-License-Identifier: MIT */
/** DOC: patches the function pointers of new objects. */
#ifndef LIBTAP_OPS_H
#define LIBTAP_OPS_H

#include "libtap/process.h"

/**
 * tap_objects_attach() - patch the objects that a call has created, after its tap_call_end(). Keeps
 * errno.
 */
void tap_objects_attach(const struct tap_call *c);

#endif
