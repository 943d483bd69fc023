/* SPDX-License-Identifier: MIT */
/**
 * DOC: see results.h.
 *
 * JUnit XML has no standard. The elements and attributes here are those of Ant's and Jenkins'
 * schemas, which other readers agree on.
 */
#include "fabric/cli/view/results.h"
#include "fabric/common/markup.h"

#include <string.h>
#include <time.h>

static void junit_print_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_print(out, value);
	fputc('"', out);
}

static u32 results_count(const struct results *r, enum result_outcome outcome)
{
	u32 i, n = 0;

	for (i = 0; i < r->n; i++)
		n += r->cases[i].outcome == outcome;
	return n;
}

static double results_seconds(const struct results *r)
{
	double sum = 0;
	u32 i;

	for (i = 0; i < r->n; i++)
		sum += r->cases[i].seconds;
	return sum;
}

static void junit_print_case(FILE *out, const struct result_case *c)
{
	fputs("    <testcase", out);
	junit_print_attribute(out, "classname", c->group);
	junit_print_attribute(out, "name", c->name);
	fprintf(out, " time=\"%.6f\">\n", c->seconds);
	if (c->outcome != RESULT_PASSED) {
		fprintf(out, "      <%s", c->outcome == RESULT_FAILED ? "failure" : "skipped");
		junit_print_attribute(out, "message", c->message ? c->message : "");
		if (c->outcome == RESULT_FAILED)
			junit_print_attribute(out, "type", c->group);
		fputs("/>\n", out);
	}
	if (c->body) {
		fputs("      <system-out>", out);
		markup_print(out, c->body);
		fputs("</system-out>\n", out);
	}
	fputs("    </testcase>\n", out);
}

static void junit_print_counts(FILE *out, const struct results *r)
{
	fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.6f\"",
		r->n, results_count(r, RESULT_FAILED), results_count(r, RESULT_SKIPPED),
		results_seconds(r));
}

void results_print_junit(FILE *out, const struct results *r)
{
	time_t began = (time_t)r->began;
	char when[32] = "";
	struct tm tm;
	u32 i;

	if (gmtime_r(&began, &tm))
		strftime(when, sizeof(when), "%FT%T", &tm);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	junit_print_counts(out, r);
	fputs(">\n  <testsuite", out);
	junit_print_attribute(out, "name", r->name);
	junit_print_counts(out, r);
	junit_print_attribute(out, "timestamp", when);
	fputs(">\n", out);
	for (i = 0; i < r->n; i++)
		junit_print_case(out, &r->cases[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
}

/* A description ends at a `#` or the end of the line. */
static void tap_print_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '#' || *text == '\\')
			fputc('\\', out);
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
	}
}

/* Lines of a comment, which readers show and do not take as results. */
static void tap_print_comment(FILE *out, const char *text)
{
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		fprintf(out, "# %.*s\n", (int)n, text);
	}
}

void results_print_tap(FILE *out, const struct results *r)
{
	const struct result_case *c;
	u32 i;

	fprintf(out, "TAP version 13\n1..%u\n", r->n);
	for (i = 0; i < r->n; i++) {
		c = &r->cases[i];
		fprintf(out, "%sok %u - %s: ", c->outcome == RESULT_FAILED ? "not " : "", i + 1,
			c->group);
		tap_print_text(out, c->name);
		if (c->outcome == RESULT_SKIPPED) {
			fputs(" # SKIP ", out);
			tap_print_text(out, c->message ? c->message : "");
		}
		fputc('\n', out);
		if (c->outcome == RESULT_FAILED && c->message)
			tap_print_comment(out, c->message);
		if (c->body)
			tap_print_comment(out, c->body);
	}
}
