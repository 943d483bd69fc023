/* SPDX-License-Identifier: MIT */
/** DOC: calls of recorded programs, for a report: see calls.c. */
#ifndef FABRIC_CLI_REPORT_CALLS_H
#define FABRIC_CLI_REPORT_CALLS_H

#include "fabric/cli/report/report.h"
#include "fabric/cli/trace/export.h"

/**
 * report_calls_add() - add the latest calls of a trace.
 * @x: the trace after export_scan(), with all programs of @d
 * Return: 0 or -ENOMEM.
 */
int report_calls_add(struct report *r, const struct vt_dir *d, struct export *x);

#endif
