/* SPDX-License-Identifier: MIT */
/** DOC: adding the programs of one trace to another, behind all that happened there. */
#ifndef TRACES_VTRACE_APPEND_H
#define TRACES_VTRACE_APPEND_H

#include "traces/vtrace/read.h"

/**
 * vt_append() - move the programs of the trace @from, which nobody writes any more, to the one at @to.
 *
 * They get the next numbers pN there, and their calls the next numbers of its order. Both are in one file system. What
 * else is in @from stays there. Returns the number of the first one, or -errno with @err set.
 */
int vt_append(const char *to, const char *from, struct vt_error *err);

#endif
