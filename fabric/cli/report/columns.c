/* SPDX-License-Identifier: MIT */
/* Packets in a page: a JSON object of columns, compressed, and what they refer to. */
#include "fabric/cli/report/report.h"
#include "fabric/common/json.h"
#include "fabric/fault/parse.h"
#include "traces/formats/roce.h"
#include "emulator/ib.h"

#include <stdlib.h>

static struct json_object *columns_hosts(const struct report_packets *p)
{
	struct json_object *all = json_object_new_array(), *o;
	u32 i;

	for (i = 0; i < p->n_hosts; i++) {
		o = json_object_new_object();
		json_add_str(o, "address", p->host[i].address);
		if (p->host[i].node)
			json_add_str(o, "node", p->strings.text[p->host[i].node - 1]);
		json_append(all, o);
	}
	return all;
}

static struct json_object *columns_flows(const struct report_packets *p)
{
	static const char *const transports[] = { "RC", "UC", "RD", "UD", "CNP", "XRC" };
	struct json_object *all = json_object_new_array(), *o;
	const struct report_flow *f;
	u32 i;

	for (i = 0; i < p->n_flows; i++) {
		f = &p->flow[i];
		o = json_object_new_object();
		json_add_int(o, "from", f->from);
		json_add_int(o, "to", f->to);
		if (f->from_qpn <= IB_QPN_MASK)
			json_add_int(o, "from_qpn", f->from_qpn);
		json_add_int(o, "to_qpn", f->to_qpn);
		json_add_str(o, "transport",
			     f->transport < ARRAY_SIZE(transports) ? transports[f->transport]
								   : "?");
		if (f->conn)
			json_add_int(o, "connection", f->conn);
		json_append(all, o);
	}
	return all;
}

/* Names by the lower five bits of the BTH's opcode. */
static struct json_object *columns_opcodes(void)
{
	struct json_object *all = json_object_new_array();
	u32 i;

	for (i = 0; i < 32; i++)
		json_append(all, json_object_new_string(i == ROCE_FLUSH ? "FLUSH"
							: roce_headers((u8)i) & ROCE_KNOWN
								? fault_op_name(i)
								: "?"));
	return all;
}

struct json_object *packets_about(const struct report_packets *p)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "count", p->n);
	json_add_int(o, "left_out", p->total - p->n);
	json_add(o, "cut", json_object_new_boolean(p->cut));
	json_add(o, "earlier", json_object_new_boolean(p->earlier));
	json_add(o, "opcodes", columns_opcodes());
	json_add(o, "hosts", columns_hosts(p));
	json_add(o, "flows", columns_flows(p));
	json_add(o, "texts", strings_json(&p->strings));
	return o;
}

/* --- columns ---------------------------------------------------------------------------------- */

static const struct packed_column columns[] = {
	PACKED_COLUMN_SINCE(struct report_row, "time", ns),
	PACKED_COLUMN(struct report_row, "flow", flow),
	PACKED_COLUMN(struct report_row, "opcode", opcode),
	PACKED_COLUMN(struct report_row, "size", size),
	PACKED_COLUMN(struct report_row, "flags", flags),
	PACKED_COLUMN(struct report_row, "syndrome", syndrome),
	PACKED_COLUMN(struct report_row, "note", note),
	PACKED_COLUMN(struct report_row, "label", label),
};

/* The difference to the flow's packet before it, which is mostly 1: it takes no room. */
static int columns_print_psn(const struct report_packets *p, struct packed *out)
{
	u32 *last = calloc(p->n_flows + 1, sizeof(*last)), i;
	const struct report_row *row;

	if (!last)
		return -ENOMEM;
	packed_printf(out, "\"psn\":[");
	for (i = 0; i < p->n; i++) {
		row = &p->row[i];
		packed_printf(out, "%s%u", i ? "," : "",
			      (row->psn - last[row->flow]) & IB_PSN_MASK);
		last[row->flow] = row->psn;
	}
	packed_printf(out, "],\n");
	free(last);
	return 0;
}

static void columns_print_frame(const struct report_packets *p, u32 i, struct packed *out)
{
	static const char digits[] = "0123456789abcdef";
	const u8 *frame = p->bytes + p->row[i].frame - 1;
	char hex[2 * REPORT_BYTES];
	u32 n = *frame++, k;

	for (k = 0; k < n; k++) {
		hex[2ul * k] = digits[frame[k] >> 4];
		hex[2ul * k + 1] = digits[frame[k] & 15];
	}
	packed_printf(out, "[%u,%u,\"", i, p->row[i].payload);
	packed_put(out, hex, 2ul * n);
	packed_printf(out, "\"]");
}

static void columns_print_frames(const struct report_packets *p, struct packed *out)
{
	bool any = false;
	u32 i;

	packed_printf(out, "\"frames\":[");
	for (i = 0; i < p->n; i++) {
		if (!p->row[i].frame)
			continue;
		packed_printf(out, any ? ",\n" : "\n");
		columns_print_frame(p, i, out);
		any = true;
	}
	packed_printf(out, "]}\n");
}

int packets_print(const struct report_packets *p, FILE *file)
{
	struct packed *out = packed_begin(file);
	int ret;

	packed_printf(out, "{");
	packed_columns(out, columns, ARRAY_SIZE(columns), p->row, p->n, sizeof(*p->row));
	ret = columns_print_psn(p, out);
	if (!ret)
		columns_print_frames(p, out);
	return packed_end(out) || ret ? -ENOMEM : 0;
}
