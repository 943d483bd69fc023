/* SPDX-License-Identifier: MIT */
/**
 * DOC: the reports at the end of `rdmaemu run`, in their order.
 */
#include "fabric/cli/run_report.h"

#include <stdlib.h>

static const struct at_end reports[] = {
	{ capture_wanted, capture_report },
	{ explain_wanted, explain_report },
	{ faults_wanted, faults_report },
	{ chaos_wanted, chaos_report },
};

bool at_end_wanted(const struct opts *o, const struct fabric_paths *p)
{
	size_t i;

	if (getenv(AT_END_SILENT_ENV))
		return false;
	for (i = 0; i < ARRAY_SIZE(reports); i++)
		if (reports[i].wanted(o, p))
			return true;
	return false;
}

bool at_end_report(const struct opts *o, const struct fabric_paths *p, u32 run, const char *program)
{
	bool done = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reports); i++)
		if (reports[i].wanted(o, p))
			done &= reports[i].report(o, p, run, program);
	return done;
}
