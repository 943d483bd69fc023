/* SPDX-License-Identifier: MIT */
/**
 * DOC: routes of connection management: the path of an identifier, found by rdma_resolve_route(3)
 * or set by the program.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

/* 4.096 us * 2^n: the kernel's value for RoCE, and the usual one of subnet managers. */
#define ROCE_LIFETIME 16u
#define IB_LIFETIME   18u

/* struct ibv_path_data: flags of its only path; then the offsets in struct ibv_path_record. */
#define PATH_FLAGS 0x2bu /* GMP, primary, outbound and inbound reverse */
enum path_rec {
	PATH_DGID = 8 + 8,
	PATH_DLID = 8 + 40,
	PATH_FLOW_HOP = 8 + 44,
	PATH_TCLASS = 8 + 48,
	PATH_PKEY = 8 + 50,
	PATH_SL = 8 + 53,
	PATH_MTU = 8 + 54, /* with a selector in the two upper bits, as the next two */
	PATH_RATE = 8 + 55,
	PATH_LIFETIME = 8 + 56,
};

static bool cm_is_roce(const struct hca *hca, const struct hca_cmid *id)
{
	return hca->dev[id->bound - 1].link_layer == LINK_ETHERNET;
}

/* enum ibv_rate of an InfiniBand port: the highest one that does not exceed it. */
static u8 cm_port_rate(const struct hca_dev *d)
{
	static const struct {
		u32 mbps;
		u8 rate;
	} rates[] = { { 2500, 2 },    { 5000, 5 },    { 10000, 3 },   { 14000, 11 },
		      { 20000, 6 },   { 25000, 15 },  { 28000, 19 },  { 30000, 4 },
		      { 40000, 7 },   { 50000, 20 },  { 56000, 12 },  { 60000, 8 },
		      { 80000, 9 },   { 100000, 16 }, { 112000, 13 }, { 120000, 10 },
		      { 168000, 14 }, { 200000, 17 }, { 300000, 18 }, { 400000, 21 },
		      { 600000, 22 }, { 800000, 23 }, { 1200000, 24 } };
	static const u32 lane[] = { 2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000 };
	u32 width = d->width == WIDTH_2X ? 2 : d->width == WIDTH_1X ? 1 : d->width * 2;
	u32 i, mbps = 0;

	if (d->width == WIDTH_12X)
		width = 12;
	for (i = 0; i < ARRAY_SIZE(lane); i++)
		if (d->speed & 1u << i)
			mbps = lane[i] * width;
	for (i = ARRAY_SIZE(rates) - 1; i && rates[i].mbps > mbps; i--)
		;
	return rates[i].rate;
}

void cm_path_get(const struct hca *hca, const struct hca_cmid *id, struct cm_route *r)
{
	const struct hca_port *p = &hca->dev[id->bound - 1].port[id->port];

	memcpy(r->sgid, p->gid[id->sgid_index].raw, sizeof(r->sgid));
	memcpy(r->dgid, id->av.dgid, sizeof(r->dgid));
	r->sgid_index = id->sgid_index;
	r->pkey = cm_is_roce(hca, id) ? IB_DEFAULT_PKEY : p->pkey[0];
	r->slid = (u16)p->lid;
	if (!id->mtu)
		return;
	r->dlid = id->av.dlid;
	r->pkey = (u16)id->pkey;
	r->sl = id->av.sl;
	r->mtu = (u8)id->mtu;
	r->rate = id->av.static_rate;
	r->packet_lifetime = id->passive ? id->timeout - !!id->timeout : id->lifetime;
	r->hop_limit = id->av.hop_limit;
	r->traffic_class = id->av.traffic_class;
	r->flow_label = id->av.flow_label;
}

