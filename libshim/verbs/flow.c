/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow steering: turns the specifications of ibv_create_flow(3) into a value and a mask.
 *
 * The size of each specification leads to the next one; the attribute's total size is not reliable.
 * Specifications may lie at any address, since programs pack them.
 */
#include "libshim/verbs/flow.h"

#include "emulator/obj_eth.h"
#include "emulator/seg.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#include <arpa/inet.h>

_Static_assert((u32)IBV_FLOW_ATTR_SNIFFER == (u32)FLOW_SNIFFER &&
		       (u32)IBV_FLOW_ATTR_FLAGS_DONT_TRAP == (u32)FLOW_DONT_TRAP,
	       "passed as they are");

#define MAX_SPECS  10u /* the kernel's limit */
#define TAG_LIMIT  (1u << 24)
#define VNI_LIMIT  (1u << 24)
#define LABEL_MASK 0xfffffu

struct shim_flow {
	union {
		struct ibv_flow flow;
		u8 room[64];
	};
	u32 magic;
	u32 handle;
};

/* Each copies one filter, value or mask, into the fields. */

static void match_fill_eth(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_eth_filter *f = filter;

	memcpy(m->dmac, f->dst_mac, sizeof(m->dmac));
	memcpy(m->smac, f->src_mac, sizeof(m->smac));
	m->ethertype = f->ether_type;
	m->vlan = f->vlan_tag;
}

static void match_fill_ipv4(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_ipv4_filter *f = filter;

	m->src4 = f->src_ip;
	m->dst4 = f->dst_ip;
}

static void match_fill_ipv4_ext(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_ipv4_ext_filter *f = filter;

	m->src4 = f->src_ip;
	m->dst4 = f->dst_ip;
	m->proto = f->proto;
	m->tos = f->tos;
	m->ttl = f->ttl;
	m->ip_flags = f->flags;
}

static void match_fill_ipv6(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_ipv6_filter *f = filter;

	memcpy(m->src6, f->src_ip, sizeof(m->src6));
	memcpy(m->dst6, f->dst_ip, sizeof(m->dst6));
	m->flow_label = f->flow_label;
	m->proto = f->next_hdr;
	m->tos = f->traffic_class;
	m->ttl = f->hop_limit;
}

static void match_fill_ports(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_tcp_udp_filter *f = filter;

	m->dport = f->dst_port;
	m->sport = f->src_port;
}

static void match_fill_vxlan(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_tunnel_filter *f = filter;

	m->vni = f->tunnel_id;
}

static void match_fill_gre(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_gre_filter *f = filter;

	m->gre_flags = f->c_ks_res0_ver;
	m->gre_proto = f->protocol;
	m->gre_key = f->key;
}

static void match_fill_mpls(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_mpls_filter *f = filter;

	m->mpls = f->label;
}

static void match_fill_esp(const void *filter, struct flow_match *m)
{
	const struct ibv_flow_esp_filter *f = filter;

	m->spi = f->spi;
	m->esp_seq = f->seq;
}

/**
 * struct spec_kind - a kind of specification.
 * @val, @mask: offsets of its filters
 * @field: offset of the field of struct flow_match that marks the header as present, by @value in
 *	the bits of @bits
 */
struct spec_kind {
	u32 type;
	u16 size, val, mask;
	u8 field;
	u8 value;
	u8 bits;
	void (*fill)(const void *filter, struct flow_match *m);
};

