/* SPDX-License-Identifier: MIT */
/**
 * DOC: address handles and multicast groups.
 */
#include "emulator/av.h"
#include "emulator/hca_port.h"
#include "emulator/limits.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/rpc.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/ahn.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#include <arpa/inet.h>
#include <endian.h>

/** ibv_create_ah() - ibv_create_ah(3). Return: AH, or NULL with errno. */
SHIM_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct shim_context *ctx = shim_pd_of(pd, NULL) ? shim_context_of(pd->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_CREATE_AH };
	struct shim_ah *ah;

	if (call_fails(CALL_ibv_create_ah))
		return NULL;
	if (!ctx)
		return fail_null(-shim_unknown(pd));
	cmd.ah.pd = pd->handle;
	shim_av_from_ah(&cmd.ah.av, attr);
	ah = shim_obj_new(ctx, sizeof(*ah), &cmd);
	if (!ah)
		return NULL;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = cmd.handle;
	ah->magic = MAGIC_AH;
	if (lim_is_efa(&ctx->dev->info.lim))
		ah->ahn = shim_ahn_get(ctx, cmd.ah.av.dgid);
	return &ah->ah;
}

/** ibv_destroy_ah() - ibv_create_ah(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_destroy_ah, (struct ibv_ah * ibah), (ibah))
{
	struct shim_ah *ah = (struct shim_ah *)ibah;
	struct shim_context *ctx =
		ah && ah->magic == MAGIC_AH ? shim_context_of(ibah->context) : NULL;

	if (call_fails(CALL_ibv_destroy_ah))
		return errno;
	if (!ctx)
		return shim_unknown(ibah);
	shim_sends_settle(ANY_UD_SLOT);
	if (lim_is_efa(&ctx->dev->info.lim))
		shim_ahn_put(ctx, ah->ahn);
	return shim_obj_end(ctx, ah, &ah->magic, CMD_DESTROY_AH, ibah->handle);
}

/* The index of a GID in the port's table, or -1. */
static int port_find_gid(const struct hca_port *p, const u8 gid[16])
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++)
		if (p->gid[i].valid && !memcmp(p->gid[i].raw, gid, 16))
			return (int)i;
	return -1;
}

/* The index of the port's first GID of that family, or 0. */
static u32 port_find_family(const struct hca_port *p, bool v4)
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++)
		if (p->gid[i].valid && gid_is_v4(p->gid[i].raw) == v4)
			return i;
	return 0;
}

/* The addresses of a GRH: an IPv4 header occupies its last 20 bytes. */
static void grh_parse(const struct ibv_grh *grh, u8 sgid[16], u8 dgid[16], u32 *flow)
{
	const u8 *ip = (const u8 *)grh + 20;

	if (be32toh(grh->version_tclass_flow) >> 28 == 6) {
		memcpy(sgid, grh->sgid.raw, 16);
		memcpy(dgid, grh->dgid.raw, 16);
		*flow = be32toh(grh->version_tclass_flow);
		return;
	}
	memset(sgid, 0, 16);
	sgid[10] = sgid[11] = 0xff;
	memcpy(dgid, sgid, 16);
	memcpy(sgid + 12, ip + 12, 4);
	memcpy(dgid + 12, ip + 16, 4);
	*flow = (u32)ip[1] << 20;
}

/**
 * ibv_init_ah_from_wc() - ibv_create_ah_from_wc(3): the address for replies to a datagram.
 * Return: 0, or -1 with errno.
 */
SHIM_EXPORT int ibv_init_ah_from_wc(struct ibv_context *ibctx, uint8_t port, struct ibv_wc *wc,
				    struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_port *p;
	struct hca_dev buf;
	u8 sgid[16], dgid[16];
	int index;
	u32 flow;

	if (call_fails(CALL_ibv_init_ah_from_wc))
		return -1;
	if (!ctx)
		return -1;
	p = shim_device_port(shim_device_now(ctx, &buf), port);
	if (!p)
		return fail_minus(-EINVAL);
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	grh_parse(grh, sgid, dgid, &flow);
	index = port_find_gid(p, dgid);
	if (index < 0 && !gid_is_mcast(dgid))
		return fail_minus(-EINVAL);
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, sgid, 16);
	/* A group is no source: the first GID of the sender's family. */
	attr->grh.sgid_index = index < 0 ? (u8)port_find_family(p, gid_is_v4(sgid)) : (u8)index;
	attr->grh.flow_label = flow & 0xfffff;
	attr->grh.traffic_class = (u8)(flow >> 20);
	/* The hop limit left in the datagram is no limit for the reply. */
	attr->grh.hop_limit = 0xff;
	return 0;
}

/** ibv_create_ah_from_wc() - ibv_create_ah_from_wc(3). Return: AH, or NULL with errno. */
SHIM_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
						 struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (call_fails(CALL_ibv_create_ah_from_wc))
		return NULL;
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

static int mcast_cmd(struct ibv_qp *ibqp, const union ibv_gid *gid, u32 lid, u32 op)
{
	struct shim_qp *qp = to_qp(ibqp);
	struct shim_context *ctx =
		qp && qp->magic == MAGIC_QP ? shim_context_of(ibqp->context) : NULL;
	struct hca_cmd cmd = { .op = op };

	if (!ctx)
		return shim_unknown(ibqp);
	cmd.handle = ibqp->handle;
	cmd.mcast.lid = lid;
	memcpy(cmd.mcast.gid, gid->raw, 16);
	return -shim_obj_cmd(ctx, &cmd);
}

#define GROUP_WAIT_NS  100000
#define GROUP_ATTEMPTS 10000u /* a second, if the fabric process has a CPU */

/*
 * Wait until the fabric process has joined the group on its wires: a datagram that another host
 * sends from then on arrives, as with a device. In an isolated fabric only that process knows
 * whether there are wires. A fabric process that has ended fails later calls, too.
 */
static void mcast_wait_for_wires(void)
{
	const struct timespec pause = { .tv_nsec = GROUP_WAIT_NS };
	struct proto_msg m;
	u32 i;

	if (shim.hca && !load_relaxed(&shim.hca->wires.n))
		return;
	for (i = 0; i < GROUP_ATTEMPTS; i++) {
		m = (struct proto_msg){ .op = PROTO_GROUPS };
		if (shim_rpc_call(&m, -1, NULL, 0) != -EAGAIN)
			return;
		nanosleep(&pause, NULL);
	}
}

/** ibv_attach_mcast() - ibv_attach_mcast(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
	     (qp, gid, lid))
{
	int ret;

	if (call_fails(CALL_ibv_attach_mcast))
		return errno;
	ret = mcast_cmd(qp, gid, lid, CMD_ATTACH_MCAST);
	if (!ret)
		mcast_wait_for_wires();
	return ret;
}

/** ibv_detach_mcast() - ibv_attach_mcast(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
	     (qp, gid, lid))
{
	if (call_fails(CALL_ibv_detach_mcast))
		return errno;
	return mcast_cmd(qp, gid, lid, CMD_DETACH_MCAST);
}
