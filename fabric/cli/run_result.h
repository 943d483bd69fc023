/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu run --junit` and `--tap`: results of a run in files for CI systems. */
#ifndef FABRIC_CLI_RUN_RESULT_H
#define FABRIC_CLI_RUN_RESULT_H

#include "fabric/cli/run_report.h"

/** struct run_clock - when a program was started: real time, and of day in seconds. */
struct run_clock {
	u64 ns;
	u64 day;
};

/** run_result_is_wanted() - whether the options ask for results in a file. */
bool run_result_is_wanted(const struct opts *o);
/** run_result_begin() - a program is about to be started. */
void run_result_begin(struct run_clock *began);
/**
 * run_result_write() - write the results of a run that has ended: of its program, and of each fault
 * rule.
 * @run: as in struct at_end
 * @status: of the program, as waitpid(2) reports it
 * Return: RUN_DONE, or RUN_TROUBLE after one line on stderr
 */
enum run_result run_result_write(const struct opts *o, const struct fabric_paths *p, u32 run,
				 char **argv, int status, const struct run_clock *began);

#endif
