/* SPDX-License-Identifier: MIT */
/** DOC: what `rdmaemu run` reports when its program has ended. */
#ifndef FABRIC_CLI_RUN_REPORT_H
#define FABRIC_CLI_RUN_REPORT_H

#include "fabric/cli/control.h"

/* Set by `rdmaemu replay` for the programs that it runs: no reports but its result. */
#define AT_END_SILENT_ENV "RDMAEMU_REPLAY"

/** enum run_result - what a report says about the run; the highest of all reports counts. */
enum run_result {
	RUN_DONE,
	RUN_TROUBLE, /* something that the run's options ask for could not be done */
	RUN_FOUND, /* the check has found errors */
	RUN_NOT_FIRED, /* a fault rule that had to fire has not */
};

/**
 * struct at_end - a report.
 * @wanted: whether there may be something to report: rdmaemu then stays as the program's parent
 * @report: print it on stderr. The fabric is running: this process has a lease.
 *	@run: the number by which the fabric knows the program and its children (PROTO_RUN_ENV)
 *	@program: argv[0]
 */
struct at_end {
	bool (*wanted)(const struct opts *o, const struct fabric_paths *p);
	enum run_result (*report)(const struct opts *o, const struct fabric_paths *p, u32 run,
				  const char *program);
};

/** run_report_is_wanted() - whether any report may be wanted. */
bool run_report_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_report_print() - print all reports. Return: the highest result. */
enum run_result run_report_print(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program);

/* --- fault.c --- */

/** run_faults_is_wanted() - whether the fabric had rules when the program was started, or must. */
bool run_faults_is_wanted(const struct opts *o, const struct fabric_paths *p);
/**
 * run_faults_report() - report rules that never hit, and the seed if a decision used it.
 * Return: RUN_NOT_FIRED if one of them must fire
 */
enum run_result run_faults_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				  const char *program);

/* --- capture.c --- */

/**
 * run_capture_start() - start the capture of the run. Return: 0, or -1 after one line on stderr.
 */
int run_capture_start(const struct opts *o, const struct fabric_paths *p);
bool run_capture_is_wanted(const struct opts *o, const struct fabric_paths *p);
/**
 * run_capture_report() - when the programs of the run have ended, end the capture and report
 * failures.
 * Return: RUN_TROUBLE if packets are missing from the capture.
 */
enum run_result run_capture_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				   const char *program);

/* --- explain.c --- */

/**
 * run_journal_summary() - get a summary of the journal of a run once its programs are gone, or
 * after a short time.
 * Return: 0 with the text in *@fd, or -errno.
 */
int run_journal_summary(const struct fabric_paths *p, u32 run, struct proto_msg *m, int *fd);

bool run_explain_is_wanted(const struct opts *o, const struct fabric_paths *p);
/**
 * run_explain_report() - print the journal of the program and its children, equal entries as one
 * line.
 */
enum run_result run_explain_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				   const char *program);

/* --- run_report.c --- */

bool run_check_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_check_report() - print what the check has found. Return: RUN_FOUND if there are errors. */
enum run_result run_check_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program);
/** run_check_overdue() - print what it has found so far: the program does not end. */
void run_check_overdue(void);

bool run_chaos_is_wanted(const struct opts *o, const struct fabric_paths *p);
/** run_chaos_report() - print the seed of the fabric's chaos. */
enum run_result run_chaos_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program);

#endif
