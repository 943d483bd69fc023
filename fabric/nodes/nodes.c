/* SPDX-License-Identifier: MIT */
/**
 * DOC: making nodes, and their sysfs trees.
 *
 * A node's tree is written when its first program is started, so that a topology of many nodes
 * costs next to nothing.
 */
#include "emulator/port.h"
#include "emulator/port_counter.h"
#include "fabric/nodes/nodes.h"
#include "fabric/common/parse.h"
#include "fabric/common/opts.h"
#include "fabric/nodes/netlink.h"
#include "fabric/nodes/sysfs.h"

#include <endian.h>
#include <stdio.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <unistd.h>

#define GUIDS_PER_DEV 16
/* Subnet managers number ports from 1; here the manager itself has LID 1. */
#define SM_LID	  1
#define FIRST_LID 2
#define N_LIDS	  (0xc000u - FIRST_LID)

int fabric_nodes_init(struct fabric *f)
{
	f->nodes = calloc(1, sizeof(*f->nodes));
	if (!f->nodes)
		return -ENOMEM;
	f->nodes->netlink.fd = -1;
	return 0;
}

void fabric_nodes_changed(struct fabric *f)
{
	if (f->nodes->events && f->nodes->events->changed)
		f->nodes->events->changed(f);
}

/* The user in GUIDs: the owner of the fabric, or in a replay the user of the recording. */
static u32 node_guid_uid(void)
{
	const char *text = getenv(NODES_UID_ENV);
	u64 uid;

	return text && parse_number(text, ~0u, &uid) ? (u32)uid : (u32)geteuid();
}

/* A locally administered EUI-64, always the same for a user, fabric, its wires and node name. */
static u64 node_make_guid(const struct fabric *f, const char *node)
{
	const u32 uid = node_guid_uid();
	const char *fabric = f->hca->name;
	u64 h = fnv1a(fnv1a(FNV1A_BASIS, &uid, sizeof(uid)), fabric, strlen(fabric));

	if (f->guid_salt)
		h = fnv1a(h, &f->guid_salt, sizeof(f->guid_salt));
	if (strcmp(node, NODE_NAME) != 0)
		h = fnv1a(fnv1a(h, "/", 1), node, strlen(node));
	return (h & ~(0x03ULL << 56)) | 0x02ULL << 56;
}

u64 fabric_node_spread(const char *name)
{
	return strcmp(name, NODE_NAME) ? fnv1a(FNV1A_BASIS, name, strlen(name)) >> 32 : 0;
}

static bool node_addr_is_taken(const struct hca *hca, const u8 raw[16])
{
	u32 at = 0, dev, port, index;
	bool ip;

	return hca_addr_next(hca, raw, &at, &dev, &port, &index, &ip);
}

static void subnet_ip4(const struct subnets *s, u64 n, u8 raw[16])
{
	u32 ip = htobe32(s->ip4 | (u32)n);

	gid_map_v4(raw, &ip);
}

static void subnet_ip6(const struct subnets *s, u64 n, u8 raw[16])
{
	u32 i;

	memcpy(raw, s->ip6, 16);
	for (i = 0; i < 8; i++)
		raw[15 - i] |= (u8)(n >> (8 * i));
}

/* The next free addresses, with the same number in both subnets. Return: 0 or -ENOSPC. */
static int node_next_addresses(struct fabric *f, u8 ip4[16], u8 ip6[16])
{
	const struct subnets *s = &f->nodes->subnets;
	u64 last = (1ULL << min_u32(32 - s->bits4, 128 - s->bits6)) - 2, n;

	while (f->nodes->addresses < last) {
		n = (f->nodes->spread + f->nodes->addresses++) % last + 1;
		subnet_ip4(s, n, ip4);
		subnet_ip6(s, n, ip6);
		if (!node_addr_is_taken(f->hca, ip4) && !node_addr_is_taken(f->hca, ip6))
			return 0;
	}
	return -ENOSPC;
}

static void node_set_address(struct hca_gid *g, const u8 raw[16], const struct hca_gid *host)
{
	memcpy(g->raw, raw, 16);
	g->type = host->type;
	g->valid = 1;
	g->ifindex = host->ifindex;
	memcpy(g->ndev, host->ndev, sizeof(g->ndev));
}

