/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu status --prometheus`: metrics, made from the same JSON object as `status --json`.
 *
 * Both formats want all samples of a metric together, after its TYPE and HELP. So the code goes
 * through a table of metrics, and for each of them through the list of the object that it is about:
 * ports, programs, queue pairs, ... A metric names the members of an item that become its labels,
 * and the one that is its value.
 *
 * OpenMetrics names a counter without the suffix `_total` of its samples, and ends with `# EOF`.
 * The older text format, which node_exporter's textfile collector and the Pushgateway read, names
 * it with the suffix. No text is both.
 */
#include "fabric/cli/view/view.h"
#include "fabric/common/unicode.h"
#include "fabric/proto/port_counters.h"

#include <string.h>

#define METRICS_PREFIX "rdmaemu_"
#define METRICS_LABELS 9u

enum metric_kind {
	METRIC_GAUGE,
	METRIC_COUNTER,
	METRIC_INFO, /* its labels are what it says; its value is 1 */
};

/**
 * struct metric_label - a label, and the member that has its value.
 * @hex: a number of a queue pair, which other tools show in hexadecimal
 */
struct metric_label {
	const char *name;
	const char *key;
	bool hex;
};

/**
 * struct metric_list - the items that metrics are about.
 * @key: the list's member of the status; NULL: the status itself is the only item
 * @inner: a list in each of its items, whose items are meant; NULL: none
 * @labels: of each sample; those of the outer item first
 */
struct metric_list {
	const char *key;
	const char *inner;
	struct metric_label labels[METRICS_LABELS];
};

static const struct metric_list metric_fabric = {
	NULL, NULL, { { "profile", "profile", false }, { "seed", "seed", false } }
};
static const struct metric_list metric_whole = { NULL, NULL, { { NULL, NULL, false } } };
static const struct metric_list metric_ports = {
	"devices",
	"ports",
	{ { "node", "node", false }, { "device", "name", false }, { "port", "port", false } }
};
static const struct metric_list metric_programs = { "clients",
						    NULL,
						    { { "node", "node", false },
						      { "program", "name", false },
						      { "pid", "pid", false },
						      { "client", "client", false },
						      { "real", "real", false } } };
static const struct metric_list metric_qps = { "qps",
					       NULL,
					       { { "node", "node", false },
						 { "device", "device", false },
						 { "program", "name", false },
						 { "pid", "pid", false },
						 { "qpn", "qpn", true } } };
static const struct metric_list metric_qp_infos = { "qps",
						    NULL,
						    { { "node", "node", false },
						      { "device", "device", false },
						      { "program", "name", false },
						      { "pid", "pid", false },
						      { "qpn", "qpn", true },
						      { "type", "type", false },
						      { "state", "state", false },
						      { "peer_qpn", "peer_qpn", true },
						      { "real", "real", false } } };
static const struct metric_list metric_members = { "members",
						   NULL,
						   { { "member", "name", false } } };
static const struct metric_list metric_wires = { "wires",
						 NULL,
						 { { "address", "address", false } } };
static const struct metric_list metric_faults = {
	"faults", NULL, { { "fault", "name", false }, { "rule", "rule", false } }
};

/**
 * struct metric - a metric.
 * @value: the member that has its value; "A.B": member B of object A
 * @scale: what one of the member's units is, in the metric's
 */
struct metric {
	const char *name;
	enum metric_kind kind;
	const struct metric_list *list;
	const char *value;
	double scale;
	const char *help;
};

