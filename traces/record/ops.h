/* SPDX-License-Identifier: MIT */
/** DOC: patches the function pointers of new objects. */
#ifndef TRACES_RECORD_OPS_H
#define TRACES_RECORD_OPS_H

#include "traces/record/call.h"

/**
 * rec_objects_attach() - patch the objects that a recorded call has created. @ret: its result.
 * Keeps errno.
 */
void rec_objects_attach(const struct rec_call *c, u64 ret);

#endif
