/* SPDX-License-Identifier: MIT */
/** DOC: appends the programs of one trace to another. */
#ifndef TRACES_VTRACE_APPEND_H
#define TRACES_VTRACE_APPEND_H

#include "traces/vtrace/read.h"

/**
 * vt_append() - move the programs of the trace @from, which must be complete, to the end of the
 * trace @to.
 *
 * They get the next free numbers pN there, and their calls the next numbers of the order. Both
 * traces must be in one file system. Other files of @from stay. Returns the number of the first
 * program, or -errno with @err set.
 */
int vt_append(const char *to, const char *from, struct vt_error *err);

#endif
