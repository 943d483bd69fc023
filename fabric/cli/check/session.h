/* SPDX-License-Identifier: MIT */
/** DOC: the checker around a program: before its start and at its end. */
#ifndef FABRIC_CLI_CHECK_SESSION_H
#define FABRIC_CLI_CHECK_SESSION_H

#include "fabric/common/opts.h"

/**
 * check_session_start() - make the directory of the reports, and set the environment. The caller
 * preloads the tap.
 * Return: 0, or -1 after one line on stderr.
 */
int check_session_start(const struct opts *o);
/** check_session_is_on() - whether check_session_start() has been called. */
bool check_session_is_on(void);
/**
 * check_session_report() - print what was found, on stderr and in the files that @o names.
 * @has_errors: receives whether there are errors
 * Return: 0, or -1 after one line on stderr: something is missing.
 */
int check_session_report(const struct opts *o, bool *has_errors);

/** check_session_report_early() - print what was found until now, while the program goes on. */
void check_session_report_early(void);

#endif
