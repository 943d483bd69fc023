/* SPDX-License-Identifier: MIT */
/**
 * DOC: see run_result.h.
 *
 * The program is a case, which fails if its exit status is not 0; what went wrong on the fabric
 * stands with it, as `run --explain` prints it. Each fault rule is a case: one that hit has passed,
 * one that had to fire and did not has failed, another one that did not hit was skipped.
 */
#include "fabric/cli/run_result.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/log_text.h"
#include "fabric/cli/view/results.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"
#include "fabric/proto/real_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool run_result_is_wanted(const struct opts *o)
{
	return (o->junit[0] || o->tap[0]) && !getenv(AT_END_SILENT_ENV);
}

void run_result_begin(struct run_clock *began)
{
	began->ns = real_ns();
	began->day = (u64)time(NULL);
}

/* --- the program ------------------------------------------------------------------------------ */

static char *result_command(char **argv)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int i;

	if (!out)
		return NULL;
	for (i = 0; argv[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", argv[i]);
	return fclose(out) ? NULL : text;
}

static char *result_status_text(int status)
{
	char *text = NULL;
	int n;

	if (WIFSIGNALED(status))
		n = asprintf(&text, "signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	else
		n = asprintf(&text, "exit status %d", WEXITSTATUS(status));
	return n < 0 ? NULL : text;
}

/* Entries of the journal's summary in @fd, as `rdmaemu log` prints them. NULL: there are none. */
static char *result_journal_text(const struct opts *o, int fd)
{
	char *text, *copy, *line, *rest, *all = NULL;
	struct json_object *entry;
	size_t len = 0, n = 0;
	FILE *out;

	text = memfd_map(fd, &len);
	copy = rest = text ? strndup(text, len) : NULL;
	if (text)
		munmap(text, len);
	out = copy ? open_memstream(&all, &n) : NULL;
	while (out && (line = strsep(&rest, "\n")) && *line) {
		entry = json_tokener_parse(line);
		if (entry)
			log_text_print(out, o, entry);
		json_object_put(entry);
	}
	free(copy);
	if (!out || fclose(out))
		return NULL;
	if (!n) {
		free(all);
		return NULL;
	}
	return all;
}

static void result_add_program(struct results *r, const struct opts *o,
			       const struct fabric_paths *p, u32 run, char **argv, int status,
			       const struct run_clock *began)
{
	struct result_case *c = &r->cases[r->n++];
	struct proto_msg m;
	int fd;

	*c = (struct result_case){ .group = "program" };
	c->seconds = (double)(real_ns() - began->ns) / 1e9;
	c->name = result_command(argv);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		c->outcome = RESULT_FAILED;
		c->message = result_status_text(status);
	}
	if (run_journal_summary(p, run, &m, &fd))
		return;
	c->body = result_journal_text(o, fd);
	close(fd);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void result_set_rule(struct result_case *c, struct json_object *rule)
{
	const char *name = json_get_str(rule, "name"), *place = json_get_str(rule, "place");
	u64 seen = json_get_int(rule, "seen"), hits = json_get_int(rule, "hits");
	bool must = json_get_int(rule, "must_fire");

	*c = (struct result_case){ .group = "rule" };
	if (asprintf(&c->name, "%s: %s%s%s%s", name, json_get_str(rule, "rule"), *place ? " (" : "",
		     place, *place ? ")" : "") < 0)
		c->name = NULL;
	if (asprintf(&c->body, "seen %llu, hits %llu", (unsigned long long)seen,
		     (unsigned long long)hits) < 0)
		c->body = NULL;
	if (hits)
		return;
	c->outcome = must ? RESULT_FAILED : RESULT_SKIPPED;
	if (asprintf(&c->message, "%snever %s", must ? "must fire, but " : "",
		     seen ? "hit" : "matched") < 0)
		c->message = NULL;
}

/* Ask for the rules of the fabric, and which of them had to fire. Return: 0 or -errno. */
static int result_request_rules(const struct opts *o, const struct fabric_paths *p,
				struct json_object **root)
{
	struct proto_msg m = { .op = PROTO_FAULT_LIST, .flags = PROTO_F_SUMMARY };

	m.fault.n = o->must_fire;
	/* As the fabric has stored it. */
	snprintf(m.fault.place, sizeof(m.fault.place), "%.240s", o->scenario);
	return ctl_request_json(p, &m, root);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int result_write_file(const struct results *r, const char *path,
			     void (*print)(FILE *out, const struct results *r))
{
	FILE *f;
	int bad;

	if (!path[0])
		return 0;
	f = fopen(path, "we");
	if (!f)
		return print_error("%s: %s", path, strerror(errno));
	print(f, r);
	bad = ferror(f);
	return fclose(f) || bad ? print_error("%s: %s", path, strerror(errno ? errno : EIO)) : 0;
}

static int result_write_files(const struct opts *o, const struct results *r)
{
	int ret;
	u32 i;

	for (i = 0; i < r->n; i++)
		if (!r->cases[i].name)
			return print_error("results of the run: %s", strerror(ENOMEM));
	ret = result_write_file(r, o->junit, results_print_junit);
	return result_write_file(r, o->tap, results_print_tap) || ret ? -1 : 0;
}

static void results_free(struct results *r)
{
	u32 i;

	for (i = 0; i < r->n; i++) {
		free(r->cases[i].name);
		free(r->cases[i].message);
		free(r->cases[i].body);
	}
	free(r->cases);
}

enum run_result run_result_write(const struct opts *o, const struct fabric_paths *p, u32 run,
				 char **argv, int status, const struct run_clock *began)
{
	struct results r = { .name = "rdmaemu run", .began = began->day };
	struct json_object *root, *rules = NULL;
	size_t i, n;
	int ret;

	ret = result_request_rules(o, p, &root);
	if (ret) {
		ctl_print_error(o, ret);
		return RUN_TROUBLE;
	}
	json_object_object_get_ex(root, "faults", &rules);
	n = rules ? json_object_array_length(rules) : 0;
	r.cases = calloc(n + 1, sizeof(*r.cases));
	if (r.cases) {
		result_add_program(&r, o, p, run, argv, status, began);
		for (i = 0; i < n; i++)
			result_set_rule(&r.cases[r.n++], json_object_array_get_idx(rules, i));
		ret = result_write_files(o, &r);
	} else {
		ret = print_error("results of the run: %s", strerror(ENOMEM));
	}
	results_free(&r);
	json_object_put(root);
	return ret ? RUN_TROUBLE : RUN_DONE;
}