/* Set the addresses of the node's @nth port: GIDs for RoCE, IP addresses for InfiniBand. */
static int node_set_port_addresses(struct fabric *f, struct hca_dev *d, struct hca_port *p,
				   const struct node_spec *s, u32 nth)
{
	struct hca_gid *g = d->link_layer == LINK_ETHERNET ? p->gid : p->ip;
	struct hca_node *n = &f->hca->node[d->node];
	struct hca_gid host;
	u8 ip4[16], ip6[16];
	int ret;

	/* The interface is that of the host's first port. */
	netlink_node_gid(f, p->guid, &host);
	if (d->link_layer == LINK_ETHERNET)
		p->gid[0] = host;
	if (nth >= s->n_ip4 || nth >= s->n_ip6) {
		ret = node_next_addresses(f, ip4, ip6);
		if (ret)
			return ret;
	}
	if (nth < s->n_ip4)
		memcpy(ip4, s->ip4[nth], 16);
	if (nth < s->n_ip6)
		memcpy(ip6, s->ip6[nth], 16);
	node_set_address(&g[1], ip4, &host);
	node_set_address(&g[2], ip6, &host);
	if (nth)
		return 0;
	memcpy(n->ip4, ip4, 16);
	memcpy(n->ip6, ip6, 16);
	return 0;
}

static void node_set_ib_port(struct fabric *f, struct hca_port *p, u64 prefix)
{
	u8 port;

	netlink_gid_make(&p->gid[0], prefix, p->guid);
	p->gid[0].type = 0;
	p->sm_lid = SM_LID;
	do
		p->lid = FIRST_LID + (u32)(f->nodes->spread + f->nodes->lids++) % N_LIDS;
	while (hca_find_lid(f->hca, p->lid, &port) >= 0);
}

/* @nth: index among the node's ports. Return: 0 or -ENOSPC. */
static int node_make_port(struct fabric *f, struct hca_dev *d, u32 number, const struct profile *pr,
			  const struct node_spec *s, u32 nth)
{
	struct hca_port *p = &d->port[number];
	int ret = 0;

	p->state = PORT_ACTIVE;
	p->guid = d->guid + number - 1;
	p->max_mtu = pr->max_mtu;
	p->active_mtu = pr->active_mtu;
	memcpy(p->pkey, pr->pkey, sizeof(p->pkey));
	if (d->link_layer == LINK_INFINIBAND)
		node_set_ib_port(f, p, pr->prefix);
	if (d->node)
		ret = node_set_port_addresses(f, d, p, s, nth);
	else if (d->link_layer == LINK_INFINIBAND)
		netlink_port_ips(f, d->index, number, p->ip);
	else
		netlink_port_gids(f, d->index, number, p->gid);
	if (!p->active_mtu)
		p->active_mtu = d->link_layer == LINK_INFINIBAND
					? p->max_mtu
					: netlink_mtu_code(p->gid[0].ndev, p->max_mtu);
	return ret;
}

static void node_make_dev(struct hca_dev *d, const struct profile *pr, u64 guid)
{
	snprintf(d->name, sizeof(d->name), "%s%u", pr->dev_name, d->number);
	memcpy(d->fw, pr->fw, sizeof(d->fw));
	memcpy(d->board, pr->board, sizeof(d->board));
	d->pci_vendor = pr->pci_vendor ? pr->pci_vendor : pr->lim.vendor_id & 0xffff;
	d->guid = guid + (u64)d->number * GUIDS_PER_DEV;
	d->link_layer = pr->link_layer;
	d->speed = pr->speed;
	d->width = pr->width;
	d->lim = pr->lim;
	/* Raw packets are Ethernet frames. */
	if (d->link_layer == LINK_INFINIBAND)
		d->lim.qp_types &= ~(1u << QPT_RAW_PACKET);
	d->valid = 1;
}

int fabric_node_make(struct fabric *f, const struct node_spec *s)
{
	const struct profile *pr = s->profile ? s->profile : &f->profile;
	u32 n_devs = f->real ? 0 : s->n_devs ? s->n_devs : pr->n_devs, i, p;
	u32 n_ports = s->n_ports ? s->n_ports : pr->n_ports;
	u64 guid = node_make_guid(f, s->name);
	int node = hca_node_begin(f->hca, s->name, n_devs), ret = 0;

	if (node < 0)
		return node;
	f->hca->node[node].bits4 = f->nodes->subnets.bits4;
	f->hca->node[node].bits6 = f->nodes->subnets.bits6;
	if (max_u32(s->n_ip4, s->n_ip6) > n_devs * n_ports)
		return -EOVERFLOW;
	for (i = 0; i < s->n_ip4 + s->n_ip6; i++)
		if (node_addr_is_taken(f->hca, i < s->n_ip4 ? s->ip4[i] : s->ip6[i - s->n_ip4]))
			return -EADDRINUSE;
	for (i = 0; i < n_devs && !ret; i++) {
		struct hca_dev *d = &f->hca->dev[f->hca->node[node].first_dev + i];

		node_make_dev(d, pr, guid);
		d->n_ports = n_ports;
		for (p = 1; p <= n_ports && !ret; p++)
			ret = node_make_port(f, d, p, pr, s, i * n_ports + p - 1);
	}
	if (ret)
		return ret;
	hca_node_publish(f->hca, (u32)node);
	if (f->nodes->events && f->nodes->events->added)
		f->nodes->events->added(f);
	fabric_nodes_changed(f);
	return node;
}

