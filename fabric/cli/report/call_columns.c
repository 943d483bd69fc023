/* SPDX-License-Identifier: MIT */
/* Calls in a page: a JSON object of columns, compressed, and what they refer to. */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"

#include <stdlib.h>

static int call_compare(const void *a, const void *b)
{
	const struct report_call *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

void calls_sort(struct report_calls *c)
{
	if (c->n)
		qsort(c->row, c->n, sizeof(*c->row), call_compare);
}

struct json_object *calls_about(const struct report_calls *c)
{
	struct json_object *o = json_object_new_object(), *texts = json_object_new_array();
	u32 i;

	for (i = 0; i < c->strings.n; i++)
		json_append(texts, json_object_new_string(c->strings.text[i]));
	json_add_int(o, "count", c->n);
	json_add_int(o, "left_out", c->total - c->n);
	json_add_str(o, "clock", c->own_time ? "own" : "fabric");
	json_add(o, "texts", texts);
	return o;
}

/* The difference to the call before it; for the first one, to nothing. */
static int64_t call_column_time(const struct report_calls *c, u32 i)
{
	return (int64_t)(c->row[i].ns - (i ? c->row[i - 1].ns : 0));
}

static int64_t call_column_took(const struct report_calls *c, u32 i)
{
	return (int64_t)c->row[i].took_ns;
}

static int64_t call_column_program(const struct report_calls *c, u32 i)
{
	return c->row[i].program;
}

static int64_t call_column_name(const struct report_calls *c, u32 i)
{
	return c->row[i].name;
}

static int64_t call_column_text(const struct report_calls *c, u32 i)
{
	return c->row[i].text;
}

static int64_t call_column_qpn(const struct report_calls *c, u32 i)
{
	return c->row[i].qpn;
}

static int64_t call_column_flags(const struct report_calls *c, u32 i)
{
	return c->row[i].flags;
}

static const struct {
	const char *name;
	int64_t (*value)(const struct report_calls *c, u32 i);
} columns[] = {
	{ "time", call_column_time },	    { "took", call_column_took },
	{ "program", call_column_program }, { "name", call_column_name },
	{ "text", call_column_text },	    { "qpn", call_column_qpn },
	{ "flags", call_column_flags },
};

int calls_print(const struct report_calls *c, FILE *file)
{
	struct packed *out = packed_begin(file);
	u32 k, i;

	packed_printf(out, "{");
	for (k = 0; k < ARRAY_SIZE(columns); k++) {
		packed_printf(out, "\"%s\":[", columns[k].name);
		for (i = 0; i < c->n; i++)
			packed_printf(out, "%s%lld", i ? "," : "",
				      (long long)columns[k].value(c, i));
		packed_printf(out, "],\n");
	}
	/* As texts: they have more bits than numbers of JavaScript. */
	packed_printf(out, "\"wr_id\":[");
	for (i = 0; i < c->n; i++)
		packed_printf(out, "%s\"%llx\"", i ? "," : "", (unsigned long long)c->row[i].wr_id);
	packed_printf(out, "]}\n");
	return packed_end(out);
}

void calls_free(struct report_calls *c)
{
	strings_free(&c->strings);
	free(c->row);
}
