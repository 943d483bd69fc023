/* SPDX-License-Identifier: MIT */
/* Lines of `rdmaemu top`: see top.h. */
#include "fabric/cli/top/top.h"

#include <stdlib.h>

/**
 * struct top_column - a column.
 * @width: characters, without the blank before it
 * @left: its text begins at the left
 * @many: it is shown only of several fabrics
 * @text: the cell, TOP_TEXT bytes
 * @compare: the order in which the largest comes first, or a name's
 */
struct top_column {
	const char *name;
	u32 width;
	bool left;
	bool many;
	void (*text)(char *text, const struct top_qp *qp);
	int (*compare)(const struct top_qp *a, const struct top_qp *b);
};

void top_scaled(char text[8], double v)
{
	static const char units[] = " KMGTP";
	u32 i = 0;

	for (; v >= 999.5 && units[i + 1]; v /= 1000)
		i++;
	if (!i)
		snprintf(text, 8, "%.0f", v);
	else
		snprintf(text, 8, v >= 99.95 ? "%.0f%c" : "%.1f%c", v, units[i]);
}

static void rate_text(char *text, double rate)
{
	if (rate > 0)
		top_scaled(text, rate);
	else
		snprintf(text, 8, "-");
}

#define TEXT_CELL(member)                                                                          \
	static void member##_text(char *text, const struct top_qp *qp)                             \
	{                                                                                          \
		snprintf(text, TOP_TEXT, "%s", qp->member);                                        \
	}                                                                                          \
	static int member##_compare(const struct top_qp *a, const struct top_qp *b)                \
	{                                                                                          \
		return strcmp(a->member, b->member);                                               \
	}

TEXT_CELL(fabric)
TEXT_CELL(node)
TEXT_CELL(program)
TEXT_CELL(type)
TEXT_CELL(state)
TEXT_CELL(peer)

