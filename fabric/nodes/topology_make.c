/* SPDX-License-Identifier: MIT */
/** DOC: making the nodes of a topology. No client is served yet, so no token is needed. */
#include "fabric/nodes/ports.h"

#include <stdio.h>

static const char *topology_node_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "the host or another node has one of its addresses";
	case -EOVERFLOW:
		return "it has more addresses than ports";
	case -ENOSPC:
		return "no room for its devices, or the subnet has no address left";
	}
	return strerror(-err);
}

static const char *topology_port_error(int err)
{
	switch (err) {
	case -ENODEV:
		return "there is no such device or port";
	case -EOPNOTSUPP:
		return "only ports with link layer InfiniBand have LIDs";
	case -ERANGE:
		return "the ports have smaller tables";
	case -ENOTUNIQ:
		return "a LID belongs to one port: name it by --node, --device and --port";
	case -EADDRINUSE:
		return "another port has that LID";
	}
	return strerror(-err);
}

/* Nodes with given addresses come first: the others get free ones. */
static int topology_make_nodes(struct fabric *f, const struct topology *t, bool told, char *why,
			       size_t size)
{
	u32 i;
	int ret;

	for (i = 0; i < t->n_nodes; i++) {
		if ((t->node[i].n_ip4 || t->node[i].n_ip6) != told)
			continue;
		ret = fabric_node_make(f, &t->node[i]);
		if (ret >= 0)
			continue;
		snprintf(why, size, "%s:%d: node %s: %s", t->file, t->node_line[i], t->node[i].name,
			 topology_node_error(ret));
		return ret;
	}
	return 0;
}

int topology_apply(struct fabric *f, const struct topology *t, char *why, size_t size)
{
	int ret = topology_make_nodes(f, t, true, why, size);
	u32 i;

	if (!ret)
		ret = topology_make_nodes(f, t, false, why, size);
	for (i = 0; !ret && i < t->n_ports; i++) {
		ret = fabric_port_change(f, &t->port[i].change);
		if (ret)
			snprintf(why, size, "%s:%d: %s", t->file, t->port[i].line,
				 topology_port_error(ret));
	}
	return ret;
}
