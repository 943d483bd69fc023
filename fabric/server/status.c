/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's state as a JSON object, gathered without the token.
 *
 * Programs change HCA memory meanwhile: a status is a glance, not a snapshot. status_text.c prints
 * the same object as text.
 */
#include "emulator/audit/audit.h"
#include "emulator/peer.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "fabric/proto/port_counters.h"
#include "fabric/proto/real_objects.h"
#include "fabric/common/json.h"
#include "fabric/server/server.h"
#include "fabric/server/status.h"
#include "fabric/common/text_io.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AUDIT_TRIES 500 /* milliseconds */

static void status_add_bool(struct json_object *o, const char *key, bool v)
{
	json_add(o, key, json_object_new_boolean(v));
}

bool process_is_stopped(s32 pid)
{
	char path[48], line[512], *p;
	FILE *file;
	bool stopped = false;

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* "pid (name) state": the name may have parentheses of its own. */
	if (fgets(line, sizeof(line), file) && (p = strrchr(line, ')')) && p[1] == ' ')
		stopped = p[2] == 'T' || p[2] == 't';
	fclose(file);
	return stopped;
}

const struct client *status_client(const struct fabric *f, u32 owner)
{
	return owner && owner <= HCA_MAX_CLIENTS ? f->clients.by_id[owner - 1] : NULL;
}

static struct json_object *status_json_engine(const struct fabric *f)
{
	struct json_object *o = json_object_new_object();
	u64 token = load_relaxed(&f->hca->token);
	const struct client *cl = status_client(f, (u32)token);
	const struct hca_client *h;

	json_add_int(o, "steals", f->hca->steals);
	if (token == TOKEN_FREE) {
		json_add_str(o, "holder", "none");
	} else if ((u32)token == TOKEN_RESERVED) {
		json_add_str(o, "holder", "reserved");
	} else if (token == TOKEN_FABRIC || !cl || cl->gen != (u32)(token >> 32)) {
		json_add_str(o, "holder", token == TOKEN_FABRIC ? "fabric" : "unknown");
	} else {
		h = &f->hca->client[cl->id];
		json_add_str(o, "holder", "client");
		json_add_int(o, "client", cl->id);
		json_add_int(o, "pid", (u64)h->fabric_pid);
		json_add_str(o, "name", h->name);
		status_add_bool(o, "stopped", process_is_stopped(h->fabric_pid));
	}
	return o;
}

static struct json_object *status_json_counters(const struct hca_port *p)
{
	struct json_object *o = json_object_new_object();
	u32 i;

	for (i = 0; i < CNT_COUNT; i++)
		json_add_int(o, counter_name(i), load_relaxed(&p->counters[i]));
	return o;
}

static struct json_object *status_json_gids(const struct hca_port *p)
{
	static const char *const types[] = { "IB", "RoCE v1", "RoCE v2" };
	struct json_object *all = json_object_new_array(), *o;
	char text[INET6_ADDRSTRLEN];
	u32 i;

	for (i = 0; i < HCA_GIDS; i++) {
		const struct hca_gid *g = &p->gid[i];

		if (!g->valid)
			continue;
		o = json_object_new_object();
		json_add_int(o, "index", i);
		json_add_str(o, "gid", inet_ntop(AF_INET6, g->raw, text, sizeof(text)));
		json_add_str(o, "type", g->type < ARRAY_SIZE(types) ? types[g->type] : "?");
		json_add_str(o, "netdev", g->ndev);
		json_append(all, o);
	}
	return all;
}

static struct json_object *status_json_ports(const struct hca_dev *d)
{
	struct json_object *all = json_object_new_array(), *o;
	u32 i;

	for (i = 1; i <= d->n_ports; i++) {
		const struct hca_port *p = &d->port[i];

		o = json_object_new_object();
		json_add_int(o, "port", i);
		json_add_str(o, "state", p->state == PORT_ACTIVE ? "ACTIVE" : "DOWN");
		json_add_str(o, "link_layer",
			     d->link_layer == LINK_ETHERNET ? "Ethernet" : "InfiniBand");
		json_add_int(o, "lid", p->lid);
		json_add_int(o, "active_mtu", ib_mtu_bytes(p->active_mtu));
		json_add_int(o, "max_mtu", ib_mtu_bytes(p->max_mtu));
		json_add(o, "gids", status_json_gids(p));
		json_add(o, "counters", status_json_counters(p));
		json_append(all, o);
	}
	return all;
}

