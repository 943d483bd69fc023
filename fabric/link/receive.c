/* SPDX-License-Identifier: MIT */
/** DOC: where links end: bursts that arrive at our ports, or at the switch from another host. */
#include "fabric/link/burst_capture.h"
#include "fabric/link/chaos.h"
#include "fabric/link/link.h"
#include "fabric/link/transit.h"

#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/raw.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"

#define AGAIN_NS     (20 * NSEC_PER_USEC)
#define AGAIN_SHIFTS 6
#define WORK_BURSTS  512
#define WORK_BYTES   (4u << 20)

/*
 * Whether there is room for the response to a burst, if it gets one. *next: if not, when to check
 * again.
 */
static bool link_answer_fits(struct fabric *f, const struct burst *b, u64 now, u64 *next)
{
	struct lq_key back = linkq_key(b);
	u64 len = b->op == BOP_READ_REQ ? b->len : 0;

	if (back.cls == LQ_ANSWER)
		return true;
	back = (struct lq_key){ .src_dev = b->dst_dev,
				.dst_dev = b->src_dev,
				.src_qpn = b->dst_qpn,
				.dst_qpn = b->src_qpn,
				.src_port = b->dst_port,
				.dst_port = b->src_port,
				.cls = LQ_ANSWER };
	*next = link_room_at(f, now);
	if (!linkq_has_room(&f->link->q, &back, len) || !link_capture_answer_fits(f, b))
		return false;
	if (!len || !link_is_held_back(f, &back, len, now, next))
		return true;
	/*
	 * A responder serves its requesters in turns: the requester must not take its request for
	 * lost.
	 */
	relay_expect(&f->engine, b->src_dev, b->src_qpn, *next);
	return false;
}

/* What of a QP changes when its program can find a completion. */
struct qp_progress {
	u32 una, state;
};

static struct qp_progress qp_progress_of(const struct hca_qp *qp)
{
	return qp ? (struct qp_progress){ qp->req.una, qp->state } : (struct qp_progress){ 0 };
}

/*
 * Whether a burst that has arrived is in the midst of a message, and has ended nothing: its program
 * would wake up for it, find nothing, and take the CPU from the rest.
 */
static bool link_message_goes_on(const struct hca_qp *qp, const struct qp_progress *before,
				 const struct burst *b)
{
	if (!qp || qp->rndv || qp->state != before->state || qp->req.una != before->una)
		return false;
	return linkq_key(b).cls == LQ_ANSWER ? b->aeth < AETH_RNR_NAK : !(b->flags & BF_LAST);
}

/* Deliver a burst to its QP. Return: as hca_input(). */
static int link_deliver_to_qp(struct fabric *f, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);
	const struct qp_progress before = qp_progress_of(qp);
	int ret = hca_input(&f->engine, b);

	if (!ret && link_message_goes_on(qp, &before, b))
		poller_wake_later(f);
	else if (!ret)
		poller_wake_add(f, qp);
	return ret;
}

/*
 * What leaves for another host. If its queue pair was destroyed meanwhile, the entry has the
 * address. @copy: room for it
 */
static const struct burst *link_outgoing(struct fabric *f, const struct lq_entry *e,
					 struct burst *copy)
{
	if (e->b.av || !e->av.is_global || hca_qp_by_num(f->hca, e->b.src_qpn))
		return &e->b;
	*copy = e->b;
	copy->av = &e->av;
	return copy;
}

/* Deliver a burst to its destination. Return: as hca_input(); *next as link_answer_fits(). */
static int link_deliver(struct fabric *f, const struct burst *b, u32 *step, u64 now, u64 *next)
{
	u32 member = f->hca->dev[b->dst_dev].member;
	int ret;

	if (member)
		return link_carry(f, member, b);
	if (burst_is_mcast(b))
		return mcast_deliver(&f->engine, b, step);
	if (b->op == BOP_READ_REQ && b->len > BUDDY_MAX)
		return 0; /* no requester of ours asks for that much at once */
	if (!link_answer_fits(f, b, now, next))
		return -EAGAIN;
	if (unlikely(f->chaos) && chaos_send_rnr(f, b, &ret))
		return ret;
	return link_deliver_to_qp(f, b);
}