static const struct metric metrics[] = {
	{ "fabric", METRIC_INFO, &metric_fabric, NULL, 1, "The fabric's settings." },
	{ "uptime_seconds", METRIC_GAUGE, &metric_whole, "uptime_ms", 1e-3,
	  "Time since the fabric's start." },
	{ "engine_steals", METRIC_COUNTER, &metric_whole, "engine.steals", 1,
	  "Programs that died while they ran the engine." },
	{ "program_qps", METRIC_GAUGE, &metric_programs, "qps", 1,
	  "Queue pairs that the program has." },
	{ "program_cqs", METRIC_GAUGE, &metric_programs, "cqs", 1,
	  "Completion queues that the program has." },
	{ "program_mrs", METRIC_GAUGE, &metric_programs, "mrs", 1,
	  "Memory regions and windows that the program has." },
	{ "program_pds", METRIC_GAUGE, &metric_programs, "pds", 1,
	  "Protection domains that the program has." },
	{ "program_objects", METRIC_GAUGE, &metric_programs, "objects", 1,
	  "Objects of all kinds that the program has." },
	{ "qp", METRIC_INFO, &metric_qp_infos, NULL, 1, "Type, state and peer of a queue pair." },
	{ "qp_xmit_packets", METRIC_COUNTER, &metric_qps, "counters.xmit_packets", 1,
	  "Packets that the queue pair has sent as requester, with retransmissions." },
	{ "qp_xmit_bytes", METRIC_COUNTER, &metric_qps, "counters.xmit_bytes", 1,
	  "Bytes of messages that the queue pair has sent as requester, with retransmissions." },
	{ "qp_rcv_packets", METRIC_COUNTER, &metric_qps, "counters.rcv_packets", 1,
	  "Packets that the queue pair has accepted as responder." },
	{ "qp_rcv_bytes", METRIC_COUNTER, &metric_qps, "counters.rcv_bytes", 1,
	  "Bytes of messages that the queue pair has accepted as responder." },
	{ "qp_retransmissions", METRIC_COUNTER, &metric_qps, "counters.retransmissions", 1,
	  "Retransmissions after timeouts and sequence errors." },
	{ "qp_rcvd_rnr_err", METRIC_COUNTER, &metric_qps, "counters.rcvd_rnr_err", 1,
	  "RNR NAKs that the queue pair has received." },
	{ "member_sent_bytes", METRIC_COUNTER, &metric_members, "sent.bytes", 1,
	  "Bytes of frames to a joined fabric." },
	{ "member_received_bytes", METRIC_COUNTER, &metric_members, "received.bytes", 1,
	  "Bytes of frames from a joined fabric." },
	{ "member_dropped", METRIC_COUNTER, &metric_members, "dropped", 1,
	  "Bursts to a joined fabric that had no route." },
	{ "member_waiting_bytes", METRIC_GAUGE, &metric_members, "waiting", 1,
	  "Bytes that wait for a joined fabric's credit." },
	{ "wire_sent", METRIC_COUNTER, &metric_wires, "sent", 1, "RoCE v2 packets sent." },
	{ "wire_received", METRIC_COUNTER, &metric_wires, "received", 1,
	  "RoCE v2 packets received." },
	{ "wire_malformed", METRIC_COUNTER, &metric_wires, "malformed", 1,
	  "Malformed RoCE v2 packets received." },
	{ "wire_bad_icrc", METRIC_COUNTER, &metric_wires, "bad_icrc", 1,
	  "RoCE v2 packets received with a wrong ICRC." },
	{ "fault_seen", METRIC_COUNTER, &metric_faults, "seen", 1,
	  "Packets, calls or work requests that matched a fault rule." },
	{ "fault_hits", METRIC_COUNTER, &metric_faults, "hits", 1,
	  "Packets, calls or work requests that a fault rule acted on." },
};

/** struct metrics - a text of metrics that is being printed. @head: the metric's head is printed */
struct metrics {
	FILE *out;
	enum metrics_format format;
	bool head;
};

static const char *metric_suffix(enum metric_kind kind)
{
	return kind == METRIC_COUNTER ? "_total" : kind == METRIC_INFO ? "_info" : "";
}

/* A metric without samples has no head either. */
static void metric_print_head(struct metrics *m, const struct metric *d, const char *name)
{
	static const char *const types[] = {
		[METRIC_GAUGE] = "gauge",
		[METRIC_COUNTER] = "counter",
		[METRIC_INFO] = "info",
	};
	bool open = m->format == METRICS_OPEN;
	const char *suffix = open ? "" : metric_suffix(d->kind);

	if (m->head)
		return;
	m->head = true;
	fprintf(m->out, "# TYPE " METRICS_PREFIX "%s%s %s\n", name, suffix,
		!open && d->kind == METRIC_INFO ? "gauge" : types[d->kind]);
	fprintf(m->out, "# HELP " METRICS_PREFIX "%s%s %s\n", name, suffix, d->help);
}

static void label_print_value(FILE *out, const char *text)
{
	size_t n;

	for (; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (!n)
			fputs("\xef\xbf\xbd", out); /* U+FFFD */
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, n, out);
	}
}

/* A label of an item, or of the one around it; an empty label is as none. */
static struct json_object *label_get(const struct metric_label *l, struct json_object *item,
				     struct json_object *around)
{
	struct json_object *v;

	if (around && json_object_object_get_ex(around, l->key, &v))
		return v;
	return json_object_object_get_ex(item, l->key, &v) ? v : NULL;
}

static void labels_print(struct metrics *m, const struct metric_list *list, const char *fabric,
			 struct json_object *item, struct json_object *around)
{
	struct json_object *v;
	u32 i;

	fputs("{fabric=\"", m->out);
	label_print_value(m->out, fabric);
	fputc('"', m->out);
	for (i = 0; i < METRICS_LABELS && list->labels[i].name; i++) {
		v = label_get(&list->labels[i], item, around);
		if (!v)
			continue;
		fprintf(m->out, ",%s=\"", list->labels[i].name);
		if (list->labels[i].hex)
			fprintf(m->out, "0x%06llx", (unsigned long long)json_object_get_int64(v));
		else
			label_print_value(m->out, json_object_get_string(v));
		fputc('"', m->out);
	}
	fputc('}', m->out);
}

