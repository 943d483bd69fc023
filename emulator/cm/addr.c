/* SPDX-License-Identifier: MIT */
/**
 * DOC: addresses of connection management: which port of which device has an address, and how an
 * identifier is bound to it.
 *
 * Known addresses are those in the ports' GID tables. RoCE ports have the IP addresses of their
 * interfaces. InfiniBand ports have the link-local address that IPoIB makes of a port's GUID, which
 * is its GID, and the addresses of the host's interfaces, which stand for IPoIB's. No port has a
 * loopback address: the rdma_cm treats it as a wildcard and, as a destination, as the first active
 * port of the node.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

static const struct hca_gid *cm_place_entry(const struct hca *hca, const struct cm_place *at)
{
	const struct hca_port *p = &hca->dev[at->dev].port[at->port];

	return at->ip ? &p->ip[at->ip - 1] : &p->gid[at->index];
}

const u8 *cm_place_gid(const struct hca *hca, const struct cm_place *at)
{
	return hca->dev[at->dev].port[at->port].gid[at->index].raw;
}

typedef bool (*gid_wanted)(const struct hca_dev *d, const struct hca_gid *g, u32 index,
			   const struct cm_addr *a);

static bool cm_gid_is_addr(const struct hca_dev *d, const struct hca_gid *g, u32 index,
			   const struct cm_addr *a)
{
	(void)d;
	(void)index;
	return gid_is_v4(g->raw) == (a->family == CM_AF_INET) &&
	       !memcmp(g->raw, a->ip, sizeof(a->ip));
}

/* Likewise; a link-local address must be on the interface that it was given with. */
static bool cm_gid_is_scoped_addr(const struct hca_dev *d, const struct hca_gid *g, u32 index,
				  const struct cm_addr *a)
{
	if (cm_addr_is_linklocal(a) && a->scope && g->ifindex && g->ifindex != a->scope)
		return false;
	return cm_gid_is_addr(d, g, index, a);
}

/* A source address for @a. The default GID of a RoCE port is no interface's address. */
static bool cm_gid_can_reach(const struct hca_dev *d, const struct hca_gid *g, u32 index,
			     const struct cm_addr *a)
{
	bool local = g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;

	if (gid_is_v4(g->raw) != (a->family == CM_AF_INET))
		return false;
	return !local || cm_addr_is_linklocal(a) || index || d->link_layer == LINK_INFINIBAND;
}

/* The first matching entry of a port: interfaces' addresses come before other GIDs. */
static bool cm_find_gid_on_port(const struct hca *hca, u32 dev, u32 port, const struct cm_addr *a,
				gid_wanted wanted, struct cm_place *at)
{
	const struct hca_dev *d = &hca->dev[dev];
	const struct hca_port *p = &d->port[port];
	u32 i;

	*at = (struct cm_place){ dev, (u8)port, 0, 0 };
	for (i = 0; i < HCA_GIDS; i++)
		if (p->ip[i].valid && wanted(d, &p->ip[i], i, a)) {
			at->ip = (u8)(i + 1);
			return true;
		}
	for (i = 0; i < HCA_GIDS; i++)
		if (p->gid[i].valid && wanted(d, &p->gid[i], i, a)) {
			at->index = (u8)i;
			return true;
		}
	return false;
}

/* The node's first matching table entry; active ports come first. */
static bool cm_find_gid(const struct hca *hca, u32 node, const struct cm_addr *a, gid_wanted wanted,
			struct cm_place *at)
{
	const struct hca_node *n = &hca->node[node];
	u32 down, d, p;

	for (down = 0; down < 2; down++)
		for (d = n->first_dev; d < n->first_dev + n->n_devs; d++)
			for (p = 1; p <= hca->dev[d].n_ports; p++)
				if ((hca->dev[d].port[p].state != PORT_ACTIVE) == down &&
				    cm_find_gid_on_port(hca, d, p, a, wanted, at))
					return true;
	return false;
}

