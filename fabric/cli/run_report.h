/* SPDX-License-Identifier: MIT */
/**
 * DOC: what `rdmaemu run` has to say when its program has ended.
 */
#ifndef FABRIC_CLI_RUN_REPORT_H
#define FABRIC_CLI_RUN_REPORT_H

#include "fabric/cli/control.h"

/* Of `rdmaemu replay`, for what it runs: its result is all that it says. */
#define AT_END_SILENT_ENV "RDMAEMU_REPLAY"

/**
 * struct at_end - one such report.
 * @wanted: whether there may be something to say: rdmaemu stays as the program's parent then
 * @report: say it, on stderr. The fabric is there: this process has a lease.
 *	@run: the number that the program and its children were told (PROTO_RUN_ENV)
 *	@program: argv[0]
 *	Return: whether what was asked for with the run was done
 */
struct at_end {
	bool (*wanted)(const struct opts *o, const struct fabric_paths *p);
	bool (*report)(const struct opts *o, const struct fabric_paths *p, u32 run,
		       const char *program);
};

/** run_report_is_wanted() - whether there is any such report. */
bool run_report_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_report_print() - all that are. Return: whether each was done. */
bool run_report_print(const struct opts *o, const struct fabric_paths *p, u32 run,
		      const char *program);

/* --- fault.c --- */

/** run_faults_is_wanted() - whether the fabric had rules when the program was started. */
bool run_faults_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_faults_report() - rules that never hit, and the seed if it has decided anything. */
bool run_faults_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		       const char *program);

/* --- capture.c --- */

/** run_capture_start() - start the capture that the run is to have. Return: 0, or -1 after one line on stderr. */
int run_capture_start(const struct opts *o, const struct fabric_paths *p);
bool run_capture_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_capture_report() - when the run's programs have gone, end the capture, and say what it could not do. Return: false: that. */
bool run_capture_report(const struct opts *o, const struct fabric_paths *p, u32 run,
			const char *program);

/* --- explain.c --- */

/**
 * run_journal_summary() - the journal of a run, in short, when its programs have gone: asked for a little while.
 * Return: 0 with the text in *@fd, or -errno.
 */
int run_journal_summary(const struct fabric_paths *p, u32 run, struct proto_msg *m, int *fd);

bool run_explain_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_explain_report() - the journal of the program and its children, what is alike as one. */
bool run_explain_report(const struct opts *o, const struct fabric_paths *p, u32 run,
			const char *program);

/* --- run_report.c --- */

bool run_chaos_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_chaos_report() - the fabric's chaos has a seed. */
bool run_chaos_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		      const char *program);

#endif
