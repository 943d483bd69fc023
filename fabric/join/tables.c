/* SPDX-License-Identifier: MIT */
/**
 * DOC: tables of other members: their nodes and devices, next to our own in HCA memory.
 *
 * A device of another member has a slot like any other, so its addresses are found like all others.
 * The slot stays when its member dies, because queue pairs may still name it; a device with the
 * same GUID, which appears when the member is restarted, gets it again.
 */
#include "emulator/engine.h"
#include "emulator/port.h"
#include "emulator/transport/path.h"
#include "emulator/verbs/port.h"
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <arpa/inet.h>
#include <stdio.h>

/* --- output --- */

/* Encode a device for other members. Return: bytes. */
static u32 tables_dev_encode(const struct hca_dev *d, u8 *body)
{
	static struct hca_dev copy;
	u32 p, i;

	copy = *d;
	/* Loopback addresses mean nothing to other hosts. */
	for (p = 1; p <= copy.n_ports; p++)
		for (i = 0; i < HCA_GIDS; i++) {
			copy.port[p].gid[i].valid &= !gid_is_loopback(copy.port[p].gid[i].raw);
			copy.port[p].ip[i].valid &= !gid_is_loopback(copy.port[p].ip[i].raw);
		}
	return join_dev_put(body, &copy);
}

/* A number that changes with what other members know of the node. */
static u64 tables_node_hash(const struct fabric *f, const struct hca_node *n)
{
	u8 body[JOIN_MAX_DEV];
	u64 h = 0;
	u32 d;

	for (d = 0; d < n->n_devs; d++)
		h = h * 31 + fnv1a(FNV1A_BASIS, body,
				   tables_dev_encode(&f->hca->dev[n->first_dev + d], body));
	return h;
}

/* Send a node with its devices. Return: 0 or -EAGAIN. */
static int tables_send_node(struct fabric *f, struct member *m, u32 index)
{
	const struct hca_node *n = &f->hca->node[index];
	u8 body[JOIN_MAX_DEV];
	u32 d, len = join_node_put(body, index, n->n_devs, n->name);
	int ret = jconn_send(f, m->via, JT_NODE, f->join->id, m->id, body, len);

	for (d = 0; d < n->n_devs && !ret; d++) {
		len = tables_dev_encode(&f->hca->dev[n->first_dev + d], body);
		ret = jconn_send(f, m->via, JT_DEV, f->join->id, m->id, body, len);
	}
	return ret;
}

void tables_send_all(struct fabric *f, struct member *m)
{
	const struct hca *hca = f->hca;
	int ret = 0;
	u32 n;

	for (n = 0; n < hca->n_nodes && !ret; n++)
		if (!hca->node[n].member)
			ret = tables_send_node(f, m, n);
	if (!ret)
		ret = jconn_send(f, m->via, JT_READY, f->join->id, m->id, NULL, 0);
	m->told = !ret;
	if (ret)
		jconn_close(f, m->via, "it reads no tables");
}

void tables_send_news(struct fabric *f)
{
	struct join *j = f->join;
	struct member *m;
	u32 n, i;
	u64 h;

	j->tell = false;
	for (n = 0; n < f->hca->n_nodes; n++) {
		h = f->hca->node[n].member ? 0 : tables_node_hash(f, &f->hca->node[n]);
		if (h == j->node_hash[n])
			continue;
		j->node_hash[n] = h;
		for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
			m = j->member[i];
			if (m && m->via && m->told && tables_send_node(f, m, n))
				jconn_close(f, m->via, "it reads no tables");
		}
	}
}

/* --- input --- */

static char refusal[JOIN_TEXT];

/*
 * Nodes and devices stay when their member leaves. A member has half of each table at most, and
 * all members that ever were leave an eighth for this fabric's own nodes.
 */
static bool tables_has_share(const struct hca *hca, u32 member, u32 n_devs)
{
	u32 nodes = 1, devs = n_devs, all_nodes = 1, all_devs = n_devs, i;

	for (i = 0; i < hca->n_nodes; i++) {
		const struct hca_node *n = &hca->node[i];

		all_nodes += !!n->member;
		all_devs += n->member ? n->n_devs : 0;
		nodes += n->member == member;
		devs += n->member == member ? n->n_devs : 0;
	}
	return nodes <= HCA_MAX_NODES / 2 && devs <= HCA_MAX_DEVS / 2 &&
	       all_nodes <= HCA_MAX_NODES - HCA_MAX_NODES / 8 &&
	       all_devs <= HCA_MAX_DEVS - HCA_MAX_DEVS / 8;
}