int fabric_node_find_or_make(struct fabric *f, const char *name)
{
	struct node_spec s = { 0 };
	int node;

	if (!hca_node_name_ok(name))
		return -EINVAL;
	/* It has this name, too, whatever other members of a mesh call it. */
	if (f->hca->n_nodes && !strcmp(name, NODE_NAME))
		return 0;
	node = hca_node_find(f->hca, name);
	if (node >= 0)
		return f->hca->node[node].member ? -EREMOTE : node;
	snprintf(s.name, sizeof(s.name), "%s", name);
	return fabric_node_make(f, &s);
}

/* The host's addresses are the current ones of its first devices. */
static void node_host_addresses(const struct hca *hca, struct hca_node *n)
{
	const struct hca_gid *g;
	u32 d, p, i;
	u8 *to;

	memset(n->ip4, 0, sizeof(n->ip4));
	memset(n->ip6, 0, sizeof(n->ip6));
	for (d = n->n_devs; d--;)
		for (p = hca->dev[d].n_ports; p; p--)
			for (i = HCA_GIDS - 1; i; i--) {
				const struct hca_port *at = &hca->dev[d].port[p];

				g = at->ip[i].valid ? &at->ip[i] : &at->gid[i];
				to = gid_is_v4(g->raw) ? n->ip4 : n->ip6;
				if (g->valid && g->raw[0] != 0xfe)
					memcpy(to, g->raw, 16);
			}
}

int fabric_node_ask(const struct fabric *f, struct proto_msg *m)
{
	u32 at = 0, dev, port, index;
	bool ip;
	int node;

	m->ask.node[sizeof(m->ask.node) - 1] = '\0';
	if (m->ask.node[0])
		node = hca_node_find(f->hca, m->ask.node);
	else
		node = hca_addr_next(f->hca, m->ask.ip, &at, &dev, &port, &index, &ip)
			       ? (int)f->hca->dev[dev].node
			       : -ENOENT;
	if (node < 0)
		return node;
	m->node = f->hca->node[node];
	if (!node)
		node_host_addresses(f->hca, &m->node);
	return 0;
}

/* The root of a node's tree. Return: 0 or -ENAMETOOLONG. */
static int node_sysfs_root(const struct fabric *f, u32 node, char root[PATH_MAX])
{
	return statedir_node_sysfs(root, f->paths.sysfs,
				   node ? f->hca->node[node].name : NODE_NAME);
}

int fabric_node_publish(struct fabric *f, u32 node)
{
	const struct hca_node *n = &f->hca->node[node];
	char root[PATH_MAX], dir[PATH_MAX + 8];
	int ret = node_sysfs_root(f, node, root);

	if (ret)
		return ret;
	snprintf(dir, sizeof(dir), "%s/nodes", f->paths.sysfs);
	if (node && mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	ret = sysfs_build(root, &f->hca->dev[n->first_dev], n->n_devs);
	f->nodes->shown[node].tree = !ret;
	return ret;
}

int fabric_node_use(struct fabric *f, const char *name)
{
	int node = fabric_node_find_or_make(f, name[0] ? name : NODE_NAME), ret = 0;

	if (node < 0)
		return node;
	if (!f->nodes->shown[node].tree)
		ret = fabric_node_publish(f, (u32)node);
	else
		fabric_node_publish_counters(f, (u32)node);
	return ret ? ret : node;
}

void fabric_node_publish_counters(struct fabric *f, u32 node)
{
	const struct hca_node *n = &f->hca->node[node];
	static struct hca_dev devs[PROFILE_MAX_DEVS];
	char root[PATH_MAX];
	u64 sum = 0;
	u32 d, p, i;
	int ret;

	for (d = 0; d < n->n_devs; d++) {
		hca_dev_snapshot(f->hca, n->first_dev + d, &devs[d]);
		for (p = 1; p <= devs[d].n_ports; p++)
			for (i = 0; i < CNT_COUNT; i++)
				sum += devs[d].port[p].counters[i];
	}
	if (sum == f->nodes->shown[node].counted)
		return;
	f->nodes->shown[node].counted = sum;
	ret = node_sysfs_root(f, node, root);
	if (!ret)
		ret = sysfs_counters(root, devs, n->n_devs);
	if (ret)
		fabric_note(f, "%s: %s", f->paths.sysfs, strerror(-ret));
}