/* The name of the member that a node or device belongs to, if it is not this fabric's. */
static void status_add_member(struct json_object *o, const struct fabric *f, u32 member)
{
	const char *name = status_member_name(f, member);

	if (name)
		json_add_str(o, "member", name);
}

static struct json_object *status_json_devices(const struct fabric *f)
{
	struct json_object *all = json_object_new_array(), *o;
	struct hca_dev now;
	const struct hca_dev *d = &now;
	char guid[32];
	u32 i;

	for (i = 0; i < min_u32(f->hca->n_devs, HCA_MAX_DEVS); i++) {
		/* One of hundreds that stand for no host yet. */
		if (!hca_peer_has_address(f->hca, i))
			continue;
		hca_dev_snapshot(f->hca, i, &now);
		o = json_object_new_object();
		snprintf(guid, sizeof(guid), "%04x:%04x:%04x:%04x", (unsigned)(d->guid >> 48),
			 (unsigned)(d->guid >> 32) & 0xffff, (unsigned)(d->guid >> 16) & 0xffff,
			 (unsigned)d->guid & 0xffff);
		json_add_str(o, "name", d->name);
		json_add_str(o, "node", f->hca->node[d->node].name);
		status_add_member(o, f, d->member);
		json_add_str(o, "guid", guid);
		json_add(o, "ports", status_json_ports(d));
		json_append(all, o);
	}
	return all;
}

/* Objects of all kinds, without the contexts themselves. */
static u64 status_count_objects(const struct hca *hca, u32 client)
{
	u64 sum = 0;
	u32 t, i;

	for (t = 0; t < TAB_COUNT; t++)
		sum += hca->client[client].n[t];
	for (i = 0; i < min_u32(load_relaxed(&hca->tab[TAB_REF].high), HCA_MAX_REF); i++)
		if (load_acquire(&hca->ref[i].client) == client + 1 &&
		    hca->ref[i].kind == REF_CONTEXT)
			sum--;
	return sum;
}

static u64 status_count_of(const struct fabric *f, const struct client *cl)
{
	const struct real_objects *r = status_real_objects(f, cl);

	return r ? load_relaxed(&r->objects) : status_count_objects(f->hca, cl->id);
}

int status_objects(const struct fabric *f, u32 pid, u32 *n)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->freed && !cl->exited && (u32)f->hca->client[cl->id].pid == pid) {
			*n = (u32)status_count_of(f, cl);
			return 0;
		}
	return -ESRCH;
}

/* How much of a program's registered memory is lent, and why the rest is not, as it says itself. */
static struct json_object *status_json_lent(const struct seg_lent_table *t)
{
	static const char *const reasons[LENT_WHYS] = {
		[LENT_WHY_THREADS] = "a thread cannot be stopped",
		[LENT_WHY_IO] = "io_uring, AIO or a device may write to it",
		[LENT_WHY_USE] = "on demand, or Valgrind",
		[LENT_WHY_EDGE] = "parts of pages",
		[LENT_WHY_KIND] = "not private anonymous memory alone",
		[LENT_WHY_FILE] = "no room for it",
		[LENT_WHY_COST] = "too large or too often for auto",
		[LENT_WHY_BACK] = "the program changed its mapping or forked",
	};
	struct json_object *o = json_object_new_object(), *kept = json_object_new_object();
	u32 i;

	status_add_bool(o, "on", load_relaxed(&t->on));
	json_add_int(o, "bytes", load_relaxed(&t->lent));
	for (i = 0; i < LENT_WHYS; i++)
		if (load_relaxed(&t->why[i]))
			json_add_int(kept, reasons[i], load_relaxed(&t->why[i]));
	json_add(o, "kept", kept);
	return o;
}

/* The objects of a program on emulated devices. */
static void status_add_objects(struct json_object *o, const struct fabric *f,
			       const struct client *cl, u64 registered)
{
	const struct hca_client *h = &f->hca->client[cl->id];

	json_add_str(o, "node", f->hca->node[h->node].name);
	json_add_str(o, "memory",
		     h->fabric_reach	  ? "direct"
		     : cl->helper_fd >= 0 ? "helper"
					  : "none");
	json_add_int(o, "qps", h->n[TAB_QP]);
	json_add_int(o, "cqs", h->n[TAB_CQ]);
	json_add_int(o, "mrs", h->n[TAB_MR]);
	json_add_int(o, "mr_bytes", registered);
	json_add_int(o, "pds", h->n[TAB_PD]);
	json_add_int(o, "objects", status_count_objects(f->hca, cl->id));
	json_add(o, "lent", status_json_lent(&cl->seg->lent));
}

