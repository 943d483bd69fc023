/* SPDX-License-Identifier: MIT */
/* Findings as JSON, and as SARIF 2.1.0, which code hosts show next to the lines of a change. */
#include "fabric/cli/check/found.h"
#include "fabric/common/json.h"
#include "fabric/proto/version.h"

#include <errno.h>
#include <string.h>

static int documents_write(struct json_object *o, const char *path)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f) {
		json_object_put(o);
		return print_error("%s: %s", path, strerror(errno));
	}
	json_print(f, o);
	bad = json_end() || ferror(f);
	if (fclose(f) || bad)
		return print_error("%s: %s", path, strerror(errno ? errno : EIO));
	return 0;
}

/* --- JSON --- */

static struct json_object *documents_stack(const struct found_stack *stack)
{
	struct json_object *all = json_object_new_array(), *one;
	u32 i;

	for (i = 0; i < stack->n; i++) {
		const struct found_frame *f = &stack->frame[i];

		one = json_object_new_object();
		json_add_str(one, "file", f->file);
		json_add_int(one, "offset", f->offset);
		if (f->function)
			json_add_str(one, "function", f->function);
		if (f->source) {
			json_add_str(one, "source", f->source);
			json_add_int(one, "line", (u64)f->line);
		}
		json_append(all, one);
	}
	return all;
}

static struct json_object *documents_finding(const struct found *f)
{
	const struct finding_def *d = &finding_defs[f->id];
	struct json_object *o = json_object_new_object();

	json_add_str(o, "name", d->name);
	json_add_str(o, "severity", finding_severity_name(d->severity));
	json_add_str(o, "program", f->program);
	json_add_int(o, "pid", (u64)f->pid);
	json_add_int(o, "times", f->times);
	json_add_str(o, "text", f->text);
	json_add(o, "stack", documents_stack(&f->here));
	if (f->other_title[0]) {
		json_add_str(o, "other", f->other_title);
		json_add(o, "other_stack", documents_stack(&f->other));
	}
	json_add_str(o, "rule", d->source);
	json_add_str(o, "mend", d->mend);
	return o;
}

int found_write_json(const struct found_all *all, const char *path)
{
	struct json_object *list;
	u32 i;

	json_begin();
	list = json_object_new_array();
	for (i = 0; i < all->n; i++)
		if (!all->found[i]->suppressed)
			json_append(list, documents_finding(all->found[i]));
	return documents_write(list, path);
}

/* --- SARIF --- */

static struct json_object *sarif_text(const char *text)
{
	struct json_object *o = json_object_new_object();

	json_add_str(o, "text", text);
	return o;
}

static const char *sarif_level(enum finding_severity severity)
{
	return severity == FINDING_INFO ? "note" : finding_severity_name(severity);
}

static struct json_object *sarif_rules(void)
{
	struct json_object *rules = json_object_new_array(), *rule, *config;
	u32 id;

	for (id = 0; id < FINDING_COUNT; id++) {
		const struct finding_def *d = &finding_defs[id];

		rule = json_object_new_object();
		config = json_object_new_object();
		json_add_str(rule, "id", d->name);
		json_add(rule, "shortDescription", sarif_text(d->summary));
		json_add(rule, "fullDescription", sarif_text(d->source));
		json_add(rule, "help", sarif_text(d->mend));
		json_add_str(config, "level", sarif_level(d->severity));
		json_add(rule, "defaultConfiguration", config);
		json_append(rules, rule);
	}
	return rules;
}

/* The innermost line of a stack that is known. Return: NULL: none is. */
static struct json_object *sarif_location(const struct found_stack *stack, const char *title)
{
	struct json_object *o, *physical, *artifact, *region;
	const struct found_frame *f = NULL;
	u32 i;

	for (i = 0; i < stack->n && !f; i++)
		if (stack->frame[i].source)
			f = &stack->frame[i];
	if (!f)
		return NULL;
	o = json_object_new_object();
	physical = json_object_new_object();
	artifact = json_object_new_object();
	region = json_object_new_object();
	json_add_str(artifact, "uri", f->source);
	json_add_int(region, "startLine", f->line > 0 ? (u64)f->line : 1);
	json_add(physical, "artifactLocation", artifact);
	json_add(physical, "region", region);
	json_add(o, "physicalLocation", physical);
	if (title)
		json_add(o, "message", sarif_text(title));
	return o;
}

static struct json_object *sarif_result(const struct found *f)
{
	const struct finding_def *d = &finding_defs[f->id];
	struct json_object *o = json_object_new_object();
	struct json_object *here = json_object_new_array(), *related = json_object_new_array();
	struct json_object *at = sarif_location(&f->here, NULL);

	json_add_str(o, "ruleId", d->name);
	json_add_str(o, "level", sarif_level(d->severity));
	json_add(o, "message", sarif_text(f->text));
	if (at)
		json_append(here, at);
	json_add(o, "locations", here);
	at = f->other_title[0] ? sarif_location(&f->other, f->other_title) : NULL;
	if (at)
		json_append(related, at);
	json_add(o, "relatedLocations", related);
	json_add_int(o, "occurrenceCount", f->times);
	return o;
}

int found_write_sarif(const struct found_all *all, const char *path)
{
	struct json_object *top, *runs, *run, *tool, *driver, *results;
	u32 i;

	json_begin();
	top = json_object_new_object();
	runs = json_object_new_array();
	run = json_object_new_object();
	tool = json_object_new_object();
	driver = json_object_new_object();
	results = json_object_new_array();
	json_add_str(driver, "name", "rdmaemu");
	json_add_str(driver, "version", RDMAEMU_VERSION);
	json_add(driver, "rules", sarif_rules());
	json_add(tool, "driver", driver);
	for (i = 0; i < all->n; i++)
		if (!all->found[i]->suppressed)
			json_append(results, sarif_result(all->found[i]));
	json_add(run, "tool", tool);
	json_add(run, "results", results);
	json_append(runs, run);
	json_add_str(top, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_add_str(top, "version", "2.1.0");
	json_add(top, "runs", runs);
	return documents_write(top, path);
}
