/* SPDX-License-Identifier: MIT */
/**
 * DOC: the links between ports and the fabric's switch.
 *
 * A burst that leaves a port is copied with its payload, as on a wire, and gets two times on the
 * fabric clock: when its last packet has left the port, and when it arrives at the destination
 * port. Each direction of a link is busy until some time, at which the next burst starts. Packets
 * pass the switch one by one, so the second link carries the first packets of a burst while the
 * last ones are still to come.
 *
 * A flow may have a few milliseconds of the link's rate waiting to leave, counted in bytes; then
 * its QP waits until the first of them has left. All flows therefore get about the same share of
 * the queue, and of the rate, and no part of the ACK timeout is spent in the queue. The number of
 * packets on their way is limited by memory alone: see queue.h.
 *
 * receive.c hands bursts that have arrived to the engine. A flow whose target memory is out of
 * reach for the moment, or whose response has no room, waits without holding up other flows.
 */
#include "fabric/link/link.h"
#include "fabric/link/burst_capture.h"
#include "fabric/link/chaos.h"
#include "fabric/link/transit.h"

#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"

#include <stdlib.h>

#define WINDOW_MS    8 /* how much of a link's rate a flow may have waiting */
#define WINDOW_MIN   (2ull * (4096 + 16 * WIRE_HEADERS)) /* at least two packets */
#define ROOM_WAIT_NS (50 * NSEC_PER_USEC)

int link_make(struct fabric *f)
{
	f->link = calloc(1, sizeof(*f->link));
	if (!f->link)
		return -ENOMEM;
	f->link->seed = f->hca->seed | 1;
	f->link->flow = LQ_ENTRIES;
	return linkq_make(&f->link->q);
}

void link_set_rules(struct fabric *f, const struct link_rules *r)
{
	f->link->rules = r;
}

void link_enable_rules(struct fabric *f, bool enable)
{
	f->link->has_rules = enable;
}

u64 link_retry_at(const struct fabric *f)
{
	return f->link->again_at;
}

bool link_holds_qp(const struct fabric *f, u32 dev, u32 qpn)
{
	return linkq_holds_qp(&f->link->q, dev, qpn);
}

void link_each_device(const struct fabric *f, void (*fn)(void *ctx, u32 dev), void *ctx)
{
	linkq_each_device(&f->link->q, fn, ctx);
}

void *link_mem(struct fabric *f)
{
	return f->link->q.mem;
}

u32 link_flow(const struct fabric *f)
{
	return f->link->flow;
}

bool link_flow_waits(const struct fabric *f, u32 flow)
{
	const struct linkq *q = &f->link->q;

	return flow < LQ_ENTRIES && q->flow[flow].heap && q->entry[q->flow[flow].head].tries;
}

u64 link_next(const struct fabric *f)
{
	return linkq_next(&f->link->q);
}

int link_check_route(struct fabric *f, const struct burst *b)
{
	if (b->dst_dev < f->hca->n_devs)
		return link_check_length(f, b);
	if (link_capture_lost(f, b, CAUSE_NO_PORT, 0))
		return -EAGAIN;
	journal_drop(&f->engine, b, CAUSE_NO_PORT, 0);
	return 1;
}

bool link_is_held_back(struct fabric *f, const struct lq_key *k, u64 wire, u64 now, u64 *next)
{
	const struct hca_uplink *from = link_uplink(f->hca, k->src_dev, k->src_port);
	const struct hca_uplink *to = link_uplink(f->hca, k->dst_dev, k->dst_port);
	u64 rate = rate_slower(from ? from->rate_bps : 0, to ? to->rate_bps : 0), window, waits;
	struct lq_flow *flow = rate ? linkq_flow(&f->link->q, k) : NULL;

	if (!flow)
		return false;
	window = rate / (8000u / WINDOW_MS);
	if (window < WINDOW_MIN)
		window = WINDOW_MIN;
	waits = linkq_backlog(&f->link->q, flow, now, next);
	return waits && waits + wire > window;
}