static void cm_path_resolve(const struct hca *hca, struct hca_cmid *id)
{
	const struct hca_dev *d = &hca->dev[id->bound - 1];
	struct hca_av *av = &id->av;

	id->pkey = d->port[id->port].pkey[0];
	id->lifetime = IB_LIFETIME;
	av->static_rate = cm_port_rate(d);
	if (cm_is_roce(hca, id)) {
		id->pkey = IB_DEFAULT_PKEY;
		id->lifetime = ROCE_LIFETIME;
		if ((id->opt & CM_OPT_ACK_TIMEOUT_SET) && id->ack_timeout)
			id->lifetime = (u8)(id->ack_timeout - 1);
		av->static_rate = 0; /* unlimited: the port's own rate */
		/* The UDP source port of the connection's packets is derived from it. */
		av->flow_label = (id->src.port * 31u + id->dst.port) & 0xfffff;
	}
	if (id->opt & CM_OPT_TOS_SET)
		av->traffic_class = id->tos;
	id->mtu = d->port[id->port].active_mtu;
}

int cmd_cm_resolve_route(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);

	if (!id || id->state != CM_ADDR_RESOLVED || !cmd->cm.timeout_ms)
		return -EINVAL;
	if (unlikely(cmd->cm.fail < 0)) {
		journal_cm_errno(e, id, CM_EV_ROUTE_ERROR, cmd->cm.fail, true);
		cm_event_raise_status(e, id, CM_ADDR_RESOLVED, CMP_IDLE, CM_EV_ROUTE_ERROR,
				      cmd->cm.fail);
		return 0;
	}
	cm_path_resolve(e->hca, id);
	cm_event_raise_status(e, id, CM_ROUTE_RESOLVED, CMP_IDLE, CM_EV_ROUTE_RESOLVED, 0);
	return 0;
}

static u32 path_rec_be(const u8 *p, u32 n)
{
	u32 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* Find the destination of the program's path: by its GID, or within the subnet by its LID. */
static void cm_path_set_dest(struct hca *hca, struct hca_cmid *id, const u8 *rec)
{
	const u8 *sgid = hca->dev[id->bound - 1].port[id->port].gid[id->sgid_index].raw;
	struct hca_av *av = &id->av;
	int dst;

	memcpy(av->dgid, rec + PATH_DGID, sizeof(av->dgid));
	av->dlid = (u16)path_rec_be(rec + PATH_DLID, 2);
	dst = cm_is_roce(hca, id) ? hca_find_gid(hca, av->dgid, &av->dst_port)
				  : hca_find_lid(hca, av->dlid, &av->dst_port);
	if (dst < 0 && cm_is_roce(hca, id))
		dst = hca_peer_route(hca, id->client - 1, sgid, av->dgid, &av->dst_port);
	if (dst >= 0 && !hca_peer_claim(hca, id->client - 1, (u32)dst))
		dst = -1;
	av->dst_dev = dst < 0 ? ~0u : (u32)dst;
}

int cm_path_set(struct engine *e, struct hca_cmid *id, const u8 *data, u32 len)
{
	struct hca_av *av = &id->av;
	u32 flags, flow;

	if (!id->bound || !len || len % CM_PATH_DATA)
		return -EINVAL;
	for (;; data += CM_PATH_DATA, len -= CM_PATH_DATA) {
		if (!len)
			return -EINVAL;
		memcpy(&flags, data, sizeof(flags));
		if (flags == PATH_FLAGS)
			break;
	}
	if (id->state != CM_ADDR_RESOLVED)
		return -EINVAL;
	cm_path_set_dest(e->hca, id, data);
	flow = path_rec_be(data + PATH_FLOW_HOP, 4);
	av->flow_label = flow >> 8 & 0xfffff;
	av->hop_limit = (u8)flow;
	av->traffic_class = data[PATH_TCLASS];
	av->sl = data[PATH_SL] & 0xf;
	av->static_rate = data[PATH_RATE] & 0x3f;
	id->pkey = path_rec_be(data + PATH_PKEY, 2);
	id->lifetime = data[PATH_LIFETIME] & 0x1f;
	id->mtu = data[PATH_MTU] & 0x3f;
	/* The port's MTU if the record has none, or an invalid one. */
	if (!id->mtu || id->mtu > 5)
		id->mtu = e->hca->dev[id->bound - 1].port[id->port].active_mtu;
	cm_event_raise_status(e, id, CM_ROUTE_RESOLVED, CMP_IDLE, CM_EV_ROUTE_RESOLVED, 0);
	return 0;
}
