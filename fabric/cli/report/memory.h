/* SPDX-License-Identifier: MIT */
/** DOC: registered memory of recorded programs, for a report. */
#ifndef FABRIC_CLI_REPORT_MEMORY_H
#define FABRIC_CLI_REPORT_MEMORY_H

#include "fabric/cli/report/report.h"
#include "fabric/cli/trace/trace.h"

struct report_memory;

/** memory_make() - for the regions of a trace. Return: NULL: no memory. */
struct report_memory *memory_make(void);
void memory_free(struct report_memory *m);
/** memory_learn() - add the regions of a program. */
void memory_learn(struct report_memory *m, const struct vt_program *p);
/** memory_count() - count a program's accesses, when the regions of all programs are known. */
void memory_count(struct report_memory *m, const struct vt_program *p);
/** report_memory_add() - add the regions to a report. */
void report_memory_add(const struct report_memory *m, struct report *r);

#endif