bool cm_place_find(const struct hca *hca, const struct cm_addr *a, struct cm_place *at)
{
	u32 link = 0, dev, port, index, order, best = ~0u;
	bool ip;

	if (gid_is_v4(a->ip) != (a->family == CM_AF_INET))
		return false;
	/* The order of cm_find_gid(): active ports first, and interfaces' addresses first. */
	while (hca_addr_next(hca, a->ip, &link, &dev, &port, &index, &ip)) {
		order = (u32)(hca->dev[dev].port[port].state != PORT_ACTIVE) << 31 |
			hca_addr_number(dev, port, !ip, index);
		if (order >= best)
			continue;
		best = order;
		*at = (struct cm_place){ dev, (u8)port, ip ? 0 : (u8)index,
					 ip ? (u8)(index + 1) : 0 };
	}
	return best != ~0u;
}

/* Any entry, preferably one of the address's family. */
static bool cm_find_loopback(const struct hca *hca, u32 node, const struct cm_addr *a,
			     struct cm_place *at)
{
	const struct hca_node *own = &hca->node[node];
	const struct hca_port *p;
	u32 d, n, down, g;

	for (down = 0; down < 2; down++)
		for (d = own->first_dev; d < own->first_dev + own->n_devs; d++)
			for (n = 1; n <= hca->dev[d].n_ports; n++) {
				p = &hca->dev[d].port[n];
				if ((p->state != PORT_ACTIVE) != down)
					continue;
				*at = (struct cm_place){ d, (u8)n, 0, 0 };
				for (g = 0; g < HCA_GIDS; g++)
					if (p->gid[g].valid &&
					    cm_gid_can_reach(&hca->dev[d], &p->gid[g], g, a)) {
						at->index = (u8)g;
						break;
					}
				return true;
			}
	return false;
}

static bool cm_dev_has_ip(const struct hca_dev *d)
{
	u32 p, i;

	if (d->link_layer == LINK_ETHERNET)
		return true;
	for (p = 1; p <= d->n_ports; p++)
		for (i = 0; i < HCA_GIDS; i++)
			if (d->port[p].ip[i].valid)
				return true;
	return false;
}

/* Without an Ethernet port or an interface the node has no device for IP addresses. */
static bool cm_node_has_ip(const struct hca *hca, u32 node)
{
	const struct hca_node *n = &hca->node[node];
	u32 d;

	for (d = n->first_dev; d < n->first_dev + n->n_devs; d++)
		if (cm_dev_has_ip(&hca->dev[d]))
			return true;
	return false;
}

void cm_bind_to(struct hca_cmid *id, const struct cm_place *at)
{
	id->bound = at->dev + 1;
	id->port = at->port;
	id->sgid_index = at->index;
}

int cm_bind_device(struct hca *hca, struct hca_cmid *id)
{
	const struct cm_addr *a = &id->src;
	struct cm_place at;
	bool found;

	if (cm_addr_is_any(a))
		found = cm_find_loopback(hca, id->node, a, &at);
	else
		found = cm_find_gid(hca, id->node, a, cm_gid_is_scoped_addr, &at);
	if (found)
		cm_bind_to(id, &at);
	else if (cm_addr_is_any(a) || cm_addr_is_linklocal(a) || !cm_node_has_ip(hca, id->node))
		return -ENODEV;
	return found ? 0 : -EADDRNOTAVAIL;
}

static bool cm_addr_is_ip(const struct cm_addr *a)
{
	return a->family == CM_AF_INET || a->family == CM_AF_INET6;
}

int cm_bind_addr(struct hca *hca, struct hca_cmid *id, const struct cm_addr *src,
		 const struct cm_addr *dst)
{
	int ret = 0;

	if (!cm_addr_is_ip(src))
		return -EAFNOSUPPORT;
	if (id->state != CM_IDLE || (cm_addr_is_linklocal(src) && !src->scope))
		return -EINVAL;
	id->src = *src;
	if (!cm_addr_is_any(src))
		ret = cm_bind_device(hca, id);
	/* As with sockets: by default IPv4 binds IPv4 only, IPv6 binds both. */
	if (!(id->opt & CM_OPT_AFONLY_SET))
		id->opt = (id->opt & ~(u32)CM_OPT_AFONLY) |
			  (src->family == CM_AF_INET ? CM_OPT_AFONLY : 0);
	id->dst = dst ? *dst : (struct cm_addr){ .family = src->family };
	if (!ret)
		ret = cm_port_reserve(hca, id);
	if (ret) {
		id->bound = id->port = id->sgid_index = 0;
		memset(&id->src, 0, sizeof(id->src));
		memset(&id->dst, 0, sizeof(id->dst));
		return ret;
	}
	id->state = CM_ADDR_BOUND;
	return 0;
}

