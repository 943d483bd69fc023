/* SPDX-License-Identifier: MIT */
/**
 * DOC: encoding and decoding frames of joined fabrics, see proto.h. No byte that is read is
 * trusted.
 */
#include "fabric/join/proto.h"
#include "emulator/node.h"
#include "fabric/join/bytes.h"

#include <ctype.h>
#include <endian.h>

#define DEV_HEAD     72u
#define PORT_HEAD    48u
#define GID_SIZE     20u
#define GID_MAX_TYPE 2u /* RoCE v2 */

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
	if (h->len < JOIN_HDR || h->len > max || !h->type || h->type > JT_LAST ||
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
