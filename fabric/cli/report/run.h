/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu run --report`. */
#ifndef FABRIC_CLI_REPORT_RUN_H
#define FABRIC_CLI_REPORT_RUN_H

#include "fabric/cli/child.h"
#include "fabric/cli/run_result.h"

/** report_run_is_wanted() - whether the options ask for a page. */
bool report_run_is_wanted(const struct opts *o);
/**
 * report_run_prepare() - before the program is started: capture its packets, and have findings of
 * the checker written, for the page. Return: 0, or -1 after one line on stderr.
 */
int report_run_prepare(struct opts *o);
/**
 * report_run_watch() - what takes samples of the fabric's state while the program runs, or NULL: no
 * page has any.
 */
struct child_watch *report_run_watch(const struct opts *o, const struct fabric_paths *p);
/**
 * report_run_write() - write the page, after all other reports. Arguments are those of
 * run_result_write(). Return: RUN_DONE, or RUN_TROUBLE after one line on stderr
 */
enum run_result report_run_write(const struct opts *o, const struct fabric_paths *p, u32 run,
				 char **argv, int status, const struct run_clock *began);

#endif
