/* SPDX-License-Identifier: MIT */
/**
 * DOC: encoding and decoding frames of joined fabrics, see proto.h. No byte that is read is
 * trusted.
 */
#include "fabric/join/proto.h"
#include "emulator/node.h"

#include <ctype.h>
#include <endian.h>

#define DEV_HEAD     72u
#define PORT_HEAD    48u
#define GID_SIZE     20u
#define GID_MAX_TYPE 2u /* RoCE v2 */

static void codec_put16(u8 *p, u16 v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void codec_put32(u8 *p, u32 v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static u16 codec_get16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static u32 codec_get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

void join_u64_put(u8 *p, u64 v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

u64 join_u64_get(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

void join_hdr_put(u8 *p, const struct join_hdr *h)
{
	codec_put32(p, h->len);
	p[4] = h->type;
	p[5] = h->lane;
	codec_put16(p + 6, 0);
	join_u64_put(p + 8, h->src);
	join_u64_put(p + 16, h->dst);
}

int join_hdr_get(const u8 *p, u32 max, struct join_hdr *h)
{
	h->len = codec_get32(p);
	h->type = p[4];
	h->lane = p[5];
	h->src = join_u64_get(p + 8);
	h->dst = join_u64_get(p + 16);
	if (h->len < JOIN_HDR || h->len > max || !h->type || h->type > JT_PROBED ||
	    codec_get16(p + 6))
		return -EPROTO;
	return h->lane && (h->type != JT_BURST || h->lane >= LANES) ? -EPROTO : 0;
}

void join_probe_put(u8 *p, const struct join_probe *q)
{
	codec_put32(p, q->number);
	codec_put32(p + 4, q->qpn);
	codec_put32(p + 8, q->dev);
	codec_put32(p + 12, q->peer);
}

int join_probe_get(const u8 *p, u32 len, struct join_probe *q)
{
	if (len != JOIN_PROBE)
		return -EPROTO;
	q->number = codec_get32(p);
	q->qpn = codec_get32(p + 4);
	q->dev = codec_get32(p + 8);
	q->peer = codec_get32(p + 12);
	return q->number ? 0 : -EPROTO;
}

void join_probed_put(u8 *p, const struct join_probed *r)
{
	codec_put32(p, r->number);
	codec_put32(p + 4, r->qpn);
	codec_put32(p + 8, r->waits);
	codec_put32(p + 12, 0);
}

int join_probed_get(const u8 *p, u32 len, struct join_probed *r)
{
	if (len != JOIN_PROBED)
		return -EPROTO;
	r->number = codec_get32(p);
	r->qpn = codec_get32(p + 4);
	r->waits = p[8];
	return r->number && codec_get32(p + 8) <= 1 && !codec_get32(p + 12) ? 0 : -EPROTO;
}

bool join_name_ok(const char *name, u32 size)
{
	return strnlen(name, size) < size && hca_node_name_ok(name);
}

void join_text_get(const u8 *p, u32 len, char *text)
{
	u32 i;

	for (i = 0; i < len && i < JOIN_TEXT; i++)
		text[i] = isprint(p[i]) ? (char)p[i] : '?';
	text[i] = '\0';
}

void join_hello_put(u8 *p, const struct join_hello *h)
{
	memset(p, 0, JOIN_HELLO);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): 8 bytes, not text */
	memcpy(p, JOIN_MAGIC, 8);
	codec_put16(p + 8, (u16)h->version);
	codec_put16(p + 10, h->port);
	codec_put32(p + 12, h->ppm);
	memcpy(p + 16, h->nonce, JOIN_NONCE);
	memcpy(p + 48, h->name, strnlen(h->name, JOIN_NAME - 1));
	memcpy(p + 96, h->key, JOIN_KEY);
	p[128] = h->flags;
}

int join_hello_get(const u8 *p, u32 len, struct join_hello *h)
{
	if (len < 10 || memcmp(p, JOIN_MAGIC, 8) != 0)
		return -EPROTO;
	h->version = codec_get16(p + 8);
	if (h->version != JOIN_VERSION)
		return -EPROTONOSUPPORT;
	if (len != JOIN_HELLO)
		return -EPROTO;
	h->port = codec_get16(p + 10);
	h->ppm = codec_get32(p + 12);
	memcpy(h->nonce, p + 16, JOIN_NONCE);
	memcpy(h->name, p + 48, JOIN_NAME);
	memcpy(h->key, p + 96, JOIN_KEY);
	h->flags = p[128];
	return join_name_ok(h->name, JOIN_NAME) ? 0 : -EPROTO;
}

u32 join_node_put(u8 *p, u32 index, u32 n_devs, const char *name)
{
	memset(p, 0, JOIN_NODE);
	codec_put32(p, index);
	codec_put32(p + 4, n_devs);
	memcpy(p + 8, name, strnlen(name, JOIN_NAME - 1));
	return JOIN_NODE;
}

int join_node_get(const u8 *p, u32 len, u32 *index, u32 *n_devs, char *name)
{
	if (len != JOIN_NODE)
		return -EPROTO;
	*index = codec_get32(p);
	*n_devs = codec_get32(p + 4);
	memcpy(name, p + 8, JOIN_NAME);
	return *n_devs && *n_devs <= JOIN_NODE_DEVS && join_name_ok(name, JOIN_NAME) ? 0 : -EPROTO;
}

/* --- devices --- */

static u8 *codec_gids_put(u8 *p, const struct hca_gid gid[HCA_GIDS], u8 *n)
{
	u32 i;

	*n = 0;
	for (i = 0; i < HCA_GIDS; i++) {
		if (!gid[i].valid)
			continue;
		memcpy(p, gid[i].raw, 16);
		p[16] = (u8)i;
		p[17] = gid[i].type;
		codec_put16(p + 18, 0);
		p += GID_SIZE;
		++*n;
	}
	return p;
}

static u8 *codec_port_put(u8 *p, const struct hca_port *port)
{
	u8 *head = p;
	u32 i;

	memset(p, 0, PORT_HEAD);
	codec_put32(p, port->state);
	codec_put32(p + 4, port->lid);
	codec_put32(p + 8, port->active_mtu);
	codec_put32(p + 12, port->max_mtu);
	join_u64_put(p + 16, port->guid);
	for (i = 0; i < LIM_PKEYS; i++)
		codec_put16(p + 24 + 2ul * i, port->pkey[i]);
	p = codec_gids_put(p + PORT_HEAD, port->gid, &head[40]);
	return codec_gids_put(p, port->ip, &head[41]);
}

u32 join_dev_put(u8 *p, const struct hca_dev *d)
{
	u8 *at = p + DEV_HEAD;
	u32 n;

	_Static_assert(DEV_HEAD + HCA_MAX_PORTS * (PORT_HEAD + 2 * HCA_GIDS * GID_SIZE) <=
			       JOIN_MAX_DEV,
		       "room");
	memset(p, 0, DEV_HEAD);
	codec_put32(p, d->index);
	codec_put32(p + 4, d->node);
	join_u64_put(p + 8, d->guid);
	codec_put32(p + 16, d->n_ports);
	codec_put32(p + 20, d->link_layer);
	codec_put32(p + 24, d->speed);
	codec_put32(p + 28, d->width);
	memcpy(p + 40, d->name, strnlen(d->name, sizeof(d->name) - 1));
	for (n = 1; n <= d->n_ports; n++)
		at = codec_port_put(at, &d->port[n]);
	return (u32)(at - p);
}

/* Whether an address may be one of a device: fabrics keep loopback addresses to themselves. */
static bool codec_gid_ok(const u8 *p)
{
	return p[16] < HCA_GIDS && p[17] <= GID_MAX_TYPE && gid_is_unicast(p) &&
	       !gid_is_loopback(p);
}

static const u8 *codec_gids_get(const u8 *p, const u8 *end, u32 n, struct hca_gid gid[HCA_GIDS])
{
	if (n > HCA_GIDS || (u64)(end - p) < (u64)n * GID_SIZE)
		return NULL;
	for (; n; n--, p += GID_SIZE) {
		if (!codec_gid_ok(p) || gid[p[16]].valid)
			return NULL;
		memcpy(gid[p[16]].raw, p, 16);
		gid[p[16]].type = p[17];
		gid[p[16]].valid = 1;
	}
	return p;
}

static const u8 *codec_port_get(const u8 *p, const u8 *end, struct hca_port *port)
{
	const u8 *head = p;
	u32 i;

	if ((u64)(end - p) < PORT_HEAD)
		return NULL;
	port->state = codec_get32(p);
	port->lid = codec_get32(p + 4);
	port->active_mtu = codec_get32(p + 8);
	port->max_mtu = codec_get32(p + 12);
	port->guid = join_u64_get(p + 16);
	for (i = 0; i < LIM_PKEYS; i++)
		port->pkey[i] = codec_get16(p + 24 + 2ul * i);
	if ((port->state != PORT_ACTIVE && port->state != PORT_DOWN) || port->lid > 0xbfff ||
	    !port->active_mtu || port->active_mtu > port->max_mtu || port->max_mtu > 5)
		return NULL;
	p = codec_gids_get(p + PORT_HEAD, end, head[40], port->gid);
	return p ? codec_gids_get(p, end, head[41], port->ip) : NULL;
}

int join_dev_get(const u8 *p, u32 len, struct hca_dev *d)
{
	const u8 *end = p + len, *at = p + DEV_HEAD;
	u32 n;

	memset(d, 0, sizeof(*d));
	if (len < DEV_HEAD || len > JOIN_MAX_DEV)
		return -EPROTO;
	d->index = codec_get32(p);
	d->node = codec_get32(p + 4);
	d->guid = join_u64_get(p + 8);
	d->n_ports = codec_get32(p + 16);
	d->link_layer = codec_get32(p + 20);
	d->speed = codec_get32(p + 24);
	d->width = codec_get32(p + 28);
	memcpy(d->name, p + 40, sizeof(d->name));
	if (d->index >= HCA_MAX_DEVS || !d->n_ports || d->n_ports > HCA_MAX_PORTS ||
	    (d->link_layer != LINK_INFINIBAND && d->link_layer != LINK_ETHERNET) ||
	    !join_name_ok(d->name, sizeof(d->name)))
		return -EPROTO;
	for (n = 1; at && n <= d->n_ports; n++)
		at = codec_port_get(at, end, &d->port[n]);
	return at == end ? 0 : -EPROTO;
}

u32 join_peers_put(u8 *p, const struct join_peer *peer, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++, p += JOIN_PEER) {
		memset(p, 0, JOIN_PEER);
		join_u64_put(p, peer[i].id);
		memcpy(p + 8, peer[i].ip, 16);
		codec_put32(p + 24, peer[i].scope);
		codec_put16(p + 28, peer[i].port);
	}
	return n * JOIN_PEER;
}

int join_peers_get(const u8 *p, u32 len, struct join_peer *peer)
{
	u32 i, n = len / JOIN_PEER;

	if (len % JOIN_PEER || n > JOIN_MAX_PEERS)
		return -EPROTO;
	for (i = 0; i < n; i++, p += JOIN_PEER) {
		peer[i].id = join_u64_get(p);
		memcpy(peer[i].ip, p + 8, 16);
		peer[i].scope = codec_get32(p + 24);
		peer[i].port = codec_get16(p + 28);
		if (!peer[i].id)
			return -EPROTO;
	}
	return (int)n;
}

/* --- bursts --- */

static void codec_av_put(u8 *p, const struct hca_av *av)
{
	memset(p, 0, JOIN_AV);
	memcpy(p, av->dgid, 16);
	codec_put32(p + 16, av->flow_label);
	p[20] = av->is_global;
	p[21] = av->sgid_index;
	p[22] = av->hop_limit;
	p[23] = av->traffic_class;
	codec_put16(p + 24, av->dlid);
	p[26] = av->sl;
	p[27] = av->static_rate;
}

static int codec_av_get(const u8 *p, struct hca_av *av)
{
	memset(av, 0, sizeof(*av));
	memcpy(av->dgid, p, 16);
	av->flow_label = codec_get32(p + 16);
	av->is_global = p[20];
	av->sgid_index = p[21];
	av->hop_limit = p[22];
	av->traffic_class = p[23];
	av->dlid = codec_get16(p + 24);
	av->sl = p[26];
	av->static_rate = p[27];
	return av->is_global > 1 || av->sgid_index >= HCA_GIDS || av->sl > 15 ? -EPROTO : 0;
}

void join_burst_put(u8 *p, const struct burst *b, u32 src_dev, u32 dst_dev)
{
	p[0] = b->op;
	p[1] = b->flags;
	p[2] = b->aeth;
	p[3] = b->atomic_op;
	codec_put32(p + 4, b->psn);
	codec_put32(p + 8, src_dev);
	codec_put32(p + 12, dst_dev);
	codec_put32(p + 16, b->src_qpn);
	codec_put32(p + 20, b->dst_qpn);
	p[24] = b->src_port;
	p[25] = b->dst_port;
	codec_put16(p + 26, b->pkey);
	p[28] = b->dst_type;
	p[29] = b->av ? 1 : 0;
	codec_put16(p + 30, b->src_slot);
	codec_put32(p + 32, b->npkts);
	codec_put32(p + 36, b->msn);
	codec_put32(p + 40, b->mtu);
	codec_put32(p + 44, b->imm);
	codec_put32(p + 48, b->inv_rkey);
	codec_put32(p + 52, b->rkey);
	codec_put32(p + 56, b->srqn);
	codec_put32(p + 60, b->qkey);
	join_u64_put(p + 64, b->va);
	join_u64_put(p + 72, b->dma_len);
	join_u64_put(p + 80, b->compare_add);
	join_u64_put(p + 88, b->swap);
	join_u64_put(p + 96, b->orig);
	codec_put32(p + 104, join_data_len(b));
	codec_put32(p + 108, 0);
	if (b->av)
		codec_av_put(p + JOIN_BURST, b->av);
}

void join_burst_void(u8 *p)
{
	codec_put32(p + 108, 1);
}

static void codec_burst_fields_get(const u8 *p, struct burst *b)
{
	*b = (struct burst){
		.op = p[0],
		.flags = p[1],
		.aeth = p[2],
		.atomic_op = p[3],
		.psn = codec_get32(p + 4),
		.src_dev = codec_get32(p + 8),
		.dst_dev = codec_get32(p + 12),
		.src_qpn = codec_get32(p + 16),
		.dst_qpn = codec_get32(p + 20),
		.src_port = p[24],
		.dst_port = p[25],
		.pkey = codec_get16(p + 26),
		.dst_type = p[28],
		.src_slot = codec_get16(p + 30),
		.npkts = codec_get32(p + 32),
		.msn = codec_get32(p + 36),
		.mtu = codec_get32(p + 40),
		.imm = codec_get32(p + 44),
		.inv_rkey = codec_get32(p + 48),
		.rkey = codec_get32(p + 52),
		.srqn = codec_get32(p + 56),
		.qkey = codec_get32(p + 60),
		.va = join_u64_get(p + 64),
		.dma_len = join_u64_get(p + 72),
		.compare_add = join_u64_get(p + 80),
		.swap = join_u64_get(p + 88),
		.orig = join_u64_get(p + 96),
		.len = codec_get32(p + 104),
	};
}

static bool codec_mtu_ok(u32 mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

/* Check fields that every burst has, whatever its opcode. */
static bool codec_burst_common_ok(const struct burst *b)
{
	const u32 types = 1u << QPT_RC | 1u << QPT_UC | 1u << QPT_UD | 1u << QPT_XRC_SEND |
			  1u << QPT_XRC_RECV;
	const u8 last = BF_IMM | BF_INV | BF_SOLICITED;

	if (b->op >= BOP_NONE || b->flags > 2 * BF_ACK_REQ - 1 || !codec_mtu_ok(b->mtu))
		return false;
	if ((b->flags & last) && !(b->flags & BF_LAST))
		return false;
	if (b->psn > IB_PSN_MASK || b->src_qpn > IB_QPN_MASK || b->dst_qpn > IB_QPN_MASK)
		return false;
	if (!b->src_port || b->src_port > HCA_MAX_PORTS)
		return false;
	return b->dst_type < 32 && (types & 1u << b->dst_type);
}

/* Check the payload and the number of packets that it takes. */
static bool codec_burst_length_ok(const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	switch (b->op) {
	case BOP_SEND:
	case BOP_WRITE:
	case BOP_READ_RESP:
		return b->npkts == packets_of(b->len, b->mtu) && b->dma_len <= LIM_MSG &&
		       ((b->flags & BF_LAST) || (b->len && !(b->len % b->mtu)));
	case BOP_READ_REQ:
		return !b->len && b->dma_len <= JOIN_MAX_DATA &&
		       b->npkts == packets_of(b->dma_len, b->mtu) && (b->flags & whole) == whole;
	case BOP_ATOMIC_WRITE:
		return b->len == 8 && b->npkts == 1 && (b->flags & whole) == whole;
	case BOP_FLUSH:
		return !b->len && b->npkts == 1 && (b->flags & whole) == whole &&
		       b->dma_len <= LIM_MSG;
	case BOP_ATOMIC_REQ:
		return !b->len && b->npkts == 1 && (b->flags & whole) == whole &&
		       (b->atomic_op == WR_ATOMIC_CMP_AND_SWP ||
			b->atomic_op == WR_ATOMIC_FETCH_AND_ADD);
	default:
		return !b->len && b->npkts == 1;
	}
}

static bool codec_burst_datagram_ok(const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	return b->op == BOP_SEND && b->npkts == 1 && (b->flags & whole) == whole;
}

int join_burst_get(const u8 *p, u32 len, u8 lane, struct burst *b, struct hca_av *av,
		   const u8 **data)
{
	u32 size = JOIN_BURST;

	if (len < size)
		return -EPROTO;
	codec_burst_fields_get(p, b);
	if (p[29] > 1 || (p[29] == 1) != (b->dst_type == QPT_UD))
		return -EPROTO;
	if (p[29]) {
		size += JOIN_AV;
		if (len < size || codec_av_get(p + JOIN_BURST, av))
			return -EPROTO;
		b->av = av;
	}
	if (!codec_burst_common_ok(b) || !codec_burst_length_ok(b) || join_lane_of(b->op) != lane)
		return -EPROTO;
	if ((b->av && !codec_burst_datagram_ok(b)) || b->len > JOIN_MAX_DATA ||
	    codec_get32(p + 108) > 1)
		return -EPROTO;
	*data = codec_get32(p + 108) ? NULL : p + size;
	if (len - size != (*data ? b->len : 0))
		return -EPROTO;
	/* In the engine a READ request has the length that it asks for. */
	if (b->op == BOP_READ_REQ)
		b->len = b->dma_len;
	return 0;
}

/* Compare type, lane and members of the header; devices, numbers, ports, P_Key and transport. */
bool join_burst_same_flow(const u8 *a, const u8 *b)
{
	const u8 *x = a + JOIN_HDR, *y = b + JOIN_HDR;

	if (codec_get32(b) < JOIN_HDR + JOIN_BURST || a[4] != JT_BURST ||
	    memcmp(a + 4, b + 4, 20) != 0)
		return false;
	return !memcmp(x + 8, y + 8, 21);
}

static bool codec_asks_ack(u8 op, u8 flags)
{
	return (op == BOP_SEND || op == BOP_WRITE) && (flags & BF_ACK_REQ);
}

bool join_burst_shares_ack(const struct burst *b, const u8 *next)
{
	return codec_asks_ack(b->op, b->flags) &&
	       codec_asks_ack(next[JOIN_HDR], next[JOIN_HDR + 1]);
}