/* Copy the payload as it is now. Return: 0, -EAGAIN or -ESRCH. */
static int link_fetch_payload(struct fabric *f, const struct burst *b, struct lq_entry *e)
{
	int ret;

	if (!b->mem)
		return 0;
	ret = f->engine.ops->copy(f, &e->mem, 0, b->mem, b->off, b->len,
				  (u64)b->src_qpn << 32 | b->psn << 1);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret;
	/*
	 * The receiver finds no payload and handles it as an unreadable source, as where it copies
	 * itself.
	 */
	if (ret)
		e->mem.kind = MEM_NONE;
	return 0;
}

u64 link_room_at(const struct fabric *f, u64 now)
{
	u64 next = link_next(f), wait = hca_clock_span(&f->hca->clock, ROOM_WAIT_NS);

	if (!wait)
		wait = ROOM_WAIT_NS;
	return next < now + 20 * wait && next > now + wait ? next : now + wait;
}

/* The arrival time of a burst with chaos. */
static u64 link_chaos_arrival(struct fabric *f, const struct lq_key *k, const struct burst *b,
			      u64 extra)
{
	struct lq_entry *last = linkq_last(&f->link->q, k);

	if (last && !last->tries)
		chaos_coalesce_ack(f, b, &last->b);
	return chaos_arrival(f, b, extra);
}

int link_hold(struct fabric *f, u64 at)
{
	relay_hold(&f->engine, at);
	return -EAGAIN;
}

int link_may_send(struct fabric *f, const struct burst *b, u32 n)
{
	struct lq_key k = linkq_key(b);
	u64 now = fabric_ns(f), next;

	if (k.cls == LQ_REQUEST && link_is_held_back(f, &k, link_wire_bytes(b), now, &next))
		return link_hold(f, next);
	if (unlikely(f->chaos) && chaos_hold(f, b, &next))
		return link_hold(f, next);
	if (n > 1 && f->link->q.n_entries + n + LQ_SPARE > LQ_ENTRIES)
		return link_hold(f, link_room_at(f, now));
	return 0;
}

/* A wire needs the address of the sender's connection, which may have ended by then. */
static void link_note_address(struct fabric *f, struct lq_entry *e)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, e->b.src_qpn);

	if (!e->b.av && qp && hca_dev_is_peer(f->hca, e->b.dst_dev))
		e->av = qp->attr.av;
}

struct lq_entry *link_entry_get(struct fabric *f, const struct burst *b, int *ret)
{
	struct lq_key k = linkq_key(b);
	struct lq_entry *e = linkq_get(&f->link->q, &k, b);

	if (!e) {
		*ret = -ENOSPC;
		return NULL;
	}
	link_note_address(f, e);
	*ret = link_fetch_payload(f, b, e);
	if (!*ret)
		return e;
	linkq_drop(&f->link->q, e);
	*ret = *ret == -EAGAIN ? *ret : 0;
	return NULL;
}

int link_entry_result(struct fabric *f, int ret)
{
	return ret == -ENOSPC ? link_hold(f, link_room_at(f, fabric_ns(f))) : ret;
}

void link_entry_drop(struct fabric *f, struct lq_entry *e)
{
	linkq_drop(&f->link->q, e);
}

void *link_payload(struct fabric *f, const struct lq_entry *e)
{
	return f->link->q.mem + e->mem.iov[0].addr;
}

/* A burst between QPs of one port passes no link. */
static bool burst_is_within_port(const struct burst *b)
{
	return b->src_dev == b->dst_dev && b->src_port == b->dst_port;
}

/* Set k->lane to one that no other burst uses. Return: whether there is one. */
static bool link_own_lane(const struct linkq *q, struct lq_key *k)
{
	for (k->lane = LINK_OWN; k->lane < LINK_LANES; k->lane++)
		if (!linkq_flow(q, k))
			return true;
	return false;
}

static void link_put_fated(struct fabric *f, struct lq_key *k, struct lq_entry *e,
			   const struct link_fate *fate, struct link_held *held)
{
	struct linkq *q = &f->link->q;

	e->corrupt = fate->corrupt;
	e->look = fate->look;
	e->round = fate->round;
	e->at += fate->delay_ns;
	if (fate->hold_ns && link_own_lane(q, k)) {
		e->at += fate->hold_ns;
		*held = (struct link_held){ .key = *k, .entry = (u32)(e - q->entry) };
	} else {
		k->lane = fate->lane;
	}
	linkq_put(q, k, e);
}

