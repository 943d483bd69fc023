/* SPDX-License-Identifier: MIT */
/**
 * DOC: addresses and routes of identifiers, and their public fields.
 *
 * As with the kernel, GIDs on Ethernet are made of the addresses, and there is no P_Key before
 * there is a path.
 */
#include "libshim/cm/addr.h"

#include "emulator/cm/cm.h"
#include "emulator/cm/cmd.h"
#include "emulator/ib.h"
#include "emulator/verbs/cmd.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>

socklen_t ucma_addr_len(const struct sockaddr *sa)
{
	if (!sa)
		return 0;
	switch (sa->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

void ucma_addr_from_sa(struct cm_addr *a, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

	memset(a, 0, sizeof(*a));
	if (!ucma_addr_len(sa))
		return;
	a->family = sa->sa_family;
	if (a->family == AF_INET) {
		a->port = ntohs(in->sin_port);
		gid_map_v4(a->ip, &in->sin_addr);
	} else {
		a->port = ntohs(in6->sin6_port);
		a->scope = in6->sin6_scope_id;
		memcpy(a->ip, &in6->sin6_addr, sizeof(a->ip));
	}
}

void ucma_addr_to_sa(struct sockaddr_storage *sa, const struct cm_addr *a)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;
	struct sockaddr_in *in = (struct sockaddr_in *)sa;

	if (a->family == AF_INET) {
		memset(in, 0, sizeof(*in));
		in->sin_family = AF_INET;
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->ip + 12, sizeof(in->sin_addr));
	} else if (a->family == AF_INET6) {
		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(a->port);
		in6->sin6_scope_id = a->scope;
		memcpy(&in6->sin6_addr, a->ip, sizeof(in6->sin6_addr));
	}
}

/* Note the device that the identifier is bound to by now. Return: 0, or -1 with errno. */
static int id_bind_device(struct ucma_id *c, const struct cmd_cm *q)
{
	struct ucma_dev *dev;

	if (c->dev || !q->dev)
		return 0;
	dev = ucma_dev_get(q->dev - 1);
	if (!dev)
		return -1;
	pthread_mutex_lock(&objs_lock);
	c->dev = dev;
	pthread_mutex_unlock(&objs_lock);
	c->id.verbs = dev->verbs;
	c->id.pd = dev->pd;
	c->id.port_num = (u8)q->port;
	return 0;
}

static bool is_ethernet_id(const struct ucma_id *c)
{
	struct ibv_port_attr attr;

	return shim_query_port(c->id.verbs, c->id.port_num, &attr, sizeof(attr)) ||
	       attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static int id_query(struct ucma_id *c, struct hca_cmd *cmd)
{
	struct rdma_addr *addr = &c->id.route.addr;
	const struct cmd_cm *q = &cmd->cm;

	memset(cmd, 0, sizeof(*cmd));
	if (ucma_id_cmd(c, CMD_CM_QUERY, cmd))
		return -1;
	ucma_addr_to_sa(&addr->src_storage, &q->src);
	ucma_addr_to_sa(&addr->dst_storage, &q->dst);
	if (id_bind_device(c, q))
		return -1;
	if (!c->dev)
		return 0;
	memcpy(addr->addr.ibaddr.sgid.raw, q->route.sgid, sizeof(q->route.sgid));
	memcpy(addr->addr.ibaddr.dgid.raw, q->route.dgid, sizeof(q->route.dgid));
	if (!is_ethernet_id(c))
		addr->addr.ibaddr.pkey = htobe16(q->route.pkey);
	return 0;
}

int ucma_query_addr(struct ucma_id *c)
{
	struct hca_cmd cmd;

	return id_query(c, &cmd);
}

#define SELECT_EXACTLY 2

static void path_from_route(struct ibv_sa_path_rec *p, const struct cm_route *r)
{
	memcpy(p->sgid.raw, r->sgid, sizeof(r->sgid));
	memcpy(p->dgid.raw, r->dgid, sizeof(r->dgid));
	p->slid = htobe16(r->slid);
	p->dlid = htobe16(r->dlid);
	p->flow_label = htobe32(r->flow_label);
	p->hop_limit = r->hop_limit;
	p->traffic_class = r->traffic_class;
	p->reversible = 1;
	p->numb_path = 1;
	p->pkey = htobe16(r->pkey);
	p->sl = r->sl;
	p->mtu_selector = SELECT_EXACTLY;
	p->mtu = r->mtu;
	p->rate_selector = SELECT_EXACTLY;
	p->rate = r->rate;
	p->packet_life_time_selector = SELECT_EXACTLY;
	p->packet_life_time = r->packet_lifetime;
	p->preference = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
}

int ucma_query_route(struct ucma_id *c)
{
	struct rdma_route *route = &c->id.route;
	struct ibv_sa_path_rec *path;
	struct hca_cmd cmd;

	if (id_query(c, &cmd))
		return -1;
	if (!cmd.cm.n_paths)
		return 0;
	path = calloc(1, sizeof(*path));
	if (!path)
		return -1;
	path_from_route(path, &cmd.cm.route);
	free(route->path_rec);
	route->path_rec = path;
	route->num_paths = 1;
	return 0;
}

static __be16 sa_port(const struct sockaddr *sa)
{
	switch (sa->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)sa)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)sa)->sin6_port;
	default:
		return 0;
	}
}

/** rdma_get_src_port() - rdma_get_src_port(3). Return: port in network order, 0: not bound. */
SHIM_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return sa_port(&id->route.addr.src_addr);
}

/** rdma_get_dst_port() - rdma_get_dst_port(3). Return: port in network order, 0: not connected. */
SHIM_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return sa_port(&id->route.addr.dst_addr);
}