static bool tables_member_lives(const struct fabric *f, u32 member, const struct member *but)
{
	const struct member *m =
		member && member <= JOIN_MAX_MEMBERS ? f->join->member[member - 1] : NULL;

	return !member || (m && m != but && m->via);
}

/* The live device, other than @slot, that has an address; -1: none has. */
static int tables_addr_owner(const struct fabric *f, const struct member *m,
			     const struct hca_gid *g, u32 slot)
{
	u32 at = 0, dev, port, index;
	bool ip;

	while (g->valid && hca_addr_next(f->hca, g->raw, &at, &dev, &port, &index, &ip))
		if (dev != slot && tables_member_lives(f, f->hca->dev[dev].member, m))
			return (int)dev;
	return -1;
}

/* An address that another device has stays with that device. */
static void tables_drop_taken(struct fabric *f, struct member *m, struct hca_dev *d, u32 slot)
{
	char ip[INET6_ADDRSTRLEN];
	struct hca_gid *g;
	u32 p, i;

	for (p = 1; p <= d->n_ports; p++)
		for (i = 0; i < 2 * HCA_GIDS; i++) {
			g = i < HCA_GIDS ? &d->port[p].gid[i] : &d->port[p].ip[i - HCA_GIDS];
			if (tables_addr_owner(f, m, g, slot) < 0)
				continue;
			g->valid = 0;
			inet_ntop(AF_INET6, g->raw, ip, sizeof(ip));
			if (!m->met)
				fabric_note(f,
					    "join: %s has the address %s, which another node has",
					    m->incoming.name, ip);
		}
}

/* Why numbers that must be unique are not, or NULL. */
static const char *tables_find_clash(struct fabric *f, struct member *m, const struct hca_dev *d,
				     u32 slot)
{
	u32 p;
	u8 port;
	int at;

	for (p = 1; p <= d->n_ports; p++) {
		if (tables_addr_owner(f, m, &d->port[p].gid[0], slot) >= 0) {
			snprintf(refusal, sizeof(refusal),
				 "%s of node '%s' has the GUID of another: are names (--name) "
				 "unique?",
				 d->name, m->incoming.name);
			return refusal;
		}
		at = hca_find_lid(f->hca, d->port[p].lid, &port);
		if (at >= 0 && (u32)at != slot &&
		    tables_member_lives(f, f->hca->dev[at].member, m)) {
			snprintf(refusal, sizeof(refusal), "LID %u of node '%s' is another's",
				 d->port[p].lid, m->incoming.name);
			return refusal;
		}
	}
	return NULL;
}

/* Fill in a device of a new node, which is not published yet. */
static void tables_dev_fill(struct hca_dev *to, const struct hca_dev *d, u32 member)
{
	const struct hca_dev was = { .node = to->node, .index = to->index, .number = to->number };
	u32 p;

	*to = *d;
	to->node = was.node;
	to->index = was.index;
	to->number = was.number;
	to->member = member;
	/* A port that is down drops packets itself, on its own host. */
	for (p = 1; p <= to->n_ports; p++)
		to->port[p].state = PORT_ACTIVE;
	to->valid = 1;
}

/* Update a device that exists already. */
static void tables_dev_update(struct fabric *f, u32 slot, const struct hca_dev *d, u32 member)
{
	struct hca_dev *to = &f->hca->dev[slot];
	u32 p, i;

	to->member = member;
	for (p = 1; p <= d->n_ports; p++) {
		for (i = 0; i < HCA_GIDS; i++) {
			hca_port_set_gid(f->hca, slot, p, false, i, &d->port[p].gid[i]);
			hca_port_set_gid(f->hca, slot, p, true, i, &d->port[p].ip[i]);
		}
		port_set_lid(&f->engine, slot, p, d->port[p].lid);
		to->port[p].active_mtu = d->port[p].active_mtu;
	}
}