u64 link_entry_depart(struct fabric *f, struct lq_entry *e, const struct link_fate *fate,
		      struct link_held *held)
{
	struct lq_key k = linkq_key(&e->b);
	u64 start = fabric_ns(f) + (fate ? fate->wait_ns : 0);
	struct trip t = { start, start };

	e->wire = (u32)link_wire_bytes(&e->b);
	e->left = start;
	if (fate && fate->trip) {
		t = *fate->trip;
		e->left = fate->left;
	} else if (!burst_is_within_port(&e->b)) {
		link_pass_up(f, &e->b, e->wire, &t, &e->left);
	}
	if (!burst_is_within_port(&e->b))
		link_pass_down(f, &e->b, e->wire, &t, &e->left);
	e->at = t.last;
	if (unlikely(f->chaos) && !(fate && fate->trip))
		e->at = link_chaos_arrival(f, &k, &e->b,
					   t.last - start + (fate ? fate->wait_ns : 0));
	if (fate && fate->trip)
		; /* no QP waits for a group's copy */
	else if (k.cls == LQ_REQUEST)
		relay_left(&f->engine, &e->b, e->left);
	else
		relay_expect(&f->engine, e->b.dst_dev, e->b.dst_qpn, e->left);
	if (fate)
		link_put_fated(f, &k, e, fate, held);
	else
		linkq_put(&f->link->q, &k, e);
	return e->at;
}

void link_held_arrive_at(struct fabric *f, const struct link_held *h, u64 at)
{
	struct linkq *q = &f->link->q;
	const struct lq_flow *flow = linkq_flow(q, &h->key);

	/* It may have waited long enough, and have arrived. */
	if (flow && flow->head == h->entry && q->entry[h->entry].at > at)
		linkq_arrive_at(q, &q->entry[h->entry], at);
}

struct hca_qp *link_expecting_qp(struct fabric *f, const struct burst *b)
{
	struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);

	if (!qp || !qp_addressed(qp, b) || !qp_reliable(qp) || b->psn != qp->resp.epsn)
		return NULL;
	if (qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD)
		return NULL;
	return port_of(f->hca, b->dst_dev, b->dst_port)->state == PORT_ACTIVE ? qp : NULL;
}

bool link_has_rules(const struct fabric *f, const struct burst *b)
{
	const struct hca *hca = f->hca;

	if (likely(!f->link->has_rules))
		return false;
	return hca->dev[b->src_dev].port[b->src_port].fault ||
	       (b->dst_dev < hca->n_devs && hca->dev[b->dst_dev].port[b->dst_port].fault);
}

int link_send_one(struct fabric *f, const struct burst *b)
{
	struct lq_entry *e;
	int ret;

	if (link_has_rules(f, b))
		return f->link->rules->send(f, b);
	ret = link_may_send(f, b, 1);
	if (!ret)
		ret = link_capture_may_send(f, b, 1);
	e = ret ? NULL : link_entry_get(f, b, &ret);
	if (e) {
		link_capture_sent(f, &e->b, NULL);
		link_entry_depart(f, e, NULL, NULL);
	}
	return link_entry_result(f, ret);
}

/* Mark the port. Return: whether it was marked before. */
static bool link_port_test_and_mark(struct link *l, u32 dev, u32 port)
{
	u32 n = dev * LINK_PORTS + port;
	bool was = l->seen[n / 64] & BIT64(n % 64);

	l->seen[n / 64] |= BIT64(n % 64);
	return was;
}

/*
 * Send a copy to the members on one port; it leaves the switch at *t. Return: 0, -EAGAIN or -ESRCH.
 */