/* A burst that was damaged on its way: a port that is not of this fabric finds that by itself. */
static int link_arrive_damaged(struct fabric *f, const struct lq_entry *e)
{
	u32 member = f->hca->dev[e->b.dst_dev].member;
	struct burst copy;

	if (member && link_carry_damaged(f, member, link_outgoing(f, e, &copy)) == -EAGAIN)
		return -EAGAIN;
	f->link->rules->arrive_corrupt(f, e);
	return 0;
}

/* Deliver a burst that was on its way. */
static int link_arrive(struct fabric *f, struct lq_entry *e, u64 now, u64 *next)
{
	struct burst copy;
	int ret;

	if (unlikely(e->corrupt))
		return link_arrive_damaged(f, e);
	if (unlikely(e->look)) {
		if (!link_answer_fits(f, &e->b, now, next))
			return -EAGAIN;
		if (f->link->rules->arrive(f, e, &ret))
			return ret;
	}
	if (unlikely(e->b.dst_type == QPT_RAW_PACKET))
		return raw_input(&f->engine, &e->b, link_payload(f, e), &e->step);
	return link_deliver(f, link_outgoing(f, e, &copy), &e->step, now, next);
}

void link_work(struct fabric *f)
{
	struct link *l = f->link;
	u64 now = fabric_ns(f), bytes = 0, wait, next;
	struct lq_entry *e;
	u32 n = 0;

	f->link->again_at = 0;
	while (!f->link->again_at && n++ < WORK_BURSTS && bytes < WORK_BYTES &&
	       (e = linkq_due(&l->q, now))) {
		bytes += linkq_payload(&e->b);
		wait = AGAIN_NS << min_u32(e->tries, AGAIN_SHIFTS);
		next = now + hca_clock_span(&f->hca->clock, wait);
		l->flow = e->flow;
		if (unlikely(f->chaos))
			chaos_set_arriving(f, e->at);
		if (link_arrive(f, e, now, &next) != -EAGAIN) {
			linkq_done(&l->q, e);
		} else {
			linkq_retry_at(&l->q, e, next);
			/*
			 * If the clock stands still the burst stays due: it does not wait for time.
			 */
			if (next <= now)
				f->link->again_at = real_ns() + wait;
		}
		l->flow = LQ_ENTRIES;
	}
	if (unlikely(f->chaos))
		chaos_set_arriving(f, 0);
}

/* Responses that were sent meanwhile and have arrived already count as well. */
bool link_has_arrivals(const struct fabric *f)
{
	return linkq_due(&f->link->q, fabric_ns(f));
}

void link_publish_parked(struct fabric *f)
{
	u32 parked = f->link->q.n_flows != 0;

	if (unlikely(f->hca->wires.parked != parked))
		store_relaxed(&f->hca->wires.parked, parked);
}

bool link_is_direct(const struct fabric *f, const struct burst *b)
{
	const struct hca_uplink *up = link_uplink(f->hca, b->dst_dev, b->dst_port);
	struct lq_key k;

	if (!up || f->chaos || relay_port(&f->hca->dev[b->dst_dev], b->dst_port))
		return false;
	/* In the common case nothing is on its way to any QP. */
	if (likely(!f->link->q.n_flows))
		return true;
	k = linkq_key(b);
	return !linkq_flow(&f->link->q, &k);
}

/* After bursts that are on their way to the same QP; at once if there are none. */
static int link_input_one(struct fabric *f, const struct burst *b)
{
	const struct hca_uplink *up = link_uplink(f->hca, b->dst_dev, b->dst_port);
	struct cap_mark mark;
	u64 next;
	u32 step = 0;
	int ret;

	if (link_is_direct(f, b)) {
		ret = cap_burst_begin(&f->engine, b, NULL, &mark);
		if (ret)
			return ret;
		ret = link_deliver(f, b, &step, fabric_ns(f), &next);
		cap_burst_end(&f->engine, &mark, ret);
		if (ret != -EAGAIN)
			return 0;
	}
	return up ? link_send_one(f, b) : 0;
}

int link_input(struct fabric *f, const struct burst *b)
{
	int ret;

	if (burst_is_mcast(b))
		return link_send_group(f, b, false);
	ret = link_check_route(f, b);
	if (ret)
		return ret < 0 ? ret : 0;
	return link_input_one(f, b);
}
