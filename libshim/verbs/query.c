/* SPDX-License-Identifier: MIT */
/**
 * DOC: attributes of devices and ports. The limits are those that the commands enforce.
 */
#include "emulator/hca_port.h"
#include "emulator/limits.h"
#include "emulator/obj.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/engine_ops.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>

#define PAGE_SIZE_CAP	 0xfffff000u
#define CORE_CLOCK_KHZ	 1000000 /* completion timestamps count nanoseconds */
#define COMPAT_PORT_ATTR 48 /* bytes of struct ibv_port_attr that ibv_query_port() may write */

#define PHYS_LINK_UP   5
#define PHYS_DISABLED  3
#define SUBNET_TIMEOUT 18 /* as OpenSM sets it */

/* @lim: the current limits, which rules may have reduced */
static void device_attr_fill(const struct shim_context *ctx, const struct hca_limits *lim,
			     struct ibv_device_attr *a)
{
	memset(a, 0, sizeof(*a));
	snprintf(a->fw_ver, sizeof(a->fw_ver), "%.31s", ctx->dev->info.fw);
	a->node_guid = htobe64(ctx->dev->info.guid);
	a->sys_image_guid = a->node_guid;
	a->max_mr_size = lim->max_mr_size;
	a->page_size_cap = PAGE_SIZE_CAP;
	a->vendor_id = lim->vendor_id;
	a->vendor_part_id = lim->part_id;
	a->hw_ver = lim->hw_ver;
	a->max_qp = (int)lim->max_qp;
	a->max_qp_wr = (int)lim->max_qp_wr;
	a->device_cap_flags = (u32)lim->caps;
	a->max_sge = (int)lim->max_sge;
	a->max_sge_rd = (int)lim->max_sge_rd;
	a->max_cq = (int)lim->max_cq;
	a->max_cqe = (int)lim->max_cqe;
	a->max_mr = (int)lim->max_mr;
	a->max_mw = (int)lim->max_mw;
	a->max_pd = (int)lim->max_pd;
	a->max_ah = (int)lim->max_ah;
	a->max_srq = (int)lim->max_srq;
	a->max_srq_wr = (int)lim->max_srq_wr;
	a->max_srq_sge = (int)lim->max_srq_sge;
	a->max_qp_rd_atom = (int)lim->max_rd_atom;
	a->max_res_rd_atom = (int)lim->max_res_rd_atom;
	a->max_qp_init_rd_atom = (int)lim->max_rd_atom;
	a->max_mcast_grp = (int)lim->max_mcast_grp;
	a->max_mcast_qp_attach = (int)lim->max_mcast_attach;
	a->max_total_mcast_qp_attach = (int)(lim->max_mcast_grp * lim->max_mcast_attach);
	a->atomic_cap = (enum ibv_atomic_cap)lim->atomic_cap;
	a->max_pkeys = (u16)lim->pkeys;
	a->local_ca_ack_delay = (u8)lim->ack_delay;
	a->phys_port_cnt = (u8)ctx->dev->info.n_ports;
}

/** ibv_query_device() - ibv_query_device(3). Return: 0 or errno value. */
ERRNO_EXPORT(ibv_query_device, (struct ibv_context * ibctx, struct ibv_device_attr *attr),
	     (ibctx, attr))
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_dev buf;

	if (call_fails(CALL_ibv_query_device))
		return errno;
	if (!ctx)
		return errno;
	device_attr_fill(ctx, shim_limits_now(ctx, &buf), attr);
	return 0;
}

/* Of rdma-core 45 and later. */
#define ODP_SUPPORT_FLUSH	 (1u << 6) /* IBV_ODP_SUPPORT_FLUSH */
#define ODP_SUPPORT_ATOMIC_WRITE (1u << 7) /* IBV_ODP_SUPPORT_ATOMIC_WRITE */

static void device_attr_fill_odp(const struct hca_limits *lim, struct ibv_device_attr_ex *a)
{
	struct ibv_odp_caps *odp = &a->odp_caps;

	odp->general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	odp->per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
					      IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
					      IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	if (lim->caps & CAP_FLUSH)
		odp->per_transport_caps.rc_odp_caps |= ODP_SUPPORT_FLUSH;
	if (lim->caps & CAP_ATOMIC_WRITE)
		odp->per_transport_caps.rc_odp_caps |= ODP_SUPPORT_ATOMIC_WRITE;
	odp->per_transport_caps.uc_odp_caps =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
	odp->per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	a->xrc_odp_caps = odp->per_transport_caps.rc_odp_caps;
}

