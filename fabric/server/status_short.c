/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric's state as text that fits a screen: programs of one name are one line, as are the
 * queue pairs of a state. `status -v` has each of them.
 */
#include "fabric/server/status.h"

#include <stdbool.h>
#include <string.h>

#define SHORT_KINDS	12u /* lines of one list; the rest is only counted */
#define SHORT_PIDS	6u
#define SHORT_LISTENERS 6u
#define SHORT_KEY	128u

/** struct tally - how often each key occurs in a list. @more: items of keys that had no room */
struct tally {
	char key[SHORT_KINDS][SHORT_KEY];
	u32 count[SHORT_KINDS];
	u32 n;
	u32 more;
};

static struct json_object *short_get(struct json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static const char *short_str(struct json_object *o, const char *key)
{
	const char *s = json_object_get_string(short_get(o, key));

	return s ? s : "-";
}

static long long short_int(struct json_object *o, const char *key)
{
	return (long long)json_object_get_int64(short_get(o, key));
}

static void tally_add(struct tally *t, const char *key)
{
	u32 i;

	for (i = 0; i < t->n && strcmp(t->key[i], key) != 0; i++)
		;
	if (i == SHORT_KINDS) {
		t->more++;
		return;
	}
	if (i == t->n)
		snprintf(t->key[t->n++], SHORT_KEY, "%s", key);
	t->count[i]++;
}

/* "NAME: 4 IBV_QPS_RTS, 2 IBV_QPS_ERR", of the values of @field. */
static void short_print_tally(FILE *out, const char *name, struct json_object *list,
			      const char *field)
{
	struct tally t = { 0 };
	size_t i;
	u32 k;

	for (i = 0; i < json_object_array_length(list); i++)
		tally_add(&t, short_str(json_object_array_get_idx(list, i), field));
	if (!t.n)
		return;
	fprintf(out, "%-8s", name);
	for (k = 0; k < t.n; k++)
		fprintf(out, "%s%u %s", k ? ", " : " ", t.count[k], t.key[k]);
	fprintf(out, "\n");
}

static void short_print_port(FILE *out, struct json_object *d, struct json_object *p)
{
	struct json_object *gids = short_get(p, "gids");
	size_t n = json_object_array_length(gids);

	fprintf(out, "device   %s port %lld: node %s", short_str(d, "name"), short_int(p, "port"),
		short_str(d, "node"));
	if (short_get(d, "member"))
		fprintf(out, " of %s", short_str(d, "member"));
	fprintf(out, ", %s, %s, MTU %lld, %zu GID%s", short_str(p, "state"),
		short_str(p, "link_layer"), short_int(p, "active_mtu"), n, n == 1 ? "" : "s");
	if (short_int(p, "lid"))
		fprintf(out, ", LID %lld", short_int(p, "lid"));
	if (n)
		fprintf(out, ", %s", short_str(json_object_array_get_idx(gids, n - 1), "gid"));
	fprintf(out, "\n");
}

static void short_print_devices(FILE *out, struct json_object *devices)
{
	struct json_object *d, *ports;
	size_t i, p, left = 0;
	u32 lines = 0;

	for (i = 0; i < json_object_array_length(devices); i++) {
		d = json_object_array_get_idx(devices, i);
		ports = short_get(d, "ports");
		for (p = 0; p < json_object_array_length(ports); p++) {
			if (lines++ < SHORT_KINDS)
				short_print_port(out, d, json_object_array_get_idx(ports, p));
			else
				left++;
		}
	}
	if (left)
		fprintf(out, "device   %zu more ports\n", left);
}

static void client_key(struct json_object *c, char key[SHORT_KEY])
{
	char place[STATUS_PLACE];

	status_place(c, place, sizeof(place));
	snprintf(key, SHORT_KEY, "%s, %.80s%s", short_str(c, "name"), place,
		 strcmp(short_str(c, "state"), "live") ? ", dying" : "");
}

/* All programs with that key, in one line. */
static void short_print_programs(FILE *out, struct json_object *clients, const char *key, u32 count)
{
	long long qps = 0, cqs = 0, mrs = 0;
	struct json_object *c;
	char other[SHORT_KEY];
	u32 n = 0;
	size_t i;

	fprintf(out, "program  %s: process", key);
	for (i = 0; i < json_object_array_length(clients); i++) {
		c = json_object_array_get_idx(clients, i);
		client_key(c, other);
		if (strcmp(key, other) != 0)
			continue;
		if (n++ < SHORT_PIDS)
			fprintf(out, "%s%lld", n > 1 ? ", " : " ", short_int(c, "pid"));
		qps += short_int(c, "qps");
		cqs += short_int(c, "cqs");
		mrs += short_int(c, "mrs");
	}
	if (count > SHORT_PIDS)
		fprintf(out, " and %u more", count - SHORT_PIDS);
	fprintf(out, ": %lld QPs, %lld CQs, %lld MRs\n", qps, cqs, mrs);
}

static void short_print_clients(FILE *out, struct json_object *clients)
{
	struct tally t = { 0 };
	char key[SHORT_KEY];
	size_t i;
	u32 k;

	for (i = 0; i < json_object_array_length(clients); i++) {
		client_key(json_object_array_get_idx(clients, i), key);
		tally_add(&t, key);
	}
	for (k = 0; k < t.n; k++)
		short_print_programs(out, clients, t.key[k], t.count[k]);
	if (t.more)
		fprintf(out, "program  %u more\n", t.more);
}

static void short_print_members(FILE *out, struct json_object *members)
{
	struct json_object *m;
	size_t i;

	for (i = 0; i < json_object_array_length(members); i++) {
		m = json_object_array_get_idx(members, i);
		fprintf(out, "member   %s: %s", short_str(m, "name"), short_str(m, "state"));
		if (short_get(m, "via"))
			fprintf(out, " %s", short_str(m, "via"));
		if (short_get(m, "address"))
			fprintf(out, ", %s", short_str(m, "address"));
		fprintf(out, "\n");
	}
}

static void short_print_wires(FILE *out, struct json_object *wires)
{
	static const char *const drops[] = { "malformed", "bad_icrc", "filtered", "stranger",
					     "no_port" };
	struct json_object *w;
	long long dropped;
	size_t i, k;

	for (i = 0; wires && i < json_object_array_length(wires); i++) {
		w = json_object_array_get_idx(wires, i);
		dropped = 0;
		for (k = 0; k < ARRAY_SIZE(drops); k++)
			dropped += short_int(w, drops[k]);
		fprintf(out,
			"wire     %s: RoCE v2: sent %lld packets, received %lld, dropped %lld\n",
			short_str(w, "address"), short_int(w, "sent"), short_int(w, "received"),
			dropped);
	}
}

/* A refused connection has its cause here: no listener at that node and port. */
static void short_print_listeners(FILE *out, struct json_object *ids)
{
	struct json_object *id;
	u32 n = 0;
	size_t i;

	for (i = 0; i < json_object_array_length(ids); i++) {
		id = json_object_array_get_idx(ids, i);
		if (strcmp(short_str(id, "state"), "LISTEN") != 0 || n++ >= SHORT_LISTENERS)
			continue;
		fprintf(out, "listener %s, node %s: process %lld: %s %s\n", short_str(id, "name"),
			short_str(id, "node"), short_int(id, "pid"), short_str(id, "space"),
			short_str(id, "source"));
	}
	if (n > SHORT_LISTENERS)
		fprintf(out, "listener %u more\n", n - SHORT_LISTENERS);
}

void status_print_short(FILE *out, struct json_object *o)
{
	status_print_head(out, o);
	short_print_members(out, short_get(o, "members"));
	short_print_wires(out, short_get(o, "wires"));
	short_print_devices(out, short_get(o, "devices"));
	short_print_clients(out, short_get(o, "clients"));
	short_print_listeners(out, short_get(o, "ids"));
	short_print_tally(out, "qps", short_get(o, "qps"), "state");
	short_print_tally(out, "ids", short_get(o, "ids"), "state");
}
