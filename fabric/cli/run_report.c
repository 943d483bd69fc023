/* SPDX-License-Identifier: MIT */
/** DOC: the reports at the end of `rdmaemu run`, in their order. */
#include "fabric/cli/run_report.h"
#include "fabric/cli/check/session.h"

#include <stdio.h>
#include <stdlib.h>

/* --- run --chaos: the seed, with which the same happens again --------------------------------- */

bool run_chaos_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->chaos;
}

enum run_result run_chaos_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program)
{
	(void)p;
	(void)run;
	(void)program;
	fprintf(stderr, "rdmaemu: chaos seed %llu\n", (unsigned long long)o->chaos_seed);
	return RUN_DONE;
}

/* --- run --check ------------------------------------------------------------------------------ */

bool run_check_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)o;
	(void)p;
	return check_session_is_on();
}

enum run_result run_check_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program)
{
	bool has_errors;
	int ret = check_session_report(o, &has_errors);

	(void)p;
	(void)run;
	(void)program;
	if (has_errors && o->check_exit)
		return RUN_FOUND;
	return ret ? RUN_TROUBLE : RUN_DONE;
}

void run_check_overdue(void)
{
	check_session_report_early();
}

/* --- all reports ------------------------------------------------------------------------------ */

static const struct at_end reports[] = {
	{ run_capture_is_wanted, run_capture_report },
	{ run_explain_is_wanted, run_explain_report },
	{ run_faults_is_wanted, run_faults_report },
	{ run_chaos_is_wanted, run_chaos_report },
	{ run_check_is_wanted, run_check_report },
};

bool run_report_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	size_t i;

	if (getenv(AT_END_SILENT_ENV))
		return false;
	for (i = 0; i < ARRAY_SIZE(reports); i++)
		if (reports[i].wanted(o, p))
			return true;
	return false;
}

enum run_result run_report_print(const struct opts *o, const struct fabric_paths *p, u32 run,
				 const char *program)
{
	enum run_result all = RUN_DONE, one;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reports); i++)
		if (reports[i].wanted(o, p)) {
			one = reports[i].report(o, p, run, program);
			all = one > all ? one : all;
		}
	return all;
}
