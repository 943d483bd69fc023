/* SPDX-License-Identifier: MIT */
/**
 * DOC: the process that has started the fabric process and waits until it is ready. See
 * common/daemon_start.h.
 */
#ifndef FABRIC_CORE_STARTER_H
#define FABRIC_CORE_STARTER_H

#include "fabric/common/daemon_start.h"

struct fabric;

/** starter_report_ready() - let the starter continue. Once. @but: a line for its user, or NULL */
void starter_report_ready(struct fabric *f, const char *but);
/** starter_report_failure() - tell the starter why there is no fabric. */
void starter_report_failure(struct fabric *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