/* Offloads for Ethernet frames, tags and completion queues. */
static void device_attr_fill_offloads(const struct hca_limits *lim, struct ibv_device_attr_ex *a)
{
	const u32 raw = lim->qp_types & 1u << IBV_QPT_RAW_PACKET;

	a->max_dm_size = lim->max_dm;
	a->max_wq_type_rq = lim->max_wq;
	if (raw && lim->max_tso) {
		a->tso_caps.max_tso = lim->max_tso;
		a->tso_caps.supported_qpts = raw;
	}
	if (raw && lim->rate_limit_max) {
		a->packet_pacing_caps.qp_rate_limit_min = lim->rate_limit_min;
		a->packet_pacing_caps.qp_rate_limit_max = lim->rate_limit_max;
		a->packet_pacing_caps.supported_qpts = raw;
	}
	if (raw && lim->max_ind) {
		a->rss_caps.supported_qpts = raw;
		a->rss_caps.max_rwq_indirection_tables = lim->max_ind;
		a->rss_caps.max_rwq_indirection_table_size = lim->max_ind_size;
		a->rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
		a->rss_caps.rx_hash_fields_mask =
			IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
			IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
			IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP |
			IBV_RX_HASH_IPSEC_SPI | IBV_RX_HASH_INNER;
	}
	if (raw) {
		a->raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
		if (lim->caps & CAP_SCATTER_FCS)
			a->raw_packet_caps |= IBV_RAW_PACKET_CAP_SCATTER_FCS;
		if (lim->caps & IBV_DEVICE_RAW_IP_CSUM)
			a->raw_packet_caps |= IBV_RAW_PACKET_CAP_IP_CSUM;
	}
	if (lim->max_tags) {
		a->tm_caps.max_rndv_hdr_size = LIM_RNDV_HDR;
		a->tm_caps.max_num_tags = lim->max_tags;
		a->tm_caps.flags = IBV_TM_CAP_RC;
		a->tm_caps.max_ops = LIM_TM_OPS;
		a->tm_caps.max_sge = 1;
	}
	a->cq_mod_caps.max_cq_count = LIM_CQ_COUNT;
	a->cq_mod_caps.max_cq_period = LIM_CQ_PERIOD;
}

ERRNO_VERB(shim_query_device_ex,
	   (struct ibv_context * ibctx, const struct ibv_query_device_ex_input *input,
	    struct ibv_device_attr_ex *attr, size_t size),
	   (ibctx, input, attr, size))
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_limits *lim;
	struct ibv_device_attr_ex a;
	struct hca_dev buf;

	if (call_fails(CALL_ibv_query_device_ex))
		return errno;
	if (!ctx)
		return errno;
	if (input && input->comp_mask)
		return EINVAL;
	memset(&a, 0, sizeof(a));
	lim = shim_limits_now(ctx, &buf);
	device_attr_fill(ctx, lim, &a.orig_attr);
	device_attr_fill_offloads(lim, &a);
	if (ctx->dev->info.lim.odp)
		device_attr_fill_odp(&ctx->dev->info.lim, &a);
	a.completion_timestamp_mask = UINT64_MAX;
	a.hca_core_clock = CORE_CLOCK_KHZ;
	a.device_cap_flags_ex = ctx->dev->info.lim.caps;
	a.phys_port_cnt_ex = ctx->dev->info.n_ports;
	memset(attr, 0, size);
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

