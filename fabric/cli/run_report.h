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

/** at_end_wanted() - whether there is any such report. */
bool at_end_wanted(const struct opts *o, const struct fabric_paths *p);
/** at_end_report() - all that are. Return: whether each was done. */
bool at_end_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		   const char *program);

/* --- fault.c --- */

/** faults_wanted() - whether the fabric had rules when the program was started. */
bool faults_wanted(const struct opts *o, const struct fabric_paths *p);
/** faults_report() - rules that never hit, and the seed if it has decided anything. */
bool faults_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		   const char *program);

/* --- capture.c --- */

/** capture_before() - start the capture that the run is to have. Return: 0, or -1 after one line on stderr. */
int capture_before(const struct opts *o, const struct fabric_paths *p);
bool capture_wanted(const struct opts *o, const struct fabric_paths *p);
/** capture_report() - when the run's programs have gone, end the capture, and say what it could not do. Return: false: that. */
bool capture_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		    const char *program);

/* --- explain.c --- */

/**
 * run_summary() - the journal of a run, in short, when its programs have gone: asked for a little while.
 * Return: 0 with the text in *@fd, or -errno.
 */
int run_summary(const struct fabric_paths *p, u32 run, struct proto_msg *m, int *fd);

bool explain_wanted(const struct opts *o, const struct fabric_paths *p);
/** explain_report() - the journal of the program and its children, what is alike as one. */
bool explain_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		    const char *program);

/* --- run_chaos.c --- */

bool chaos_wanted(const struct opts *o, const struct fabric_paths *p);
/** chaos_report() - the fabric's chaos has a seed. */
bool chaos_report(const struct opts *o, const struct fabric_paths *p, u32 run, const char *program);

#endif
