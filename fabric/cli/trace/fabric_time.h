/* SPDX-License-Identifier: MIT */
/** DOC: times of a trace as times of its fabric: see fabric_time.c. */
#ifndef FABRIC_CLI_TRACE_FABRIC_TIME_H
#define FABRIC_CLI_TRACE_FABRIC_TIME_H

#include "emulator/clock.h"
#include "traces/vtrace/read.h"

/**
 * trace_fabric_time_read() - get the clock by which times of a program become times of its fabric,
 * since the fabric's start: by hca_clock_at(). Return: false: the trace has none.
 */
bool trace_fabric_time_read(const struct vt_program *p, struct hca_clock *c);
/** trace_has_fabric_time() - whether all programs have such a clock. */
bool trace_has_fabric_time(const struct vt_dir *d);

#endif