static struct json_object *status_json_clients(const struct fabric *f)
{
	struct json_object *all = json_object_new_array(), *o;
	static u64 registered[HCA_MAX_CLIENTS];
	const struct real_objects *real;
	const struct hca_client *h;
	const struct client *cl;

	status_registered(f, registered);
	for (cl = f->clients.list; cl; cl = cl->next) {
		if (cl->freed)
			continue;
		h = &f->hca->client[cl->id];
		o = json_object_new_object();
		json_add_int(o, "client", cl->id);
		json_add_int(o, "pid", (u64)h->pid);
		json_add_str(o, "name", h->name);
		json_add_str(o, "state", cl->dead ? "dying" : "live");
		real = status_real_objects(f, cl);
		if (real)
			status_real_add(o, real);
		else
			status_add_objects(o, f, cl, registered[cl->id]);
		json_append(all, o);
	}
	return all;
}

/* The program at the other end of a connected QP, if it is in this fabric. */
static void status_add_peer(struct json_object *o, const struct fabric *f, const struct hca_qp *qp)
{
	struct hca_qp *peer = qp->attr.dest_qpn ? hca_qp_by_num(f->hca, qp->attr.dest_qpn) : NULL;
	const struct client *cl = peer ? status_client(f, peer->client) : NULL;

	if (qp->state < QPS_RTR || !qp->attr.dest_qpn)
		return;
	json_add_int(o, "peer_qpn", qp->attr.dest_qpn);
	if (!cl)
		return;
	json_add_int(o, "peer_client", cl->id);
	json_add_int(o, "peer_pid", (u64)f->hca->client[cl->id].pid);
	json_add_str(o, "peer_name", f->hca->client[cl->id].name);
}

static struct json_object *status_json_qp(const struct fabric *f, const struct hca_qp *qp)
{
	struct json_object *o = json_object_new_object(), *c = json_object_new_object();
	const struct client *cl = status_client(f, qp->client);

	json_add_int(o, "qpn", qp->qpn);
	json_add_str(o, "type", ib_qp_type_name(qp->type));
	json_add_str(o, "state", ib_qp_state_name(qp->state));
	json_add_str(o, "device", qp->dev < HCA_MAX_DEVS ? f->hca->dev[qp->dev].name : "?");
	json_add_str(o, "node",
		     qp->dev < HCA_MAX_DEVS ? f->hca->node[f->hca->dev[qp->dev].node].name : "?");
	json_add_int(o, "client", qp->client - 1);
	if (cl) {
		json_add_int(o, "pid", (u64)f->hca->client[cl->id].pid);
		json_add_str(o, "name", f->hca->client[cl->id].name);
	}
	status_add_peer(o, f, qp);
	json_add_int(o, "mtu", qp->mtu);
	json_add_int(o, "send_cq", qp->scq);
	json_add_int(o, "recv_cq", qp->rcq);
	json_add_int(o, "in_flight", qp->req.next - qp->req.una);
	status_add_bool(o, "waits_for_helper", qp->stalled);
	json_add_int(c, "xmit_packets", qp->req.tx_pkts);
	json_add_int(c, "xmit_bytes", qp->req.tx_bytes);
	json_add_int(c, "rcv_packets", qp->resp.rx_pkts);
	json_add_int(c, "rcv_bytes", qp->resp.rx_bytes);
	json_add_int(c, "retransmissions", qp->n_retry);
	json_add_int(c, "rcvd_rnr_err", qp->n_rnr);
	json_add(o, "counters", c);
	return o;
}

static struct json_object *status_json_qps(const struct fabric *f)
{
	struct json_object *all = json_object_new_array();
	u32 i, n = min_u32(load_relaxed(&f->hca->tab[TAB_QP].high), HCA_MAX_QP);

	for (i = 0; i < n; i++)
		if (load_acquire(&f->hca->qp[i].client))
			json_append(all, status_json_qp(f, &f->hca->qp[i]));
	status_real_qps(all, f);
	return all;
}

