/* SPDX-License-Identifier: MIT */
/**
 * DOC: nodes, and the hashes by which their names and addresses are found. See node.h.
 *
 * Links are put in at the head of a chain when they are complete, and a chain is only read by those
 * who have the token or look for names, which never go: so a reader may stand anywhere in it.
 */
#include "emulator/port.h"

static u32 name_hash(const void *data, size_t n)
{
	u64 h = fnv1a(FNV1A_BASIS, data, n);

	return (u32)(h ^ h >> 32);
}

static bool name_char_ok(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool hca_node_name_ok(const char *name)
{
	size_t n = strlen(name), i;

	if (!n || n > NODE_NAME_MAX || !name_char_ok(name[0]))
		return false;
	for (i = 1; i < n; i++)
		if (!name_char_ok(name[i]) && name[i] != '.' && name[i] != '-')
			return false;
	return true;
}

static u32 *name_chain(struct hca *hca, const char *name)
{
	return &hca->node_name[name_hash(name, strlen(name)) % HCA_NAME_HASH];
}

int hca_node_find(const struct hca *hca, const char *name)
{
	u32 n, at = load_acquire(name_chain((struct hca *)hca, name));

	for (n = 0; at && at <= HCA_MAX_NODES && n < HCA_MAX_NODES; n++) {
		if (!strcmp(hca->node[at - 1].name, name))
			return (int)at - 1;
		at = hca->node[at - 1].next;
	}
	return -ENOENT;
}

int hca_node_begin(struct hca *hca, const char *name, u32 n_devs)
{
	struct hca_node *n = &hca->node[hca->n_nodes];
	u32 i;

	if (!hca_node_name_ok(name))
		return -EINVAL;
	if (hca_node_find(hca, name) >= 0)
		return -EEXIST;
	if (hca->n_nodes >= HCA_MAX_NODES || n_devs > HCA_MAX_DEVS - hca->n_devs)
		return -ENOSPC;
	memset(n, 0, sizeof(*n));
	memcpy(n->name, name, strlen(name));
	n->first_dev = hca->n_devs;
	n->n_devs = n_devs;
	for (i = 0; i < n_devs; i++) {
		struct hca_dev *d = &hca->dev[n->first_dev + i];

		memset(d, 0, sizeof(*d));
		d->node = hca->n_nodes;
		d->index = n->first_dev + i;
		d->number = i;
	}
	return (int)hca->n_nodes;
}

static u32 *addr_chain(struct hca *hca, const u8 raw[16])
{
	return &hca->addr_hash[name_hash(raw, 16) % HCA_ADDR_HASH];
}

u32 hca_addr_number(u32 dev, u32 port, bool ip, u32 index)
{
	return dev * ADDRS_PER_DEV + (port - 1) * ADDRS_PER_PORT + (ip ? HCA_GIDS : 0) + index;
}

static struct hca_gid *addr_entry(struct hca *hca, u32 number)
{
	u32 i = number % ADDRS_PER_PORT;
	struct hca_port *p =
		&hca->dev[number / ADDRS_PER_DEV].port[number % ADDRS_PER_DEV / ADDRS_PER_PORT + 1];

	return i < HCA_GIDS ? &p->gid[i] : &p->ip[i - HCA_GIDS];
}

static void addr_insert(struct hca *hca, u32 number)
{
	u32 *head = addr_chain(hca, addr_entry(hca, number)->raw);

	hca->addr_next[number] = *head;
	store_release(head, number + 1);
}

static void addr_remove(struct hca *hca, u32 number)
{
	u32 *at = addr_chain(hca, addr_entry(hca, number)->raw);

	while (*at && *at != number + 1)
		at = &hca->addr_next[*at - 1];
	if (*at)
		store_release(at, hca->addr_next[number]);
}

const struct hca_gid *hca_addr_next(const struct hca *hca, const u8 raw[16], u32 *at, u32 *dev,
				    u32 *port, u32 *index, bool *ip)
{
	u32 link = *at ? hca->addr_next[*at - 1] : *addr_chain((struct hca *)hca, raw);
	const struct hca_gid *g;

	for (; link; link = hca->addr_next[link - 1]) {
		g = addr_entry((struct hca *)hca, link - 1);
		if (!g->valid || memcmp(g->raw, raw, 16) != 0)
			continue;
		*at = link;
		*dev = (link - 1) / ADDRS_PER_DEV;
		*port = (link - 1) % ADDRS_PER_DEV / ADDRS_PER_PORT + 1;
		*index = (link - 1) % HCA_GIDS;
		*ip = (link - 1) % ADDRS_PER_PORT >= HCA_GIDS;
		return g;
	}
	return NULL;
}

bool hca_port_set_gid(struct hca *hca, u32 dev, u32 port, bool ip, u32 index,
		      const struct hca_gid *gid)
{
	u32 number = hca_addr_number(dev, port, ip, index);
	struct hca_gid *g = addr_entry(hca, number);

	if (g->valid == gid->valid && !memcmp(g->raw, gid->raw, sizeof(g->raw)) &&
	    g->ifindex == gid->ifindex)
		return false;
	if (g->valid)
		addr_remove(hca, number);
	store_between(&g->valid, 0);
	memcpy(g->raw, gid->raw, sizeof(g->raw));
	memcpy(g->ndev, gid->ndev, sizeof(g->ndev));
	g->ifindex = gid->ifindex;
	g->type = gid->type;
	store_release(&g->valid, gid->valid);
	if (g->valid)
		addr_insert(hca, number);
	return true;
}

void hca_lid_index(struct hca *hca, u32 dev, u32 port)
{
	u32 lid = hca->dev[dev].port[port].lid, was, number = dev << 8 | port;

	if (!lid || lid >= HCA_LIDS)
		return;
	was = hca->lid[lid];
	if (was && was != number)
		store_relaxed(&hca->dev[was >> 8].port[was & 0xff].lid, 0);
	hca->lid[lid] = number;
}

void hca_lid_release(struct hca *hca, u32 dev, u32 port)
{
	u32 lid = hca->dev[dev].port[port].lid;

	if (lid < HCA_LIDS && hca->lid[lid] == (dev << 8 | port))
		hca->lid[lid] = 0;
}

static void index_node(struct hca *hca, u32 node)
{
	struct hca_node *n = &hca->node[node];
	u32 *head = name_chain(hca, n->name);
	u32 d, p, i, last = n->first_dev + n->n_devs;

	for (d = n->first_dev; d < last; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++) {
			for (i = 0; i < HCA_GIDS; i++) {
				if (hca->dev[d].port[p].gid[i].valid)
					addr_insert(hca, hca_addr_number(d, p, false, i));
				if (hca->dev[d].port[p].ip[i].valid)
					addr_insert(hca, hca_addr_number(d, p, true, i));
			}
			hca_lid_index(hca, d, p);
		}
	n->next = *head;
	store_release(head, node + 1);
}

void hca_node_publish(struct hca *hca, u32 node)
{
	/* The devices before the hashes that lead to them. */
	store_release(&hca->n_devs, hca->node[node].first_dev + hca->node[node].n_devs);
	store_release(&hca->n_nodes, node + 1);
	index_node(hca, node);
	hca_count_ports_down(hca);
}

void hca_nodes_index(struct hca *hca)
{
	u32 i;

	memset(hca->node_name, 0, sizeof(hca->node_name));
	memset(hca->addr_hash, 0, sizeof(hca->addr_hash));
	memset(hca->lid, 0, sizeof(hca->lid));
	for (i = 0; i < hca->n_nodes; i++)
		index_node(hca, i);
}
