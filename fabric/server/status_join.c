/* SPDX-License-Identifier: MIT */
/* The members of the mesh in a status. */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"
#include "fabric/roce/roce.h"
#include "fabric/common/json.h"
#include "fabric/server/status.h"

#include <arpa/inet.h>
#include <stdio.h>

static void status_join_add_id(struct json_object *o, u64 id)
{
	char text[20];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	json_add_str(o, "id", text);
}

static const char *status_member_state(const struct member *m)
{
	if (!m->via)
		return m->dead ? "dead" : "away";
	if (!m->ready)
		return "joining";
	return m->conn == m->via ? "direct" : "behind";
}

static struct json_object *status_join_json_traffic(u64 bytes, u64 bursts)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "bytes", bytes);
	json_add_int(o, "bursts", bursts);
	return o;
}

/* Credit that is left in each lane: 0 when a frame has exceeded it. */
static struct json_object *status_join_json_credit(const struct member *m)
{
	static const char *const names[LANES] = { "requests", "answers" };
	struct json_object *o = json_object_new_object();
	const struct jlane *l;
	u32 i;

	for (i = 0; i < LANES; i++) {
		l = &m->lane[i];
		json_add_int(o, names[i], m->via && l->limit > l->sent ? l->limit - l->sent : 0);
	}
	return o;
}

static struct json_object *status_join_json_member(const struct member *m)
{
	struct json_object *o = json_object_new_object();
	u64 waiting = 0;
	u32 i;

	for (i = 0; i < LANES; i++)
		waiting += m->lane[i].tail - m->lane[i].head;
	json_add_str(o, "name", m->name);
	status_join_add_id(o, m->id);
	json_add_str(o, "state", status_member_state(m));
	if (m->via)
		json_add_str(o, "address", m->via->who);
	if (m->via)
		json_add_str(o, "cipher", jseal_cipher(m->via) ? jseal_cipher(m->via) : "none");
	if (m->via && m->via != m->conn && m->via->member)
		json_add_str(o, "via", m->via->member->name);
	json_add(o, "sent", status_join_json_traffic(m->tx_bytes, m->tx_bursts));
	json_add(o, "received", status_join_json_traffic(m->rx_bytes, m->rx_bursts));
	json_add_int(o, "dropped", m->dropped);
	json_add(o, "credit", status_join_json_credit(m));
	json_add_int(o, "waiting", waiting);
	return o;
}

struct json_object *status_members(const struct fabric *f)
{
	struct json_object *all = json_object_new_array();
	u32 i;

	for (i = 0; f->join && i < JOIN_MAX_MEMBERS; i++)
		if (f->join->member[i])
			json_append(all, status_join_json_member(f->join->member[i]));
	return all;
}

struct json_object *status_join(const struct fabric *f)
{
	struct json_object *o = json_object_new_object();

	status_join_add_id(o, f->join->id);
	json_add_str(o, "name", f->node_name);
	json_add_int(o, "port", f->join->port);
	json_add_int(o, "turned_away", f->join->n_turned_away);
	return o;
}

const char *status_member_name(const struct fabric *f, u32 number)
{
	if (!number)
		return NULL;
	if (number == HCA_MEMBER_WIRE)
		return "roce";
	return f->join && number <= JOIN_MAX_MEMBERS && f->join->member[number - 1]
		       ? f->join->member[number - 1]->name
		       : "?";
}

static struct json_object *status_wire_groups(const struct fabric *f, u32 wire)
{
	struct json_object *all = json_object_new_array();
	char text[INET6_ADDRSTRLEN];
	const u8 *gid;
	u32 at = 0;

	while ((gid = roce_group_next(f, wire, &at)))
		json_append(all, json_object_new_string(roce_gid_text(gid, text)));
	return all;
}

struct json_object *status_wires(const struct fabric *f)
{
	struct json_object *all = json_object_new_array(), *o;
	const struct roce_counts *n;
	const char *address;
	u32 i, why;

	for (i = 0; (n = roce_wire_counts(f, i, &address)); i++) {
		o = json_object_new_object();
		json_add_str(o, "address", address);
		json_add_int(o, "sent", n->sent);
		json_add_int(o, "full", n->full);
		json_add_int(o, "lost_refused", n->lost_refused);
		json_add_int(o, "received", n->received);
		json_add_int(o, "numbered", n->numbered);
		json_add_int(o, "ecn_marked", n->ecn_marked);
		json_add_int(o, "cnp_sent", n->cnp_sent);
		json_add_int(o, "cnp_received", n->cnp_received);
		json_add_int(o, "rate_held", n->rate_held);
		for (why = 0; why < ROCE_DROPS; why++)
			json_add_int(o, roce_drop_name(why), n->dropped[why]);
		json_add(o, "groups", status_wire_groups(f, i));
		json_object_array_add(all, o);
	}
	return all;
}