static void status_add_address(struct json_object *all, int family, const u8 *ip)
{
	static const u8 none[16];
	char text[INET6_ADDRSTRLEN];

	if (memcmp(ip, none, family == AF_INET ? 4 : 16) != 0 &&
	    inet_ntop(family, ip, text, sizeof(text)))
		json_append(all, json_object_new_string(text));
}

static struct json_object *status_json_nodes(const struct fabric *f)
{
	struct json_object *all = json_object_new_array(), *o, *addrs;
	const struct hca_node *n;
	u32 i;

	for (i = 0; i < min_u32(f->hca->n_nodes, HCA_MAX_NODES); i++) {
		n = &f->hca->node[i];
		o = json_object_new_object();
		addrs = json_object_new_array();
		json_add_str(o, "name", n->name);
		status_add_member(o, f, n->member);
		json_add_int(o, "devices", n->n_devs);
		status_add_address(addrs, AF_INET, n->ip4 + 12);
		status_add_address(addrs, AF_INET6, n->ip6);
		json_add(o, "addresses", addrs);
		json_append(all, o);
	}
	return all;
}

static struct json_object *status_gather(struct fabric *f)
{
	struct json_object *o = json_object_new_object();

	json_add_str(o, "fabric", f->name);
	json_add_int(o, "pid", f->hca->fabric_pid);
	status_add_bool(o, "isolated", f->isolated);
	status_add_bool(o, "real_devices", f->real);
	json_add_str(o, "profile", f->profile.title);
	json_add(o, "seed", json_object_new_uint64(f->hca->seed));
	if (f->chaos)
		json_add(o, "chaos_seed", json_object_new_uint64(f->hca->chaos_seed));
	json_add_int(o, "uptime_ms", (real_ns() - f->started) / NSEC_PER_MSEC);
	json_add_int(o, "time_ns", fabric_ns(f) - f->started);
	if (f->server->idle.ns != NEVER)
		json_add_int(o, "linger_ms", f->server->idle.ns / NSEC_PER_MSEC);
	json_add_int(o, "leases", f->server->leases.n);
	json_add(o, "engine", status_json_engine(f));
	if (f->join)
		json_add(o, "join", status_join(f));
	if (f->roce)
		json_add(o, "wires", status_wires(f));
	json_add(o, "members", status_members(f));
	json_add(o, "nodes", status_json_nodes(f));
	json_add(o, "devices", status_json_devices(f));
	json_add(o, "clients", status_json_clients(f));
	json_add(o, "qps", status_json_qps(f));
	json_add(o, "cqs", status_cqs(f));
	json_add(o, "ids", status_cm_ids(f));
	return o;
}

/*
 * Audit the HCA. Unlike a status this needs the engine to stand still for a moment, if the token is
 * free soon. Return: 0, PROTO_F_BUSY or PROTO_F_UNSOUND.
 */
static u32 status_add_audit(struct json_object *o, struct fabric *f)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	char why[256];
	int tries, ret;

	for (tries = 0; !work_try_token(f); tries++) {
		if (tries == AUDIT_TRIES) {
			json_add_str(o, "audit", "the engine is busy");
			return PROTO_F_BUSY;
		}
		nanosleep(&nap, NULL);
	}
	ret = hca_audit(f->hca, why, sizeof(why));
	engine_leave(&f->engine);
	if (ret == -ENOMEM) {
		json_add_str(o, "audit", "there is no memory for it");
		return PROTO_F_BUSY;
	}
	json_add_str(o, "audit", ret ? why : "clean");
	return ret ? PROTO_F_UNSOUND : 0;
}

int status_make(struct fabric *f, u32 *flags)
{
	struct text_out text;
	FILE *out = text_begin(&text);
	struct json_object *o;
	u32 found = 0;

	if (!out)
		return -ENOMEM;
	o = status_gather(f);
	if (*flags & PROTO_F_AUDIT)
		found = status_add_audit(o, f);
	if (*flags & PROTO_F_JSON) {
		json_print(out, o);
	} else if (json_end()) {
		/* The printers rely on a whole object. */
		json_object_put(o);
	} else {
		(*flags & PROTO_F_VERBOSE ? status_print : status_print_short)(out, o);
		json_object_put(o);
	}
	*flags = found;
	return text_end(&text);
}