static int number_compare(u64 a, u64 b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static void pid_text(char *text, const struct top_qp *qp)
{
	snprintf(text, TOP_TEXT, "%llu", (unsigned long long)qp->pid);
}

static int pid_compare(const struct top_qp *a, const struct top_qp *b)
{
	return number_compare(b->pid, a->pid);
}

static void qpn_text(char *text, const struct top_qp *qp)
{
	snprintf(text, TOP_TEXT, "0x%06x", qp->qpn);
}

static int qpn_compare(const struct top_qp *a, const struct top_qp *b)
{
	return number_compare(b->qpn, a->qpn);
}

#define RATE_CELL(name, counter)                                                                   \
	static void name##_text(char *text, const struct top_qp *qp)                               \
	{                                                                                          \
		rate_text(text, qp->rate[counter]);                                                \
	}                                                                                          \
	static int name##_compare(const struct top_qp *a, const struct top_qp *b)                  \
	{                                                                                          \
		double x = a->rate[counter], y = b->rate[counter];                                 \
                                                                                                   \
		if (x < y || x > y)                                                                \
			return x < y ? 1 : -1;                                                     \
		return number_compare(a->count[counter], b->count[counter]);                       \
	}

RATE_CELL(sent, TOP_TX_BYTES)
RATE_CELL(received, TOP_RX_BYTES)
RATE_CELL(packets, TOP_TX_PACKETS)

/* Rare events are counted, so that a look in time is not needed to see them. */
#define COUNT_CELL(name, counter)                                                                  \
	static void name##_text(char *text, const struct top_qp *qp)                               \
	{                                                                                          \
		top_scaled(text, (double)qp->count[counter]);                                      \
	}                                                                                          \
	static int name##_compare(const struct top_qp *a, const struct top_qp *b)                  \
	{                                                                                          \
		return number_compare(a->count[counter], b->count[counter]);                       \
	}

COUNT_CELL(retries, TOP_RETRIES)
COUNT_CELL(rnr, TOP_RNR)

static void flight_text(char *text, const struct top_qp *qp)
{
	top_scaled(text, (double)qp->in_flight);
}

static int flight_compare(const struct top_qp *a, const struct top_qp *b)
{
	return number_compare(a->in_flight, b->in_flight);
}

static void cq_text(char *text, const struct top_qp *qp)
{
	char used[8], depth[8];

	top_scaled(used, (double)qp->cq_used);
	top_scaled(depth, (double)qp->cq_depth);
	snprintf(text, TOP_TEXT, "%s/%s", used, depth);
}

static int cq_compare(const struct top_qp *a, const struct top_qp *b)
{
	return number_compare(a->cq_used, b->cq_used);
}

/* As many as fit are shown, so the less important ones come last. The first take 80 columns. */
static const struct top_column columns[] = {
	{ "FABRIC", 9, true, true, fabric_text, fabric_compare },
	{ "NODE", 7, true, false, node_text, node_compare },
	{ "PROGRAM", 12, true, false, program_text, program_compare },
	{ "PID", 7, false, false, pid_text, pid_compare },
	{ "QP", 8, true, false, qpn_text, qpn_compare },
	{ "TYPE", 4, true, false, type_text, type_compare },
	{ "STATE", 5, true, false, state_text, state_compare },
	{ "SENT/s", 6, false, false, sent_text, sent_compare },
	{ "RCVD/s", 6, false, false, received_text, received_compare },
	{ "RETRY", 5, false, false, retries_text, retries_compare },
	{ "RNR", 5, false, false, rnr_text, rnr_compare },
	{ "FLY", 4, false, false, flight_text, flight_compare },
	{ "CQ", 9, false, false, cq_text, cq_compare },
	{ "PKT/s", 6, false, false, packets_text, packets_compare },
	{ "PEER", 26, true, false, peer_text, peer_compare },
};

const char *top_column_name(u32 column)
{
	return column < ARRAY_SIZE(columns) ? columns[column].name : NULL;
}

u32 top_column_default(void)
{
	u32 i;

	for (i = 0; columns[i].compare != sent_compare; i++)
		;
	return i;
}

static void columns_print(char *line, u32 width, bool many, const struct top_qp *qp)
{
	char cell[TOP_TEXT];
	u32 i, n = 0, wanted;

	line[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		if (columns[i].many && !many)
			continue;
		wanted = columns[i].width + (n != 0);
		if (n + wanted > width || n + wanted >= TOP_LINE)
			return;
		if (qp)
			columns[i].text(cell, qp);
		else
			snprintf(cell, sizeof(cell), "%s", columns[i].name);
		n += (u32)snprintf(line + n, TOP_LINE - n, columns[i].left ? "%s%-*.*s" : "%s%*.*s",
				   n ? " " : "", (int)columns[i].width, (int)columns[i].width,
				   cell);
	}
}

void top_columns_head(char *line, u32 width, bool many)
{
	columns_print(line, width, many, NULL);
}

void top_columns_qp(char *line, u32 width, bool many, const struct top_qp *qp)
{
	columns_print(line, width, many, qp);
}

static int select_compare(const void *a, const void *b, void *arg)
{
	const struct top_qp *x = *(const struct top_qp *const *)a;
	const struct top_qp *y = *(const struct top_qp *const *)b;
	const struct top_order *order = arg;
	int ret = columns[order->column].compare(x, y);

	if (order->reverse)
		ret = -ret;
	ret = ret ? ret : number_compare(y->nth, x->nth);
	return ret ? ret : qpn_compare(x, y);
}

u32 top_select(const struct top_sample *s, const struct top_order *order,
	       const struct top_qp **list)
{
	char line[TOP_LINE];
	u32 i, n = 0;

	for (i = 0; i < s->n_qps; i++) {
		columns_print(line, TOP_LINE, s->n_fabrics > 1, &s->qp[i]);
		if (!order->filter[0] || strcasestr(line, order->filter))
			list[n++] = &s->qp[i];
	}
	qsort_r(list, n, sizeof(*list), select_compare, (void *)(uintptr_t)order);
	return n;
}

bool top_summary(const struct top_sample *s, u32 i, char *line, size_t size)
{
	u64 seconds = s->uptime_ms / 1000;
	char tx[8], rx[8], packets[8], retries[8], rnr[8], dropped[8], memory[8], lent[8];

	top_scaled(tx, s->rate[TOP_TX_BYTES]);
	top_scaled(rx, s->rate[TOP_RX_BYTES]);
	top_scaled(packets, s->rate[TOP_TX_PACKETS]);
	top_scaled(retries, s->rate[TOP_RETRIES]);
	top_scaled(rnr, s->rate[TOP_RNR]);
	top_scaled(dropped, s->dropped_rate);
	top_scaled(memory, (double)s->memory);
	top_scaled(lent, (double)s->lent);
	switch (i) {
	case 0:
		snprintf(line, size,
			 "rdmaemu top: fabric%s %.200s, up %llu:%02llu:%02llu, engine %s",
			 s->n_fabrics > 1 ? "s" : "", s->fabric, (unsigned long long)seconds / 3600,
			 (unsigned long long)seconds / 60 % 60, (unsigned long long)seconds % 60,
			 s->engine);
		return true;
	case 1:
		snprintf(line, size,
			 "%llu nodes, %llu programs, %u QPs, %sB registered, %sB lent, %llu joined "
			 "fabrics",
			 (unsigned long long)s->nodes, (unsigned long long)s->programs, s->n_qps,
			 memory, lent, (unsigned long long)s->members);
		return true;
	case 2:
		snprintf(line, size,
			 "per second: sent %sB, %s packets; received %sB; retries %s, RNR %s, lost "
			 "%s",
			 tx, packets, rx, retries, rnr, dropped);
		return true;
	default:
		return false;
	}
}

void top_fault_line(const struct top_fault *f, char *line, size_t size)
{
	char seen[8], hits[8];

	top_scaled(seen, (double)f->seen);
	top_scaled(hits, (double)f->hits);
	snprintf(line, size, "fault %-10.10s hits %5s of %5s  %s", f->name, hits, seen, f->rule);
}