/* Follow "A.B". Return: NULL: there is no such member. */
static struct json_object *metric_value(struct json_object *item, const char *path)
{
	char key[32];
	size_t n;

	for (; item; path += n + 1) {
		n = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		if (!json_object_object_get_ex(item, key, &item))
			return NULL;
		if (!path[n])
			return item;
	}
	return NULL;
}

static void metric_print_number(FILE *out, struct json_object *v, double scale)
{
	if (scale == 1)
		fprintf(out, " %llu\n", (unsigned long long)json_object_get_int64(v));
	else
		fprintf(out, " %.3f\n", (double)json_object_get_int64(v) * scale);
}

static void metric_print_sample(struct metrics *m, const struct metric *d, const char *name,
				struct json_object *status, struct json_object *item,
				struct json_object *around)
{
	struct json_object *v = d->value ? metric_value(item, d->value) : NULL;

	if (d->value && !v)
		return;
	metric_print_head(m, d, name);
	fprintf(m->out, METRICS_PREFIX "%s%s", name, metric_suffix(d->kind));
	labels_print(m, d->list, json_object_get_string(metric_value(status, "fabric")), item,
		     around);
	if (v)
		metric_print_number(m->out, v, d->scale);
	else
		fputs(" 1\n", m->out);
}

static void metric_print(struct metrics *m, const struct metric *d, const char *name,
			 struct json_object *status, struct json_object *root)
{
	struct json_object *list, *inner, *item;
	size_t i, k;

	m->head = false;
	if (!d->list->key) {
		metric_print_sample(m, d, name, status, root, NULL);
		return;
	}
	if (!json_object_object_get_ex(root, d->list->key, &list))
		return;
	for (i = 0; i < json_object_array_length(list); i++) {
		item = json_object_array_get_idx(list, i);
		if (!d->list->inner) {
			metric_print_sample(m, d, name, status, item, NULL);
			continue;
		}
		if (!json_object_object_get_ex(item, d->list->inner, &inner))
			continue;
		for (k = 0; k < json_object_array_length(inner); k++)
			metric_print_sample(m, d, name, status, json_object_array_get_idx(inner, k),
					    item);
	}
}

/* A metric for each counter of a port, by its name in the status. */
static void metrics_print_ports(struct metrics *m, struct json_object *status)
{
	struct metric d = { .kind = METRIC_COUNTER, .list = &metric_ports, .scale = 1 };
	char name[64], value[64], help[96];
	const char *counter;
	u32 i;

	for (i = 0; (counter = counter_name(i)); i++) {
		snprintf(name, sizeof(name), "port_%s", counter);
		snprintf(value, sizeof(value), "counters.%s", counter);
		snprintf(help, sizeof(help), "The port counter %s of rdmaemu status.", counter);
		d.name = name;
		d.value = value;
		d.help = help;
		metric_print(m, &d, name, status, status);
	}
}

/* 1 for a port in the state ACTIVE, which is a word in the status. */
static void metrics_print_active(struct metrics *m, struct json_object *status)
{
	static const struct metric d = { "port_active",
					 METRIC_GAUGE,
					 &metric_ports,
					 NULL,
					 1,
					 "Whether the port is in the state ACTIVE." };
	struct json_object *devices, *ports, *device, *port, *state;
	const char *fabric = json_object_get_string(metric_value(status, "fabric"));
	size_t i, k;

	m->head = false;
	if (!json_object_object_get_ex(status, "devices", &devices))
		return;
	for (i = 0; i < json_object_array_length(devices); i++) {
		device = json_object_array_get_idx(devices, i);
		ports = metric_value(device, "ports");
		for (k = 0; ports && k < json_object_array_length(ports); k++) {
			port = json_object_array_get_idx(ports, k);
			state = metric_value(port, "state");
			metric_print_head(m, &d, d.name);
			fprintf(m->out, METRICS_PREFIX "%s", d.name);
			labels_print(m, d.list, fabric, port, device);
			fprintf(m->out, " %d\n",
				state && !strcmp(json_object_get_string(state), "ACTIVE"));
		}
	}
}

void metrics_print(FILE *out, struct json_object *status, struct json_object *faults,
		   enum metrics_format format)
{
	struct metrics m = { .out = out, .format = format };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		metric_print(&m, &metrics[i], metrics[i].name, status,
			     metrics[i].list == &metric_faults ? faults : status);
	metrics_print_active(&m, status);
	metrics_print_ports(&m, status);
	if (format == METRICS_OPEN)
		fputs("# EOF\n", out);
}