int cmd_cm_bind(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);

	return id ? cm_bind_addr(e->hca, id, &cmd->cm.src, NULL) : -EINVAL;
}

static u32 cm_common_bits(const u8 a[16], const u8 b[16])
{
	u32 i = 0;

	while (i < 128 && !((a[i / 8] ^ b[i / 8]) & 0x80 >> i % 8))
		i++;
	return i;
}

/*
 * The node's wire to a host outside. The netmask of its interface is not known here: the wire with
 * the most leading bits in common is the one on the host's network, if there is one.
 */
static bool cm_find_wire(const struct hca *hca, u32 node, const struct cm_addr *a,
			 struct cm_place *at)
{
	struct cm_addr wire = *a;
	u32 i, bits, best = 0;
	struct cm_place here;

	for (i = 0; i < hca->wires.n && i < HCA_WIRES; i++) {
		memcpy(wire.ip, hca->wires.gid[i], sizeof(wire.ip));
		bits = cm_common_bits(wire.ip, a->ip) + 1;
		if (bits <= best || !cm_find_gid(hca, node, &wire, cm_gid_is_addr, &here))
			continue;
		best = bits;
		*at = here;
	}
	return best;
}

/* Whether a node of the fabric has the address. A peer has that of a host outside. */
static bool cm_place_is_inside(const struct hca *hca, const struct cm_addr *a)
{
	struct cm_place at;

	return cm_place_find(hca, a, &at) && !hca_dev_is_peer(hca, at.dev);
}

/*
 * Choose the source address of a route to @id->dst. Return: 0 or -errno, of the call; *status: of
 * the event.
 */
static int cm_resolve_source(struct hca *hca, struct hca_cmid *id, s32 *status)
{
	const struct hca_gid *g;
	struct cm_place at;
	bool found = false;

	*status = 0;
	if (id->bound)
		return 0;
	if (cm_addr_is_any(&id->dst))
		return cm_bind_device(hca, id);
	/*
	 * A destination on this node is its own source; otherwise take the first address that fits.
	 */
	if (!cm_addr_is_mcast(&id->dst))
		found = cm_find_gid(hca, id->node, &id->dst, cm_gid_is_addr, &at);
	if (!found && !cm_addr_is_mcast(&id->dst) && !cm_place_is_inside(hca, &id->dst))
		found = cm_find_wire(hca, id->node, &id->dst, &at);
	if (!found)
		found = cm_find_gid(hca, id->node, &id->dst, cm_gid_can_reach, &at);
	if (!found && cm_node_has_ip(hca, id->node))
		return -ENETUNREACH;
	*status = found ? 0 : -ENODEV;
	if (!found)
		return 0;
	cm_bind_to(id, &at);
	g = cm_place_entry(hca, &at);
	memcpy(id->src.ip, g->raw, sizeof(id->src.ip));
	id->src.scope = cm_addr_is_linklocal(&id->src) ? g->ifindex : 0;
	return 0;
}

int cmd_cm_find_addr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct cm_addr *a = &cmd->cm.dst;
	struct hca *hca = e->hca;
	struct journal_entry j;
	struct cm_place at;
	bool found;

	if (!cm_addr_is_ip(a))
		return -EAFNOSUPPORT;
	found = cm_addr_is_any(a) ? cm_find_loopback(hca, hca->client[client].node, a, &at)
				  : cm_place_find(hca, a, &at) && !hca_dev_is_peer(hca, at.dev);
	if (!found)
		return hca->wires.n ? -EHOSTUNREACH : -ENOENT;
	if (!(cmd->cm.flags & CM_FIND_REAL_TOO))
		return 0;
	j = journal_of_client(hca, client, 0, JRN_AMBIGUOUS, 0, 0);
	j.dev = at.dev;
	j.port = at.port;
	journal_add(e, &j);
	return 0;
}