#define KIND(type, spec, field, value, bits, fill)                                                 \
	{                                                                                          \
		IBV_FLOW_SPEC_##type, sizeof(struct ibv_flow_spec_##spec),                         \
			offsetof(struct ibv_flow_spec_##spec, val),                                \
			offsetof(struct ibv_flow_spec_##spec, mask),                               \
			offsetof(struct flow_match, field), value, bits, fill                      \
	}

static const struct spec_kind kinds[] = {
	KIND(ETH, eth, l2, 1, 0xff, match_fill_eth),
	KIND(IPV4, ipv4, l3, 4, 0xff, match_fill_ipv4),
	KIND(IPV4_EXT, ipv4_ext, l3, 4, 0xff, match_fill_ipv4_ext),
	KIND(IPV6, ipv6, l3, 6, 0xff, match_fill_ipv6),
	KIND(TCP, tcp_udp, l4, 6, 0xff, match_fill_ports),
	KIND(UDP, tcp_udp, l4, 17, 0xff, match_fill_ports),
	KIND(ESP, esp, tunnel, TUN_ESP, TUN_ESP, match_fill_esp),
	KIND(VXLAN_TUNNEL, tunnel, tunnel, TUN_VXLAN, TUN_VXLAN, match_fill_vxlan),
	KIND(GRE, gre, tunnel, TUN_GRE, TUN_GRE, match_fill_gre),
	KIND(MPLS, mpls, tunnel, TUN_MPLS, TUN_MPLS, match_fill_mpls),
};

static const struct spec_kind *spec_kind_of(u32 type)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

/* Add a header: each kind once, and only one of several that exclude each other. */
static int flow_put_header(const struct ibv_flow_spec *spec, struct cmd_flow *c)
{
	const struct spec_kind *k = spec_kind_of(spec->hdr.type & ~(u32)IBV_FLOW_SPEC_INNER);
	bool inner = spec->hdr.type & IBV_FLOW_SPEC_INNER;
	struct flow_match *v = inner ? &c->inner_value : &c->value;
	struct flow_match *m = inner ? &c->inner_mask : &c->mask;
	u8 *has, *must;

	if (!k || spec->hdr.size < k->size)
		return -EINVAL;
	has = (u8 *)v + k->field;
	must = (u8 *)m + k->field;
	if (*must & k->bits)
		return -EINVAL;
	*has |= k->value;
	*must |= k->bits;
	k->fill((const u8 *)spec + k->val, v);
	k->fill((const u8 *)spec + k->mask, m);
	if (ntohl(m->flow_label) & ~LABEL_MASK || ntohl(m->vni) >= VNI_LIMIT)
		return -EINVAL;
	if (m->vlan) {
		v->tagged = 1;
		m->tagged = 0xff;
	}
	return 0;
}

static int flow_put_action(const struct ibv_flow_spec *spec, const struct ibv_context *ibctx,
			   struct cmd_flow *c)
{
	const struct shim_ctr *ctr;

	switch (spec->hdr.type) {
	case IBV_FLOW_SPEC_ACTION_TAG:
		if (spec->hdr.size < sizeof(spec->flow_tag) || c->has_tag ||
		    spec->flow_tag.tag_id >= TAG_LIMIT)
			return -EINVAL;
		c->has_tag = 1;
		c->tag = spec->flow_tag.tag_id;
		return 0;
	case IBV_FLOW_SPEC_ACTION_DROP:
		c->drop = 1;
		return 0;
	case IBV_FLOW_SPEC_ACTION_COUNT:
		if (spec->hdr.size < sizeof(spec->flow_count) || c->counters)
			return -EINVAL;
		ctr = shim_counters_of(spec->flow_count.counters);
		if (!ctr || ctr->counters.context != ibctx)
			return -shim_unknown(spec->flow_count.counters);
		c->counters = ctr->handle + 1;
		return 0;
	case IBV_FLOW_SPEC_ACTION_HANDLE:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

static int flow_put_specs(const struct ibv_flow_attr *attr, const struct ibv_context *ibctx,
			  struct cmd_flow *c)
{
	const u8 *at = (const u8 *)(attr + 1);
	struct ibv_flow_spec spec;
	u32 i;
	int ret = 0;

	for (i = 0; i < attr->num_of_specs && !ret; i++, at += spec.hdr.size) {
		memset(&spec, 0, sizeof(spec));
		memcpy(&spec, at, offsetof(struct ibv_flow_spec_action_drop, size) + sizeof(u16));
		if (spec.hdr.size < sizeof(spec.drop) || spec.hdr.size > sizeof(spec))
			return -EINVAL;
		memcpy(&spec, at, spec.hdr.size);
		if (spec.hdr.type >= IBV_FLOW_SPEC_ACTION_TAG)
			ret = flow_put_action(&spec, ibctx, c);
		else
			ret = flow_put_header(&spec, c);
	}
	return ret;
}

static int flow_check_attr(const struct shim_qp *qp, const struct ibv_flow_attr *attr)
{
	u32 known = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;

	if (attr->comp_mask || (attr->flags & ~known) || attr->type > IBV_FLOW_ATTR_SNIFFER ||
	    attr->num_of_specs > MAX_SPECS)
		return -EINVAL;
	if ((attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) && attr->type != IBV_FLOW_ATTR_NORMAL)
		return -EINVAL;
	if (qp->qp.qp_type != IBV_QPT_UD && qp->qp.qp_type != IBV_QPT_RAW_PACKET)
		return -EINVAL;
	/* UD QPs are not steered by the contents of frames, and sent frames are not steered. */
	if (qp->qp.qp_type == IBV_QPT_UD || (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS))
		return -EOPNOTSUPP;
	return 0;
}

/** shim_create_flow() - ibv_create_flow(3). Return: flow, or NULL with errno. */
struct ibv_flow *shim_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr)
{
	struct shim_qp *qp = to_qp(ibqp);
	struct shim_context *ctx =
		qp && qp->magic == MAGIC_QP ? shim_context_of(ibqp->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_CREATE_FLOW };
	struct shim_flow *f;
	int ret;

	if (call_fails(CALL_ibv_create_flow))
		return NULL;
	if (!ctx)
		return fail_null(-shim_unknown(ibqp));
	ret = flow_check_attr(qp, attr);
	if (!ret)
		ret = flow_put_specs(attr, ibqp->context, &cmd.flow);
	if (ret)
		return fail_null(ret);
	cmd.flow.qp = ibqp->handle;
	/* As with some providers, 0 means the first port. */
	cmd.flow.port = attr->port ? attr->port : 1;
	cmd.flow.type = attr->type;
	cmd.flow.priority = attr->priority;
	cmd.flow.flags = attr->flags;
	f = shim_obj_new(ctx, sizeof(*f), &cmd);
	if (!f)
		return NULL;
	f->flow.context = ibqp->context;
	f->flow.handle = cmd.handle;
	f->handle = cmd.handle;
	f->magic = MAGIC_FLOW;
	return &f->flow;
}

/** shim_destroy_flow() - ibv_create_flow(3). Return: 0 or errno value. */
ERRNO_VERB(shim_destroy_flow, (struct ibv_flow * flow), (flow))
{
	struct shim_flow *f = (struct shim_flow *)flow;
	struct shim_context *ctx =
		f && f->magic == MAGIC_FLOW ? shim_context_of(flow->context) : NULL;

	if (call_fails(CALL_ibv_destroy_flow))
		return errno;
	if (!ctx)
		return shim_unknown(flow);
	return shim_obj_end(ctx, f, &f->magic, CMD_DESTROY_FLOW, f->handle);
}
