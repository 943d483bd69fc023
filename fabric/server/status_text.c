/* SPDX-License-Identifier: MIT */
/** DOC: a fabric's state as text. */
#include "fabric/server/status.h"

#include <stdbool.h>
#include <string.h>

static struct json_object *status_get(struct json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static long long status_get_int(struct json_object *o, const char *key)
{
	return (long long)json_object_get_int64(status_get(o, key));
}

/* Never NULL: a missing value is "-". */
static const char *status_get_str(struct json_object *o, const char *key)
{
	const char *s = json_object_get_string(status_get(o, key));

	return s ? s : "-";
}

static void status_print_engine(FILE *out, struct json_object *o)
{
	const char *holder = status_get_str(o, "holder");

	if (!strcmp(holder, "client"))
		fprintf(out, "engine: in process %lld (%s)%s\n", status_get_int(o, "pid"),
			status_get_str(o, "name"),
			json_object_get_boolean(status_get(o, "stopped"))
				? ", which is stopped: all others wait for it"
				: "");
	else
		fprintf(out, "engine: %s\n", !strcmp(holder, "none") ? "free" : holder);
	if (status_get_int(o, "steals"))
		fprintf(out, "engine: taken back from the dead %lld times\n",
			status_get_int(o, "steals"));
}

static void status_print_port(FILE *out, struct json_object *p)
{
	struct json_object *gids = status_get(p, "gids"), *g;
	size_t i;

	fprintf(out, " port %lld: %s, %s, MTU %lld (max %lld)", status_get_int(p, "port"),
		status_get_str(p, "state"), status_get_str(p, "link_layer"),
		status_get_int(p, "active_mtu"), status_get_int(p, "max_mtu"));
	if (status_get_int(p, "lid"))
		fprintf(out, ", LID %lld", status_get_int(p, "lid"));
	fputc('\n', out);
	for (i = 0; i < json_object_array_length(gids); i++) {
		g = json_object_array_get_idx(gids, i);
		fprintf(out, "  gid %lld: %s %s %s\n", status_get_int(g, "index"),
			status_get_str(g, "gid"), status_get_str(g, "type"),
			status_get_str(g, "netdev"));
	}
	json_object_object_foreach(status_get(p, "counters"), name,
				   value) if (json_object_get_int64(value))
		fprintf(out, "  %s: %lld\n", name, (long long)json_object_get_int64(value));
}

static void status_print_device(FILE *out, struct json_object *d)
{
	struct json_object *ports = status_get(d, "ports");
	size_t i;

	fprintf(out, "device %s: node %s", status_get_str(d, "name"), status_get_str(d, "node"));
	if (status_get(d, "member"))
		fprintf(out, " of %s", status_get_str(d, "member"));
	fprintf(out, ", GUID %s\n", status_get_str(d, "guid"));
	for (i = 0; i < json_object_array_length(ports); i++)
		status_print_port(out, json_object_array_get_idx(ports, i));
}

/* Nothing for a program that is to keep its memory. */
static void status_print_lent(FILE *out, struct json_object *lent)
{
	const char *sep = "; not lent: ";

	if (!json_object_get_boolean(status_get(lent, "on")))
		return;
	fprintf(out, "  lent memory: %lld bytes", status_get_int(lent, "bytes"));
	json_object_object_foreach(status_get(lent, "kept"), reason, bytes)
	{
		fprintf(out, "%s%lld (%s)", sep, (long long)json_object_get_int64(bytes), reason);
		sep = ", ";
	}
	fputc('\n', out);
}

static void status_print_client(FILE *out, struct json_object *c)
{
	const char *memory = status_get_str(c, "memory");
	bool direct = !strcmp(memory, "direct") || status_get(c, "real");
	char place[STATUS_PLACE];

	status_place(c, place, sizeof(place));
	fprintf(out, "client %lld: process %lld (%s), %s, %lld QPs, %lld CQs, %lld MRs%s%s\n",
		status_get_int(c, "client"), status_get_int(c, "pid"), status_get_str(c, "name"),
		place, status_get_int(c, "qps"), status_get_int(c, "cqs"), status_get_int(c, "mrs"),
		direct			   ? ""
		: strcmp(memory, "helper") ? ", memory out of reach"
					   : ", memory through its helper",
		strcmp(status_get_str(c, "state"), "live") ? ", dying" : "");
	status_print_lent(out, status_get(c, "lent"));
}

static void status_print_qp(FILE *out, struct json_object *q)
{
	struct json_object *c = status_get(q, "counters");

	fprintf(out, "qp 0x%06llx: %s %s, process %lld (%s), ", status_get_int(q, "qpn"),
		status_get_str(q, "type"), status_get_str(q, "state"), status_get_int(q, "pid"),
		status_get_str(q, "name"));
	if (status_get(q, "real"))
		fprintf(out, "real device %s", status_get_str(q, "device"));
	else
		fprintf(out, "%s of node %s", status_get_str(q, "device"),
			status_get_str(q, "node"));
	if (status_get(q, "peer_qpn"))
		fprintf(out, ", peer 0x%06llx", status_get_int(q, "peer_qpn"));
	if (status_get(q, "peer_pid"))
		fprintf(out, " of process %lld (%s)", status_get_int(q, "peer_pid"),
			status_get_str(q, "peer_name"));
	if (json_object_get_boolean(status_get(q, "waits_for_helper")))
		fprintf(out, ", waits for a helper");
	if (status_get(q, "unseen"))
		fprintf(out, ", data path not seen");
	fputc('\n', out);
	if (!c) /* nobody counts the packets of one queue pair of a real device */
		return;
	fprintf(out,
		"  sent %lld packets, %lld bytes; received %lld, %lld; retransmissions %lld, RNR "
		"%lld\n",
		status_get_int(c, "xmit_packets"), status_get_int(c, "xmit_bytes"),
		status_get_int(c, "rcv_packets"), status_get_int(c, "rcv_bytes"),
		status_get_int(c, "retransmissions"), status_get_int(c, "rcvd_rnr_err"));
}

static void status_print_id(FILE *out, struct json_object *i)
{
	fprintf(out, "id %lld: %s %s (%s)", status_get_int(i, "id"), status_get_str(i, "space"),
		status_get_str(i, "state"), status_get_str(i, "protocol"));
	if (status_get(i, "source"))
		fprintf(out, ", %s", status_get_str(i, "source"));
	if (status_get(i, "destination"))
		fprintf(out, " to %s", status_get_str(i, "destination"));
	if (status_get(i, "pid"))
		fprintf(out, ", process %lld (%s)", status_get_int(i, "pid"),
			status_get_str(i, "name"));
	fputc('\n', out);
}

static void status_print_join(FILE *out, struct json_object *j)
{
	fprintf(out, "joined as %s (%s)", status_get_str(j, "name"), status_get_str(j, "id"));
	if (status_get_int(j, "port"))
		fprintf(out, ", listens at port %lld", status_get_int(j, "port"));
	fprintf(out, ", %lld turned away\n", status_get_int(j, "turned_away"));
}

static void status_print_member(FILE *out, struct json_object *m)
{
	struct json_object *sent = status_get(m, "sent"), *rcvd = status_get(m, "received");
	struct json_object *credit = status_get(m, "credit");

	fprintf(out, "member %s (%s): %s", status_get_str(m, "name"), status_get_str(m, "id"),
		status_get_str(m, "state"));
	if (status_get(m, "via"))
		fprintf(out, " %s", status_get_str(m, "via"));
	if (status_get(m, "address"))
		fprintf(out, ", %s, cipher %s", status_get_str(m, "address"),
			status_get_str(m, "cipher"));
	fprintf(out,
		"\n  sent %lld bursts, %lld bytes; received %lld, %lld; dropped %lld; waiting %lld "
		"bytes; credit %lld and %lld\n",
		status_get_int(sent, "bursts"), status_get_int(sent, "bytes"),
		status_get_int(rcvd, "bursts"), status_get_int(rcvd, "bytes"),
		status_get_int(m, "dropped"), status_get_int(m, "waiting"),
		status_get_int(credit, "requests"), status_get_int(credit, "answers"));
}

static void status_print_wire(FILE *out, struct json_object *w)
{
	fprintf(out,
		"wire %s: RoCE v2\n  sent %lld packets, refused by the socket %lld, without room "
		"%lld; received %lld; dropped: malformed %lld, ICRC %lld, filtered %lld, stranger "
		"%lld, no port %lld\n",
		status_get_str(w, "address"), status_get_int(w, "sent"),
		status_get_int(w, "lost_refused"), status_get_int(w, "full"),
		status_get_int(w, "received"), status_get_int(w, "malformed"),
		status_get_int(w, "bad_icrc"), status_get_int(w, "filtered"),
		status_get_int(w, "stranger"), status_get_int(w, "no_port"));
}

static void status_print_each(FILE *out, struct json_object *list,
			      void (*print)(FILE *, struct json_object *))
{
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++)
		print(out, json_object_array_get_idx(list, i));
}

