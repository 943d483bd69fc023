/* SPDX-License-Identifier: MIT */
/* `rdmaemu run --chaos`: the seed, so that what happened can happen again. */
#include "fabric/cli/run_report.h"

#include <stdio.h>

bool run_chaos_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->chaos;
}

bool run_chaos_report(const struct opts *o, const struct fabric_paths *p, u32 run,
		      const char *program)
{
	(void)p;
	(void)run;
	(void)program;
	fprintf(stderr, "rdmaemu: chaos seed %llu\n", (unsigned long long)o->chaos_seed);
	return true;
}
