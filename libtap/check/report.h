/* SPDX-License-Identifier: MIT */
/** DOC: reports of the checker, for the command that has started the program. */
#ifndef LIBTAP_CHECK_REPORT_H
#define LIBTAP_CHECK_REPORT_H

#include "fabric/proto/finding.h"
#include "libtap/check/stack.h"

/**
 * struct check_other - the other place that a report names.
 * @title: what was there: "posted", "created"; NULL: there is none
 */
struct check_other {
	const char *title;
	check_stack stack;
};

/** check_report_start() - read the environment. Return: false: the checker is off. */
bool check_report_start(void);
/** check_report_is_on() - whether anybody wants this finding. */
bool check_report_is_on(enum finding_id id);
/**
 * check_report() - report a finding at the current call, once for each place.
 * @fmt: what was found, one line
 */
void check_report(enum finding_id id, struct check_other other, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** check_report_at() - the same, at another place. */
void check_report_at(enum finding_id id, check_stack at, struct check_other other, const char *fmt,
		     ...) __attribute__((format(printf, 4, 5)));
/**
 * check_report_with() - the same, where the other place may be of another process of the run, which
 * has shown its stack. @process: its PID
 */
void check_report_with(enum finding_id id, check_stack at, struct check_other other, u32 process,
		       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** check_report_show() - write a stack for the reports of other processes, once. */
void check_report_show(check_stack stack);
/** check_report_finish() - write how often each place was reported. */
void check_report_finish(void);
/** check_report_fork() - in a child, which has reports of its own. */
void check_report_fork(void);

#endif
