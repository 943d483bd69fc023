/* SPDX-License-Identifier: MIT */
/* The JSON document of a report, and what other verbs print as JSON, which becomes a part of it. */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"
#include "fabric/proto/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int report_begin(struct report *r, const struct opts *o)
{
	json_begin();
	*r = (struct report){ .o = o, .doc = json_object_new_object() };
	json_add_str(r->doc, "format", "rdmaemu-report");
	json_add_int(r->doc, "version", 1);
	json_add_str(r->doc, "made_by", "rdmaemu " RDMAEMU_VERSION);
	json_add_int(r->doc, "made_at", (u64)time(NULL));
	return json_end();
}

void report_end(struct report *r)
{
	u32 i;

	json_object_put(r->doc);
	for (i = 0; i < r->packets.n_files; i++)
		free((void *)(uintptr_t)r->packets.file[i]);
	packets_free(&r->packets);
	calls_free(&r->calls);
}

void report_append(struct report *r, const char *list, struct json_object *one)
{
	struct json_object *all;

	if (!json_object_object_get_ex(r->doc, list, &all)) {
		all = json_object_new_array();
		json_add(r->doc, list, all);
	}
	json_append(all, one);
}

void report_add_source(struct report *r, const char *kind, const char *name)
{
	struct json_object *o = json_object_new_object();

	json_add_str(o, "kind", kind);
	json_add_str(o, "name", name);
	report_append(r, "sources", o);
}

int report_add_capture(struct report *r, const char *path)
{
	struct report_packets *p = &r->packets;
	char *copy;

	if (p->n_files == REPORT_FILES)
		return print_error("report: expected at most %u captures", REPORT_FILES);
	copy = strdup(path);
	if (!copy)
		return print_error("report: %s", strerror(ENOMEM));
	p->file[p->n_files++] = copy;
	return 0;
}

static bool document_has(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_is_type(v, type);
}

/* Add each element of an array to a list. */
static void document_append_all(struct report *r, const char *list, struct json_object *array)
{
	size_t i;

	for (i = 0; i < json_length(array); i++)
		report_append(r, list, json_object_get(json_object_array_get_idx(array, i)));
}

/* An object of one of the kinds that rdmaemu prints. Return: 0 or -EBADMSG. */
static int document_add_object(struct report *r, const char *list, struct json_object *o)
{
	if (document_has(o, "stack", json_type_array)) {
		report_append(r, "findings", json_object_get(o));
	} else if (document_has(o, "ts", json_type_int) &&
		   document_has(o, "severity", json_type_string)) {
		report_append(r, list, json_object_get(o));
	} else if (document_has(o, "faults", json_type_array)) {
		document_append_all(r, "rules", json_object_object_get(o, "faults"));
	} else if (document_has(o, "qps", json_type_array)) {
		json_add(r->doc, "status", json_object_get(o));
	} else if (document_has(o, "ended", json_type_int)) {
		/* The head of a kept journal. */
		json_add(r->doc, "kept", json_object_get(o));
	} else {
		return -EBADMSG;
	}
	return 0;
}

static int document_add(struct report *r, const char *list, struct json_object *value)
{
	size_t i;
	int ret = 0;

	if (json_object_is_type(value, json_type_object))
		return document_add_object(r, list, value);
	if (!json_object_is_type(value, json_type_array))
		return -EBADMSG;
	for (i = 0; i < json_length(value) && !ret; i++)
		ret = document_add_object(r, list, json_object_array_get_idx(value, i));
	return ret;
}

int report_add_text(struct report *r, const char *list, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *value;
	size_t at = 0;
	int ret = tok ? 0 : -ENOMEM;

	while (!ret) {
		at += strspn(text + at, " \t\r\n");
		if (at >= len)
			break;
		json_tokener_reset(tok);
		value = json_tokener_parse_ex(tok, text + at, (int)(len - at));
		at += json_tokener_get_parse_end(tok);
		ret = value ? document_add(r, list, value) : -EBADMSG;
		json_object_put(value);
	}
	if (tok)
		json_tokener_free(tok);
	return ret;
}