ERRNO_VERB(shim_query_rt_values, (struct ibv_context * ibctx, struct ibv_values_ex *values),
	   (ibctx, values))
{
	struct shim_context *ctx = shim_context_of(ibctx);

	if (call_fails(CALL_ibv_query_rt_values_ex))
		return errno;
	if (!ctx)
		return errno;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	/* As with other providers, tv_nsec alone has the clock's ticks; here they are ns. */
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = (long)shim_ops.now(shim.engine.ctx);
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

/* As the kernel's efa_query_port() does: a message of datagrams is one packet. */
static void port_attr_make_efa(const struct hca_port *p, struct ibv_port_attr *a)
{
	a->lid = 0;
	a->gid_tbl_len = 1;
	a->port_cap_flags = 0;
	a->lmc = 1;
	a->max_msg_sz = ib_mtu_bytes(p->max_mtu);
	a->link_layer = IBV_LINK_LAYER_UNSPECIFIED;
}

/* Where rdma-core 64 has ibv_port_attr.active_speed_ex, a wider active_speed. */
#define PORT_SPEED_EX_AT 52

ERRNO_VERB(shim_query_port,
	   (struct ibv_context * ibctx, uint8_t port, struct ibv_port_attr *attr, size_t len),
	   (ibctx, port, attr, len))
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_dev *d;
	const struct hca_port *p;
	struct ibv_port_attr a;
	struct hca_dev buf;

	if (call_fails(CALL_ibv_query_port))
		return errno;
	if (!ctx)
		return errno;
	d = shim_device_now(ctx, &buf);
	p = shim_device_port(d, port);
	if (!p)
		return EINVAL;
	memset(&a, 0, sizeof(a));
	a.state = load_relaxed(&p->state);
	a.max_mtu = p->max_mtu;
	a.active_mtu = p->active_mtu;
	a.lid = (u16)p->lid;
	a.gid_tbl_len = HCA_GIDS;
	a.port_cap_flags = IBV_PORT_CM_SUP;
	a.max_msg_sz = ctx->dev->info.lim.max_msg;
	a.pkey_tbl_len = (u16)ctx->dev->info.lim.pkeys;
	a.max_vl_num = 1;
	a.active_width = (u8)d->width;
	a.active_speed = (u8)d->speed;
	a.phys_state = a.state == IBV_PORT_ACTIVE ? PHYS_LINK_UP : PHYS_DISABLED;
	a.link_layer = (u8)d->link_layer;
	if (lim_is_efa(&d->lim))
		port_attr_make_efa(p, &a);
	else if (d->link_layer == LINK_ETHERNET) {
		a.port_cap_flags |= IBV_PORT_IP_BASED_GIDS;
		a.flags = IBV_QPF_GRH_REQUIRED;
	} else {
		a.sm_lid = (u16)p->sm_lid;
		a.subnet_timeout = SUBNET_TIMEOUT;
	}
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof(a) ? len : sizeof(a));
	if (len >= PORT_SPEED_EX_AT + sizeof(d->speed))
		memcpy((u8 *)attr + PORT_SPEED_EX_AT, &d->speed, sizeof(d->speed));
	return 0;
}

/** ibv_query_port() - for old programs, whose structure is shorter; newer headers have a macro. */
SHIM_EXPORT int ibv_query_port(struct ibv_context *ibctx, uint8_t port,
			       struct _compat_ibv_port_attr *attr)
{
	return shim_query_port(ibctx, port, (struct ibv_port_attr *)attr, COMPAT_PORT_ATTR);
}

/** ibv_query_pkey() - ibv_query_pkey(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int ibv_query_pkey(struct ibv_context *ibctx, uint8_t port, int index, __be16 *pkey)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_port *p;
	struct hca_dev buf;

	if (call_fails(CALL_ibv_query_pkey))
		return -1;
	if (!ctx)
		return -1;
	p = shim_device_port(shim_device_now(ctx, &buf), port);
	if (!p || index < 0 || (u32)index >= ctx->dev->info.lim.pkeys)
		return fail_minus(-EINVAL);
	*pkey = htons(p->pkey[index]);
	return 0;
}

/** ibv_get_pkey_index() - ibv_get_pkey_index(3). Return: index or -1. */
SHIM_EXPORT int ibv_get_pkey_index(struct ibv_context *ibctx, uint8_t port, __be16 pkey)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	const struct hca_port *p;
	struct hca_dev buf;
	u32 i;

	if (call_fails(CALL_ibv_get_pkey_index))
		return -1;
	if (!ctx)
		return -1;
	p = shim_device_port(shim_device_now(ctx, &buf), port);
	if (!p)
		return fail_minus(-EINVAL);
	for (i = 0; i < ctx->dev->info.lim.pkeys; i++)
		if (p->pkey[i] == ntohs(pkey))
			return (int)i;
	return fail_minus(-EINVAL);
}
