/* SPDX-License-Identifier: MIT */
/** DOC: the HCA's journal and the fabric process's own notes, merged by time. */
#include "emulator/journal/text.h"
#include "fabric/fault/table.h"
#include "fabric/common/json.h"
#include "fabric/journal/log.h"
#include "fabric/journal/reader.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct json_object *log_json_note(const struct fabric *f, const struct note *n)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "ts", n->ts - f->started);
	json_add_str(o, "kind", "fabric");
	json_add_str(o, "severity", "info");
	json_add_str(o, "text", n->text);
	return o;
}

void log_time(const struct fabric *f, u64 ts, char *buf, size_t size)
{
	u64 us = (ts > f->started ? ts - f->started : 0) / NSEC_PER_USEC;

	snprintf(buf, size, "%llu.%06llu", (unsigned long long)(us / 1000000),
		 (unsigned long long)(us % 1000000));
}

void log_line(struct fabric *f, const struct journal_entry *j, char *buf, size_t size)
{
	journal_entry_text(f->hca, j, f->started, j->rule ? fault_rule_text(f, j->rule) : NULL, buf,
			   size);
}

/* Prints and frees @o. The first entry begins an array; the caller ends it. */
static void log_print_json(FILE *out, struct json_object *o, const char *before)
{
	fprintf(out, "%s%s", before, json_text(o, JSON_C_TO_STRING_SPACED));
	json_object_put(o);
}

void log_print(FILE *out, struct fabric *f, struct proto_log *q, u32 flags)
{
	bool array = !(flags & PROTO_F_LINES), any = false;
	bool counts = q->floods != UINT64_MAX;
	const struct journal_entry *j;
	struct journal_entry alone;
	struct json_object *o;
	const struct note *n;
	struct log_cursor c;

	log_start(&c, f, q);
	while (log_next(&c, &j, &n)) {
		if (j && j->more && !counts) {
			alone = *j;
			alone.more = 0;
			j = &alone;
		}
		o = j ? log_json(f, j) : log_json_note(f, n);
		if (array)
			log_print_json(out, o, any ? ",\n  " : "[\n  ");
		else
			log_print_json(out, o, any ? "\n" : "");
		any = true;
	}
	if (array)
		fprintf(out, "%s", any ? "\n]\n" : "[]\n");
	else if (any)
		fprintf(out, "\n");
}

/* See proto_log.floods. */
static void log_print_floods(FILE *out, struct fabric *f, struct proto_log *q)
{
	struct proto_log past = *q;
	u64 since = q->floods;
	const struct journal_entry *j;
	const struct note *n;
	struct log_cursor c;

	q->floods = load_acquire(&f->hca->flood_seq);
	if (q->floods <= since || !q->notices)
		return;
	past.notices = 0;
	past.errors = past.notes = UINT64_MAX;
	log_start(&c, f, &past);
	while (log_next(&c, &j, &n))
		if (j && j->counted > since && j->seq <= q->notices) {
			log_print_json(out, log_json(f, j), "");
			fputc('\n', out);
		}
}

int log_make(struct fabric *f, struct proto_log *q, u32 flags)
{
	struct text_out text;
	FILE *out;

	q->node[sizeof(q->node) - 1] = '\0';
	if (q->node[0] && hca_node_find(f->hca, q->node) < 0)
		return -ENODEV;
	out = text_begin(&text);
	if (!out)
		return -ENOMEM;
	if (flags & PROTO_F_SUMMARY) {
		log_summary(out, f, q);
	} else {
		if ((flags & PROTO_F_LINES) && q->floods != UINT64_MAX)
			log_print_floods(out, f, q);
		log_print(out, f, q, flags);
	}
	return text_end(&text);
}
