/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric's state, printed for people.
 */
#include "fabric/server/status.h"

#include <stdbool.h>
#include <string.h>

static struct json_object *get(struct json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static long long num(struct json_object *o, const char *key)
{
	return (long long)json_object_get_int64(get(o, key));
}

/* Never NULL: what is not there is "-". */
static const char *str(struct json_object *o, const char *key)
{
	const char *s = json_object_get_string(get(o, key));

	return s ? s : "-";
}

static void print_engine(FILE *out, struct json_object *o)
{
	const char *holder = str(o, "holder");

	if (!strcmp(holder, "client"))
		fprintf(out, "engine: in process %lld (%s)%s\n", num(o, "pid"), str(o, "name"),
			json_object_get_boolean(get(o, "stopped"))
				? ", which is stopped: all others wait for it"
				: "");
	else
		fprintf(out, "engine: %s\n", !strcmp(holder, "none") ? "free" : holder);
	if (num(o, "steals"))
		fprintf(out, "engine: taken back from the dead %lld times\n", num(o, "steals"));
}

static void print_port(FILE *out, struct json_object *p)
{
	struct json_object *gids = get(p, "gids"), *g;
	size_t i;

	fprintf(out, " port %lld: %s, %s, MTU %lld (max %lld)", num(p, "port"), str(p, "state"),
		str(p, "link_layer"), num(p, "active_mtu"), num(p, "max_mtu"));
	if (num(p, "lid"))
		fprintf(out, ", LID %lld", num(p, "lid"));
	fputc('\n', out);
	for (i = 0; i < json_object_array_length(gids); i++) {
		g = json_object_array_get_idx(gids, i);
		fprintf(out, "  gid %lld: %s %s %s\n", num(g, "index"), str(g, "gid"),
			str(g, "type"), str(g, "netdev"));
	}
	json_object_object_foreach(get(p, "counters"), name,
				   value) if (json_object_get_int64(value))
		fprintf(out, "  %s: %lld\n", name, (long long)json_object_get_int64(value));
}

static void print_device(FILE *out, struct json_object *d)
{
	struct json_object *ports = get(d, "ports");
	size_t i;

	fprintf(out, "device %s: node %s", str(d, "name"), str(d, "node"));
	if (get(d, "member"))
		fprintf(out, " of %s", str(d, "member"));
	fprintf(out, ", GUID %s\n", str(d, "guid"));
	for (i = 0; i < json_object_array_length(ports); i++)
		print_port(out, json_object_array_get_idx(ports, i));
}

static void print_client(FILE *out, struct json_object *c)
{
	bool direct = !strcmp(str(c, "memory"), "direct");

	fprintf(out, "client %lld: process %lld (%s), node %s, %lld QPs, %lld CQs, %lld MRs%s%s\n",
		num(c, "client"), num(c, "pid"), str(c, "name"), str(c, "node"), num(c, "qps"),
		num(c, "cqs"), num(c, "mrs"),
		direct				     ? ""
		: strcmp(str(c, "memory"), "helper") ? ", memory out of reach"
						     : ", memory through its helper",
		strcmp(str(c, "state"), "live") ? ", dying" : "");
}

static void print_qp(FILE *out, struct json_object *q)
{
	struct json_object *c = get(q, "counters");

	fprintf(out, "qp 0x%06llx: %s %s, process %lld (%s), %s of node %s", num(q, "qpn"),
		str(q, "type"), str(q, "state"), num(q, "pid"), str(q, "name"), str(q, "device"),
		str(q, "node"));
	if (get(q, "peer_qpn"))
		fprintf(out, ", peer 0x%06llx", num(q, "peer_qpn"));
	if (get(q, "peer_pid"))
		fprintf(out, " of process %lld (%s)", num(q, "peer_pid"), str(q, "peer_name"));
	if (json_object_get_boolean(get(q, "waits_for_helper")))
		fprintf(out, ", waits for a helper");
	fprintf(out,
		"\n  sent %lld packets, %lld bytes; received %lld, %lld; retransmissions %lld, RNR "
		"%lld\n",
		num(c, "xmit_packets"), num(c, "xmit_bytes"), num(c, "rcv_packets"),
		num(c, "rcv_bytes"), num(c, "retransmissions"), num(c, "rcvd_rnr_err"));
}

static void print_id(FILE *out, struct json_object *i)
{
	fprintf(out, "id %lld: %s %s (%s)", num(i, "id"), str(i, "space"), str(i, "state"),
		str(i, "protocol"));
	if (get(i, "source"))
		fprintf(out, ", %s", str(i, "source"));
	if (get(i, "destination"))
		fprintf(out, " to %s", str(i, "destination"));
	if (get(i, "pid"))
		fprintf(out, ", process %lld (%s)", num(i, "pid"), str(i, "name"));
	fputc('\n', out);
}

static void print_join(FILE *out, struct json_object *j)
{
	fprintf(out, "joined as %s (%s)", str(j, "name"), str(j, "id"));
	if (num(j, "port"))
		fprintf(out, ", listens at port %lld", num(j, "port"));
	fprintf(out, ", %lld turned away\n", num(j, "turned_away"));
}

static void print_member(FILE *out, struct json_object *m)
{
	struct json_object *sent = get(m, "sent"), *rcvd = get(m, "received");
	struct json_object *credit = get(m, "credit");

	fprintf(out, "member %s (%s): %s", str(m, "name"), str(m, "id"), str(m, "state"));
	if (get(m, "via"))
		fprintf(out, " %s", str(m, "via"));
	if (get(m, "address"))
		fprintf(out, ", %s", str(m, "address"));
	fprintf(out,
		"\n  sent %lld bursts, %lld bytes; received %lld, %lld; dropped %lld; waiting %lld "
		"bytes; credit %lld and %lld\n",
		num(sent, "bursts"), num(sent, "bytes"), num(rcvd, "bursts"), num(rcvd, "bytes"),
		num(m, "dropped"), num(m, "waiting"), num(credit, "requests"),
		num(credit, "answers"));
}

static void each(FILE *out, struct json_object *list, void (*print)(FILE *, struct json_object *))
{
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++)
		print(out, json_object_array_get_idx(list, i));
}

void status_print(FILE *out, struct json_object *o)
{
	fprintf(out, "fabric %s: process %lld, up %lld.%03lld s, profile %s, seed %s%s",
		str(o, "fabric"), num(o, "pid"), num(o, "uptime_ms") / 1000,
		num(o, "uptime_ms") % 1000, str(o, "profile"), str(o, "seed"),
		json_object_get_boolean(get(o, "isolated")) ? ", isolated" : "");
	if (get(o, "chaos_seed"))
		fprintf(out, ", chaos of seed %s", str(o, "chaos_seed"));
	if (get(o, "linger_ms"))
		fprintf(out, ", leaves %lld ms after its last program\n", num(o, "linger_ms"));
	else
		fprintf(out, ", stays until it is stopped\n");
	print_engine(out, get(o, "engine"));
	if (get(o, "audit"))
		fprintf(out, "audit: %s\n", str(o, "audit"));
	if (get(o, "join"))
		print_join(out, get(o, "join"));
	each(out, get(o, "members"), print_member);
	each(out, get(o, "devices"), print_device);
	each(out, get(o, "clients"), print_client);
	each(out, get(o, "qps"), print_qp);
	each(out, get(o, "ids"), print_id);
}
