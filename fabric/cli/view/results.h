/* SPDX-License-Identifier: MIT */
/** DOC: results of a run as CI systems read them: JUnit XML and TAP. */
#ifndef FABRIC_CLI_VIEW_RESULTS_H
#define FABRIC_CLI_VIEW_RESULTS_H

#include "emulator/types.h"

#include <stdio.h>

/** enum result_outcome - how a case has ended. */
enum result_outcome {
	RESULT_PASSED,
	RESULT_FAILED,
	RESULT_SKIPPED, /* it did not come to it */
};

/**
 * struct result_case - a case, with texts that their owner frees.
 * @group: the kind of case, as "program" or "rule"
 * @message: one line: why it failed or was skipped, or NULL
 * @body: more lines, or NULL
 */
struct result_case {
	const char *group;
	char *name;
	enum result_outcome outcome;
	char *message;
	char *body;
	double seconds;
};

/**
 * struct results - the cases of a run.
 * @name: of them all
 * @began: when the run began, seconds since the epoch
 */
struct results {
	const char *name;
	u64 began;
	struct result_case *cases;
	u32 n;
};

/** results_print_junit() - print them as JUnit XML. */
void results_print_junit(FILE *out, const struct results *r);
/** results_print_tap() - print them as TAP, version 13. */
void results_print_tap(FILE *out, const struct results *r);

#endif