static void cm_addr_set_loopback(struct cm_addr *a)
{
	static const u8 v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
	static const u8 v6[16] = { [15] = 1 };

	memcpy(a->ip, a->family == CM_AF_INET ? v4 : v6, sizeof(a->ip));
}

/* A host outside of the fabric has the address @id->dst: the identifier's own is that of a wire. */
static bool cm_place_find_peer(struct hca *hca, const struct hca_cmid *id, struct cm_place *at)
{
	const u8 *sgid = hca->dev[id->bound - 1].port[id->port].gid[id->sgid_index].raw;
	int dev;

	if (gid_is_v4(sgid) != gid_is_v4(id->dst.ip))
		return false;
	*at = (struct cm_place){ 0 };
	dev = hca_peer_route(hca, id->client - 1, sgid, id->dst.ip, &at->port);
	at->dev = (u32)dev;
	return dev >= 0;
}

/* Find @id->dst from the port that the identifier is bound to. Return: status of the event. */
static s32 cm_resolve_destination(struct hca *hca, struct hca_cmid *id)
{
	const struct hca_dev *d = &hca->dev[id->bound - 1];
	struct cm_place at = { id->bound - 1, id->port, id->sgid_index, 0 };
	struct hca_av av = { .port_num = id->port,
			     .sgid_index = id->sgid_index,
			     .dst_dev = ~0u,
			     .is_global = d->link_layer == LINK_ETHERNET,
			     .traffic_class = id->tos };

	if (av.is_global)
		av.hop_limit = 64;
	if (cm_addr_is_mcast(&id->dst)) {
		cm_mcast_gid(hca, id, &id->dst, av.dgid);
		av.is_global = 1;
		id->av = av;
		return 0;
	}
	if (!cm_addr_is_any(&id->dst) && !cm_place_find(hca, &id->dst, &at) &&
	    !cm_place_find_peer(hca, id, &at))
		return -ETIMEDOUT;
	if (!hca_peer_claim(hca, id->client - 1, at.dev))
		return -ETIMEDOUT;
	if (hca->dev[at.dev].link_layer != d->link_layer)
		return -ENODEV;
	memcpy(av.dgid, cm_place_gid(hca, &at), sizeof(av.dgid));
	av.dst_dev = at.dev;
	av.dst_port = at.port;
	av.dlid = (u16)hca->dev[at.dev].port[at.port].lid;
	id->av = av;
	return 0;
}

int cmd_cm_resolve_addr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	struct cm_addr src = cmd->cm.src, dst = cmd->cm.dst;
	s32 status;
	int ret;

	if (!id)
		return -EINVAL;
	if (!cm_addr_is_ip(&dst))
		return -EAFNOSUPPORT;
	if (id->state == CM_IDLE) {
		if (!src.family) {
			src = (struct cm_addr){ .family = dst.family, .scope = dst.scope };
			if (src.family == CM_AF_INET)
				src.ip[10] = src.ip[11] = 0xff;
		}
		ret = cm_bind_addr(hca, id, &src, &dst);
		if (ret)
			return ret;
	}
	if (id->state != CM_ADDR_BOUND || id->src.family != dst.family)
		return -EINVAL;
	id->dst = dst;
	ret = cm_resolve_source(hca, id, &status);
	if (ret)
		return ret;
	if (!status)
		status = cm_resolve_destination(hca, id);
	if (unlikely(cmd->cm.fail < 0))
		status = cmd->cm.fail;
	if (!status && cm_addr_is_any(&dst) && cm_addr_is_any(&id->src))
		cm_addr_set_loopback(&id->src);
	if (status) {
		journal_cm_errno(e, id, CM_EV_ADDR_ERROR, status, cmd->cm.fail < 0);
		cm_event_raise_status(e, id, CM_ADDR_BOUND, CMP_IDLE, CM_EV_ADDR_ERROR, status);
	} else {
		cm_event_raise_status(e, id, CM_ADDR_RESOLVED, CMP_IDLE, CM_EV_ADDR_RESOLVED, 0);
	}
	return 0;
}