static int link_send_copy(struct fabric *f, struct burst *b, struct trip t, u64 left)
{
	struct lq_key k = linkq_key(b);
	struct lq_entry *e = linkq_get(&f->link->q, &k, b);
	int ret = e ? link_fetch_payload(f, b, e) : -EAGAIN;

	if (ret) {
		if (e)
			linkq_drop(&f->link->q, e);
		return ret;
	}
	e->wire = (u32)link_wire_bytes(b);
	e->left = left;
	if (!burst_is_within_port(b))
		link_pass_down(f, b, e->wire, &t, &e->left);
	e->at = t.last;
	linkq_put(&f->link->q, &k, e);
	/* The payload is read once: the other copies are made of this one. */
	b->mem = e->b.mem;
	b->off = 0;
	return 0;
}

static int link_group_copies(struct fabric *f, const struct burst *b, bool ours)
{
	struct link *l = f->link;
	u64 now = fabric_ns(f), left = now;
	struct trip here = { now, now }, t = here, to;
	struct lq_entry *master = NULL;
	struct burst one = *b;
	u32 i = 0, dev, n = 0;
	u8 port;
	int ret = 0;

	while (mcast_next_port(f->hca, b, &i, &dev, &port))
		n++;
	/* Send to all ports or to none. */
	if (l->q.n_entries + n + LQ_SPARE > LQ_ENTRIES ||
	    (u64)(l->q.arena[LQ_REQUEST].used + n * 16) * BUDDY_UNIT > LQ_ARENA) {
		relay_hold(&f->engine, link_room_at(f, now));
		return -EAGAIN;
	}
	memset(l->seen, 0, sizeof(l->seen));
	if (ours)
		link_pass_up(f, b, link_wire_bytes(b), &t, &left);
	if (l->has_rules) {
		master = link_entry_get(f, b, &ret);
		if (!master)
			return link_entry_result(f, ret);
		one.mem = master->b.mem;
		one.off = 0;
	}
	for (i = 0; mcast_next_port(f->hca, b, &i, &dev, &port);) {
		if (link_port_test_and_mark(l, dev, port))
			continue;
		one.dst_dev = dev;
		one.dst_port = port;
		if (link_check_length(f, &one) == 1)
			continue;
		to = burst_is_within_port(&one) && ours ? here : t;
		if (master) {
			l->rules->send_copy(f, &one, &to, left);
			continue;
		}
		ret = link_send_copy(f, &one, to, left);
		if (ret)
			return ret == -EAGAIN ? ret : 0;
	}
	if (master)
		link_entry_drop(f, master);
	for (i = 0; ours && i < LINK_CARRIERS && l->carrier[i]; i++)
		l->carrier[i]->send_group(f, b);
	return 0;
}

int link_send_group(struct fabric *f, const struct burst *b, bool ours)
{
	struct cap_mark mark;
	int ret = cap_burst_begin(&f->engine, b, NULL, &mark);

	if (ret)
		return ret;
	ret = link_group_copies(f, b, ours);
	cap_burst_end(&f->engine, &mark, ret);
	return ret;
}

/* To a device of another host, over no link of ours that takes time. */
static int link_send_remote(struct fabric *f, u32 member, const struct burst *b)
{
	struct cap_mark mark;
	int ret;

	ret = cap_burst_begin(&f->engine, b, NULL, &mark);
	if (ret)
		return ret;
	ret = link_carry(f, member, b);
	cap_burst_end(&f->engine, &mark, ret);
	return ret;
}

int link_send(struct fabric *f, const struct burst *b)
{
	u32 member;
	int ret;

	/* A request that needs no ACK completes as soon as it is sent. */
	if ((b->dst_type == QPT_UD || b->dst_type == QPT_UC || b->dst_type == QPT_RAW_PACKET) &&
	    f->hca->cur_qp)
		poller_wake_add(f, &f->hca->qp[f->hca->cur_qp - 1]);
	if (burst_is_mcast(b))
		return link_send_group(f, b, true);
	ret = link_check_route(f, b);
	if (ret)
		return ret < 0 ? ret : 0;
	member = f->hca->dev[b->dst_dev].member;
	if (member && !f->chaos && !relay_port(&f->hca->dev[b->src_dev], b->src_port))
		return link_send_remote(f, member, b);
	return link_send_one(f, b);
}
