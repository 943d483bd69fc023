/* SPDX-License-Identifier: MIT */
/** DOC: passing a link: how long a burst takes, and which ones are too long. See link.c. */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "fabric/link/burst_capture.h"
#include "fabric/link/link.h"
#include "fabric/link/transit.h"

const struct hca_uplink *link_uplink(const struct hca *hca, u32 dev, u32 port)
{
	const struct hca_dev *d = &hca->dev[dev];

	return dev < hca->n_devs && !d->member && port <= d->n_ports ? &d->port[port].link : NULL;
}

static u64 link_serialize_ns(u64 bytes, u64 rate_bps)
{
	return rate_bps ? (u64)((unsigned __int128)bytes * 8 * NSEC_PER_SEC / rate_bps) : 0;
}

static u64 link_jitter(struct link *l, const struct hca_uplink *up)
{
	u64 x = l->seed;

	if (!up->jitter_ns)
		return 0;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	l->seed = x;
	return x % (up->jitter_ns + 1);
}

/* Pass one direction of a link, which is busy until *busy. */
static void link_pass(struct link *l, const struct hca_uplink *up, u64 *busy, u64 wire,
		      struct trip *t, u64 *left)
{
	u64 begin = t->first > *busy ? t->first : *busy;
	u64 end = begin + link_serialize_ns(wire, up->rate_bps),
	    delay = up->delay_ns + link_jitter(l, up);

	if (up->rate_bps)
		*busy = end;
	*left = end > t->last ? end : t->last;
	t->first = begin + delay;
	t->last = *left + delay;
}

void link_pass_up(struct fabric *f, const struct burst *b, u64 wire, struct trip *t, u64 *left)
{
	const struct hca_uplink *up = link_uplink(f->hca, b->src_dev, b->src_port);

	*left = t->last;
	if (up)
		link_pass(f->link, up, &f->link->pipe[b->src_dev][b->src_port].up, wire, t, left);
}

/* The switch loses nothing: bursts that it cannot forward yet are held back at their sender. */
void link_pass_down(struct fabric *f, const struct burst *b, u64 wire, struct trip *t, u64 *left)
{
	const struct hca_uplink *up = link_uplink(f->hca, b->dst_dev, b->dst_port);
	u64 there = t->last, passed;

	if (!up)
		return;
	link_pass(f->link, up, &f->link->pipe[b->dst_dev][b->dst_port].down, wire, t, &passed);
	*left += passed - there;
}

u64 link_wire_bytes(const struct burst *b)
{
	/* A raw frame contains its headers. */
	return linkq_payload(b) +
	       (b->dst_type == QPT_RAW_PACKET ? 0 : (u64)burst_packets(b) * WIRE_HEADERS);
}

int link_check_length(struct fabric *f, const struct burst *b)
{
	const struct hca_uplink *from = link_uplink(f->hca, b->src_dev, b->src_port);
	const struct hca_uplink *to = link_uplink(f->hca, b->dst_dev, b->dst_port);
	u64 len = min_u64(linkq_payload(b), b->mtu);

	if (linkq_payload(b) <= BUDDY_MAX &&
	    !(from && from->mtu && len > ib_mtu_bytes(from->mtu)) &&
	    !(to && to->mtu && len > ib_mtu_bytes(to->mtu)))
		return 0;
	if (link_capture_lost(f, b, CAUSE_TOO_LONG, (u32)len))
		return -EAGAIN;
	journal_drop(&f->engine, b, CAUSE_TOO_LONG, (u32)len);
	return 1;
}