void status_print_head(FILE *out, struct json_object *o)
{
	fprintf(out, "fabric %s: process %lld, up %lld.%03lld s, profile %s, seed %s%s",
		status_get_str(o, "fabric"), status_get_int(o, "pid"),
		status_get_int(o, "uptime_ms") / 1000, status_get_int(o, "uptime_ms") % 1000,
		status_get_str(o, "profile"), status_get_str(o, "seed"),
		json_object_get_boolean(status_get(o, "isolated"))	 ? ", isolated"
		: json_object_get_boolean(status_get(o, "real_devices")) ? ", of real devices"
									 : "");
	if (status_get(o, "chaos_seed"))
		fprintf(out, ", chaos of seed %s", status_get_str(o, "chaos_seed"));
	if (status_get(o, "linger_ms"))
		fprintf(out, ", leaves %lld ms after its last program\n",
			status_get_int(o, "linger_ms"));
	else
		fprintf(out, ", stays until it is stopped\n");
	status_print_engine(out, status_get(o, "engine"));
	if (status_get(o, "audit"))
		fprintf(out, "audit: %s\n", status_get_str(o, "audit"));
	if (status_get(o, "join"))
		status_print_join(out, status_get(o, "join"));
}

void status_print(FILE *out, struct json_object *o)
{
	status_print_head(out, o);
	status_print_each(out, status_get(o, "members"), status_print_member);
	status_print_each(out, status_get(o, "wires"), status_print_wire);
	status_print_each(out, status_get(o, "devices"), status_print_device);
	status_print_each(out, status_get(o, "clients"), status_print_client);
	status_print_each(out, status_get(o, "qps"), status_print_qp);
	status_print_each(out, status_get(o, "ids"), status_print_id);
}
