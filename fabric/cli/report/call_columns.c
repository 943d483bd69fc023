/* SPDX-License-Identifier: MIT */
/* Calls in a page: a JSON object of columns, compressed, and what they refer to. */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"

#include <stdlib.h>

static int call_compare(const void *a, const void *b)
{
	const struct report_call *x = a, *y = b;

	return report_order(x->ns, x->order, y->ns, y->order);
}

void calls_sort(struct report_calls *c)
{
	if (c->n)
		qsort(c->row, c->n, sizeof(*c->row), call_compare);
}

struct json_object *calls_about(const struct report_calls *c)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "count", c->n);
	json_add_int(o, "left_out", c->total - c->n);
	json_add_str(o, "clock", c->own_time ? "own" : "fabric");
	json_add(o, "texts", strings_json(&c->strings));
	return o;
}

static const struct packed_column columns[] = {
	PACKED_COLUMN_SINCE(struct report_call, "time", ns),
	PACKED_COLUMN(struct report_call, "took", took_ns),
	PACKED_COLUMN(struct report_call, "program", program),
	PACKED_COLUMN(struct report_call, "name", name),
	PACKED_COLUMN(struct report_call, "text", text),
	PACKED_COLUMN(struct report_call, "qpn", qpn),
	PACKED_COLUMN(struct report_call, "flags", flags),
};

int calls_print(const struct report_calls *c, FILE *file)
{
	struct packed *out = packed_begin(file);
	u32 i;

	packed_printf(out, "{");
	packed_columns(out, columns, ARRAY_SIZE(columns), c->row, c->n, sizeof(*c->row));
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
