/* SPDX-License-Identifier: MIT */
/**
 * DOC: paths: the route of a QP's packets, from its attributes, its port and the links on the way.
 */
#include "emulator/engine.h"
#include "emulator/port.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/transport/path.h"
#include "emulator/transport/relay.h"

#define VIA_CHUNK_MS   4
#define IB_MTU_MAX     4096u
#define VIA_LOOK_CHUNK (64u << 10)
#define ISOLATED_CHUNK (64u << 10) /* the fabric process serves other programs in between */
#define CHAOS_SHIFTS   9u /* of a burst's size: down to one packet of the largest MTU */
/*
 * A burst to a peer leaves as one datagram, which the kernel cuts (fabric/packet/frame.c). The
 * peer's socket has a small buffer.
 */
#define PEER_BYTES   65507u
#define PEER_PACKETS 64u
#define PEER_BURST   (64u << 10) /* the longest: a message of that length is one, in two pieces */
#define PEER_HEADERS 32u /* of each packet, at most: BTH, XRCETH or DETH, ICRC */
/* An ACK after so many bytes, or half a window: a sender goes on while the receiver falls behind */
#define PEER_ACKED (128u << 10)

void qp_path_update(struct hca *hca, struct hca_qp *qp)
{
	const struct hca_qp_attr *a = &qp->attr;
	struct hca_path *p = &qp->path;

	*p = (struct hca_path){
		.src_dev = qp->dev,
		.dst_dev = a->av.dst_dev,
		.src_qpn = qp->qpn,
		.dst_qpn = a->dest_qpn,
		.src_port = (u8)a->port_num,
		.dst_port = a->av.dst_port,
		.pkey = qp_port(hca, qp)->pkey[a->pkey_index],
		.dst_type = peer_type(qp->type),
	};
	qp->ports = path_ports(p);
	p->via = unlikely(qp->type == QPT_RAW_PACKET)
			 ? relay_is_needed_raw(hca, p->src_dev, p->src_port)
			 : relay_is_needed(hca, p->src_dev, p->src_port, p->dst_dev, p->dst_port);
	p->near = !p->via && port_of(hca, p->dst_dev, p->dst_port) && pkeys_match(p->pkey, p->pkey);
	qp->back = (struct hca_path){
		.src_dev = p->dst_dev,
		.dst_dev = p->src_dev,
		.src_qpn = p->dst_qpn,
		.dst_qpn = p->src_qpn,
		.src_port = p->dst_port,
		.dst_port = p->src_port,
		.pkey = p->pkey,
		.dst_type = (u8)qp->type,
		.near = p->near,
		.via = p->via,
	};
}

/*
 * Where rules match single packets, some are usually dropped, and all after them are retransmitted:
 * bursts are smaller there. The size only shrinks: a retried READ may be split into smaller
 * portions than before, not into larger ones.
 */
static void relay_chunk_shrink(const struct hca *hca, struct hca_qp *qp)
{
	const struct hca_path *p = &qp->path;

	if (p->via && qp_chunk(qp) > VIA_LOOK_CHUNK &&
	    (hca->dev[p->src_dev].port[p->src_port].fault ||
	     hca->dev[p->dst_dev].port[p->dst_port].fault))
		qp->chunk = VIA_LOOK_CHUNK;
}

static u32 relay_chunk_to_peer(const struct hca_qp *qp)
{
	return min_u32(PEER_BYTES / (qp->mtu + PEER_HEADERS), PEER_PACKETS) * qp->mtu;
}

/* @rate: of the slower link, in bits a second; 0: they are not slow */
static u32 relay_chunk_of_rate(u64 rate)
{
	u64 bytes = rate / (8 * 1000 / VIA_CHUNK_MS);
	u32 chunk = REQ_CHUNK;

	while (rate && chunk > IB_MTU_MAX && chunk > bytes)
		chunk /= 2;
	return chunk;
}

/*
 * A burst is what a link carries in a few milliseconds: ACKs are frequent enough, and flows take
 * turns.
 */
void relay_set_chunk(const struct hca *hca, struct hca_qp *qp)
{
	const struct hca_path *p = &qp->path;
	u32 half;
	u64 rate;

	qp->chunk_rest = qp->read_chunk = qp->ack_span = 0;
	qp->chunk = hca->isolated ? ISOLATED_CHUNK : REQ_CHUNK;
	if (!p->via)
		return;
	if (hca_dev_is_peer(hca, p->dst_dev))
		qp->chunk = min_u32(qp->chunk, relay_chunk_to_peer(qp));
	if (hca->chaos)
		qp->chunk = REQ_CHUNK >> mix64(hca->chaos_seed ^ qp->qpn) % CHAOS_SHIFTS;
	rate = rate_slower(hca->dev[p->src_dev].port[p->src_port].link.rate_bps,
			   hca->dev[p->dst_dev].port[p->dst_port].link.rate_bps);
	qp->chunk = min_u32(qp->chunk, relay_chunk_of_rate(rate));
	if (qp->chunk == relay_chunk_to_peer(qp) && hca_dev_is_peer(hca, p->dst_dev)) {
		qp->chunk_rest = min_u32(qp->chunk / 8, PEER_BURST - qp->chunk);
		half = hca_peer_window(qp->mtu) / 2 * qp->mtu;
		qp->ack_span = min_u32(half, PEER_ACKED);
		qp->read_chunk = half / qp->chunk * qp->chunk;
	}
	relay_chunk_shrink(hca, qp);
}

void relay_update_paths(struct hca *hca)
{
	u32 d, p, i, n = hca->chaos;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			n += relay_port(&hca->dev[d], p);
	store_relaxed(&hca->n_via, n);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client) {
			qp_path_update(hca, &hca->qp[i]);
			relay_chunk_shrink(hca, &hca->qp[i]);
		}
}

void hca_port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link)
{
	struct hca_port *p = port_of(e->hca, dev, port);

	if (!p)
		return;
	if (!p->own_mtu)
		p->own_mtu = p->active_mtu;
	p->link = *link;
	store_relaxed(&p->active_mtu, link->mtu ? min_u32(link->mtu, p->own_mtu) : p->own_mtu);
	relay_update_paths(e->hca);
}
