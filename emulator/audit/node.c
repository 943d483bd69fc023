/* SPDX-License-Identifier: MIT */
/**
 * DOC: the audit of nodes: their devices are contiguous, and lookups find every name and address.
 */
#include "emulator/audit/audit.h"
#include "emulator/port.h"

static int audit_addr(struct audit *a, u32 dev, u32 port, bool ip, u32 index)
{
	const struct hca_port *p = &a->hca->dev[dev].port[port];
	const struct hca_gid *g = ip ? &p->ip[index] : &p->gid[index], *at = NULL;
	u32 link = 0, d, n, i;
	bool is_ip;

	if (!g->valid)
		return 0;
	while ((at = hca_addr_next(a->hca, g->raw, &link, &d, &n, &i, &is_ip)) && at != g)
		;
	MUST(at, "device %u port %u: %s %u is not found", dev, port, ip ? "address" : "GID", index);
	return 0;
}

static int audit_node_port(struct audit *a, u32 dev, u32 port)
{
	u32 lid = a->hca->dev[dev].port[port].lid, i;
	int ret = 0;
	u8 at;

	MUST(!lid || hca_find_lid(a->hca, lid, &at) >= 0, "LID %u is not found", lid);
	for (i = 0; !ret && i < 2 * HCA_GIDS; i++)
		ret = audit_addr(a, dev, port, i >= HCA_GIDS, i % HCA_GIDS);
	return ret;
}

static int audit_node(struct audit *a, u32 i)
{
	const struct hca_node *n = &a->hca->node[i];
	u32 d, p;
	int ret = 0;

	MUST(memchr(n->name, 0, sizeof(n->name)) && hca_node_name_ok(n->name), "node %u: its name",
	     i);
	MUST(hca_node_find(a->hca, n->name) == (int)i, "node %s is not found", n->name);
	for (d = n->first_dev; d < n->first_dev + n->n_devs; d++) {
		const struct hca_dev *dev = &a->hca->dev[d];

		MUST(dev->node == i && dev->index == d && dev->number == d - n->first_dev,
		     "device %u: number %u of node %u", d, dev->number, dev->node);
		for (p = 1; !ret && p <= dev->n_ports; p++)
			ret = audit_node_port(a, d, p);
	}
	return ret;
}

int audit_nodes(struct audit *a)
{
	u32 i, devs = 0;
	int ret = 0;

	MUST(a->hca->n_nodes <= HCA_MAX_NODES, "%u nodes", a->hca->n_nodes);
	for (i = 0; !ret && i < a->hca->n_nodes; i++) {
		MUST(a->hca->node[i].first_dev == devs, "node %u: device %u", i,
		     a->hca->node[i].first_dev);
		devs += a->hca->node[i].n_devs;
		MUST(devs <= a->hca->n_devs, "node %u: %u devices", i, a->hca->n_devs);
		ret = audit_node(a, i);
	}
	MUST(ret || devs == a->hca->n_devs, "%u devices, of nodes %u", a->hca->n_devs, devs);
	return ret;
}
