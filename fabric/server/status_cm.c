/* SPDX-License-Identifier: MIT */
/* The identifiers of rdma_cm in a status. */
#include "fabric/core/fabric.h"
#include "fabric/common/json.h"
#include "fabric/server/status.h"

#include <arpa/inet.h>
#include <json-c/json.h>
#include <stdio.h>

#define NAME(table, i) ((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : "?")

static const char *status_cm_space_name(u32 ps)
{
	switch (ps) {
	case CM_PS_IPOIB:
		return "IPOIB";
	case CM_PS_TCP:
		return "TCP";
	case CM_PS_UDP:
		return "UDP";
	case CM_PS_IB:
		return "IB";
	}
	return "?";
}

static const char *status_cm_state_name(u32 state)
{
	static const char *const names[] = {
		"IDLE",	   "ADDR_BOUND", "ADDR_RESOLVED", "ROUTE_RESOLVED",
		"CONNECT", "DISCONNECT", "LISTEN",	  "DESTROYING",
	};

	return NAME(names, state);
}

static const char *status_cm_proto_name(u32 proto)
{
	static const char *const names[] = {
		"IDLE",		"LISTEN",	"REQ_SENT",	 "REQ_RCVD",
		"MRA_REQ_SENT", "MRA_REQ_RCVD", "REP_SENT",	 "REP_RCVD",
		"MRA_REP_SENT", "MRA_REP_RCVD", "ESTABLISHED",	 "DREQ_SENT",
		"DREQ_RCVD",	"TIMEWAIT",	"SIDR_REQ_SENT", "SIDR_REQ_RCVD",
	};

	return NAME(names, proto);
}

static void status_cm_add_addr(struct json_object *o, const char *key, const struct cm_addr *a)
{
	char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];

	if (a->family == AF_INET)
		inet_ntop(AF_INET, a->ip + 12, ip, sizeof(ip));
	else if (a->family == AF_INET6)
		inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
	else
		return;
	snprintf(text, sizeof(text), a->family == AF_INET ? "%s:%u" : "[%s]:%u", ip, a->port);
	json_add_str(o, key, text);
}

static struct json_object *status_cm_json_id(const struct fabric *f, u32 slot)
{
	const struct hca_cmid *id = &f->hca->cmid[slot];
	const struct client *cl = status_client(f, id->client);
	struct json_object *o = json_object_new_object();

	json_add_int(o, "id", slot);
	json_add(o, "client", json_object_new_int64((int64_t)id->client - 1));
	if (cl) {
		const struct hca_client *h = &f->hca->client[cl->id];

		json_add(o, "pid", json_object_new_int64(h->pid));
		json_add_str(o, "name", h->name);
		json_add_str(o, "node", f->hca->node[h->node].name);
	}
	json_add_str(o, "space", status_cm_space_name(id->ps));
	json_add_str(o, "state", status_cm_state_name(id->state));
	json_add_str(o, "protocol", status_cm_proto_name(id->proto));
	status_cm_add_addr(o, "source", &id->src);
	status_cm_add_addr(o, "destination", &id->dst);
	return o;
}

struct json_object *status_cm_ids(const struct fabric *f)
{
	struct json_object *all = json_object_new_array();
	u32 i, n = min_u32(load_relaxed(&f->hca->tab[TAB_CMID].high), HCA_MAX_CMID);

	for (i = 0; i < n; i++)
		if (load_acquire(&f->hca->cmid[i].client))
			json_append(all, status_cm_json_id(f, i));
	return all;
}