/* The node's name resolves to its first address of each family. */
static void tables_node_addresses(struct hca_node *n, const struct hca_dev *d)
{
	const struct hca_gid *g = d->link_layer == LINK_ETHERNET ? d->port[1].gid : d->port[1].ip;
	u32 i;

	memset(n->ip4, 0, sizeof(n->ip4));
	memset(n->ip6, 0, sizeof(n->ip6));
	for (i = HCA_GIDS; i-- > 1;)
		if (g[i].valid)
			memcpy(gid_is_v4(g[i].raw) ? n->ip4 : n->ip6, g[i].raw, 16);
}

/* Whether the device in a slot is the same as @d. */
static bool tables_dev_same_kind(const struct hca_dev *a, const struct hca_dev *b)
{
	return a->n_ports == b->n_ports && a->link_layer == b->link_layer && a->guid == b->guid;
}

/* All devices of a node have come: enter it. */
static const char *tables_node_enter(struct fabric *f, struct member *m)
{
	struct join_node *in = &m->incoming;
	struct hca *hca = f->hca;
	int at = hca_node_find(hca, in->name);
	bool new = at < 0;
	struct hca_node *n;
	const char *why;
	u32 i, slot;

	if (!new &&tables_member_lives(f, hca->node[at].member, m)) {
		snprintf(refusal, sizeof(refusal),
			 "there is a node '%s' already: give one of them another name", in->name);
		return refusal;
	}
	if (new)
		at = tables_has_share(hca, m->number, in->n_devs)
			     ? hca_node_begin(hca, in->name, in->n_devs)
			     : -ENOSPC;
	if (at < 0)
		return "too many nodes";
	n = &hca->node[at];
	for (i = 0; i < in->n_devs; i++) {
		slot = n->first_dev + i;
		if (n->n_devs != in->n_devs ||
		    (!new && !tables_dev_same_kind(&hca->dev[slot], &in->dev[i]))) {
			snprintf(refusal, sizeof(refusal), "node '%s' had other devices before",
				 in->name);
			return refusal;
		}
		why = tables_find_clash(f, m, &in->dev[i], new ? HCA_MAX_DEVS : slot);
		if (why)
			return why;
	}
	for (i = 0; i < in->n_devs; i++) {
		slot = n->first_dev + i;
		tables_drop_taken(f, m, &in->dev[i], new ? HCA_MAX_DEVS : slot);
		if (new)
			tables_dev_fill(&hca->dev[slot], &in->dev[i], m->number);
		else
			tables_dev_update(f, slot, &in->dev[i], m->number);
		f->join->far_index[slot] = in->dev[i].index;
		m->dev_slot[in->dev[i].index] = (u16)(slot + 1);
	}
	n->member = m->number;
	tables_node_addresses(n, &in->dev[0]);
	if (new)
		hca_node_publish(hca, (u32)at);
	relay_update_paths(hca);
	return NULL;
}

const char *tables_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len)
{
	struct join_node *in = &m->incoming;

	if (type == JT_NODE) {
		in->got = 0;
		if (join_node_get(body, len, &in->index, &in->n_devs, in->name)) {
			in->n_devs = 0;
			return "malformed table";
		}
		/* A member behind a hub has sent no HELLO with its name. */
		if (!in->index)
			memcpy(m->name, in->name, sizeof(m->name));
		return NULL;
	}
	if (type == JT_DEV) {
		if (in->got >= in->n_devs || join_dev_get(body, len, &in->dev[in->got]) ||
		    in->dev[in->got].node != in->index)
			return "malformed table";
		return ++in->got == in->n_devs ? tables_node_enter(f, m) : NULL;
	}
	if (len || in->got != in->n_devs)
		return "malformed table";
	m->met = true;
	m->dead = false;
	if (m->ready)
		return NULL;
	fabric_note(f, "join: %s has joined, by %s", m->name, m->via ? m->via->who : "?");
	m->ready = true;
	wait_ring_all(f);
	return NULL;
}

void tables_withdraw(struct fabric *f, struct member *m)
{
	static const struct hca_gid none;
	struct hca_dev *d;
	u32 i, k, p;

	for (i = 0; i < f->hca->n_devs; i++) {
		d = &f->hca->dev[i];
		if (d->member != m->number)
			continue;
		for (p = 1; p <= d->n_ports; p++) {
			for (k = 0; k < HCA_GIDS; k++) {
				hca_port_set_gid(f->hca, i, p, false, k, &none);
				hca_port_set_gid(f->hca, i, p, true, k, &none);
			}
			port_set_lid(&f->engine, i, p, 0);
		}
	}
	m->dead = true;
}
