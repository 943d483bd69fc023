/* SPDX-License-Identifier: MIT */
/**
 * DOC: chaos: everything that the specification leaves open is randomised; nothing fails.
 *
 * Where the specification leaves an HCA a choice, an emulator tends to make the same choice every
 * time, and programs come to rely on it. With chaos all packets pass through the fabric process,
 * which varies:
 *
 *   - the order of completions of different QPs; those of one QP keep the order of its queue;
 *   - the turns of send queues: requests that were posted together are sent in several parts,
 *     between other queues' requests and later posts;
 *   - the size of bursts (relay_set_chunk() in the engine);
 *   - ACKs: one comes late, or one covers several requests;
 *   - RNR NAKs: a SEND is refused although a receive is posted, if the requester has retries to
 *     spare;
 *   - events: they are delivered later than what they report.
 *
 * No request fails because of chaos: ACK timeouts are as long as between joined fabrics, and an RNR
 * NAK is sent only where its wait is short and it uses one of many retries, and never twice for a
 * packet.
 *
 * Decisions are a hash of the seed, the numbers of the two QPs, the PSN counted from the first that
 * was seen, and the kind of decision; time is no part of it. Times differ between runs, but the
 * order need not: bursts that are sent within one round, a fraction of a millisecond long, arrive
 * after its end, spread by the hash over as much time, and before any burst of the next round. A
 * program of one thread that posts and then waits therefore sees the same order each time, provided
 * that it posts within a round; with a clock that is moved by hand it always does.
 */
#include "fabric/link/chaos.h"
#include "fabric/link/transit.h"

#include "emulator/queue/event.h"
#include "emulator/transport/responder.h"

#include <stdlib.h>

#define ROUND_NS (200 * NSEC_PER_USEC)
#define LATE	 256u
#define RNR_MAX	 (2 * NSEC_PER_MSEC) /* RNR timers with longer waits are left alone */

/* The kinds of decisions. */
enum salt {
	SALT_ARRIVAL,
	SALT_HOLD,
	SALT_HOLD_FOR,
	SALT_ACK,
	SALT_RNR,
	SALT_EVENT,
};

/**
 * struct chaos_end - what is known of one end: a QP that sends, or one that receives from another
 * fabric.
 * @qpn, @peer: the two QPs
 * @first: by class, the first PSN; @known: a bit for each class whose @first is valid
 * @held: PSN + 1 of the burst that waits for its turn, or has had it; @until: when that turn comes
 * @refused: PSN + 1 of the request that was refused by an RNR NAK
 */
struct chaos_end {
	u32 qpn, peer;
	u32 first[LQ_CLASSES];
	u32 known;
	u32 held;
	u32 refused;
	u64 until;
};

/**
 * struct late - an event that is delivered @at, to client @owner - 1. @gen, @fd_gen: generations of
 * client and channel
 */
struct late {
	u64 at;
	u32 owner, gen;
	u32 chan, fd_gen;
	struct chan_event ev;
};

/**
 * struct chaos - the state of chaos.
 * @round: when the current round began
 * @arriving: when the burst that is being delivered was due; 0: none is being delivered
 * @end: by QP slot: [0]: senders of this fabric; [1]: receivers whose sender is another fabric's
 * @late: events, in the order in which they were raised; @n_events: how many were raised so far
 * @pushing: events are being delivered now
 */
struct chaos {
	u64 seed;
	u64 round;
	u64 arriving;
	struct chaos_end end[HCA_MAX_QP][2];
	struct late late[LATE];
	u32 n_late;
	u64 n_events;
	bool pushing;
};

int chaos_make(struct fabric *f)
{
	/* Pages are touched only as far as QPs are used. */
	f->chaos = calloc(1, sizeof(*f->chaos));
	if (!f->chaos)
		return -ENOMEM;
	f->chaos->seed = mix64(f->hca->chaos_seed);
	return 0;
}

static struct chaos_end *chaos_end_get(struct fabric *f, const struct burst *b)
{
	bool far = b->src_dev >= f->hca->n_devs || f->hca->dev[b->src_dev].member;
	u32 qpn = far ? b->dst_qpn : b->src_qpn, peer = far ? b->src_qpn : b->dst_qpn;
	struct chaos_end *e = &f->chaos->end[qpn & (HCA_MAX_QP - 1)][far];

	if (e->qpn != qpn || e->peer != peer)
		*e = (struct chaos_end){ .qpn = qpn, .peer = peer };
	return e;
}

static u64 chaos_decide(struct fabric *f, const struct burst *b, enum salt salt)
{
	struct chaos_end *e = chaos_end_get(f, b);
	u32 cls = linkq_key(b).cls;

	if (!(e->known & 1u << cls)) {
		e->known |= 1u << cls;
		e->first[cls] = b->psn;
	}
	return mix64(mix64(f->chaos->seed ^ ((u64)b->src_qpn << 32 | b->dst_qpn)) ^
		     ((u64)((b->psn - e->first[cls]) & IB_PSN_MASK) << 16 | cls << 8 | salt));
}

u64 chaos_now(const struct fabric *f)
{
	if (f->engine.due > 1)
		return f->engine.due;
	return f->chaos->arriving ? f->chaos->arriving : fabric_ns(f);
}

void chaos_set_arriving(struct fabric *f, u64 at)
{
	f->chaos->arriving = at;
}

/* A round is as long in real time whatever the speed of the clock. */
static u64 chaos_round_ns(const struct fabric *f)
{
	u64 ns = hca_clock_span(&f->hca->clock, ROUND_NS);

	return ns ? ns : ROUND_NS;
}

/* A time in the round after the current one, chosen by @x. */
static u64 chaos_next_round(struct fabric *f, u64 x)
{
	u64 now = chaos_now(f), ns = chaos_round_ns(f);

	if (now >= f->chaos->round + ns)
		f->chaos->round = now;
	return f->chaos->round + ns + x % ns;
}

u64 chaos_arrival(struct fabric *f, const struct burst *b, u64 extra)
{
	return chaos_next_round(f, chaos_decide(f, b, SALT_ARRIVAL)) + extra;
}

bool chaos_hold(struct fabric *f, const struct burst *b, u64 *at)
{
	struct chaos_end *e = chaos_end_get(f, b);

	if (linkq_key(b).cls != LQ_REQUEST || b->dst_qpn == GSI_QPN)
		return false;
	if (e->held != b->psn + 1) {
		if (chaos_decide(f, b, SALT_HOLD) % 4)
			return false;
		e->held = b->psn + 1;
		e->until = chaos_next_round(f, chaos_decide(f, b, SALT_HOLD_FOR));
	}
	/* Later posts do not end the wait. */
	*at = e->until;
	return chaos_now(f) < e->until;
}

/* Whether one ACK can cover this burst and the next. */
static bool chaos_is_acked(const struct burst *b)
{
	return (b->op == BOP_SEND || b->op == BOP_WRITE) && (b->flags & BF_ACK_REQ);
}

void chaos_coalesce_ack(struct fabric *f, const struct burst *b, struct burst *last)
{
	if (chaos_is_acked(b) && chaos_is_acked(last) && psn_diff(b->psn, last->psn) > 0 &&
	    chaos_decide(f, last, SALT_ACK) % 2)
		last->flags &= (u8)~BF_ACK_REQ;
}

/*
 * Whether the requester has RNR retries to spare; it may belong to another fabric, then it has not.
 */
static bool chaos_has_rnr_retries(struct fabric *f, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->src_qpn);

	return qp && qp->dev == b->src_dev && (qp->attr.rnr_retry == 7 || qp->req.rnr_retry > 1);
}

bool chaos_send_rnr(struct fabric *f, const struct burst *b, int *ret)
{
	struct chaos_end *e = chaos_end_get(f, b);
	struct hca_qp *qp;

	if (b->op != BOP_SEND || !(b->flags & BF_FIRST) || b->aeth || e->refused == b->psn + 1)
		return false;
	qp = link_expecting_qp(f, b);
	if (!qp || (qp->resp.flags & RESP_IN_MSG) || !chaos_has_rnr_retries(f, b) ||
	    ib_rnr_timer_ns(qp->attr.min_rnr_timer & 0x1f) > RNR_MAX ||
	    chaos_decide(f, b, SALT_RNR) % 8)
		return false;
	*ret = wire_send_rnr(&f->engine, qp, b->psn, qp->attr.min_rnr_timer);
	if (*ret != -EAGAIN)
		e->refused = b->psn + 1;
	return true;
}

/* --- events --- */

/* Whether the event's object still exists: otherwise the event is discarded, like an unread one. */
static bool chaos_event_is_alive(const struct fabric *f, const struct late *l)
{
	const struct client *cl = f->clients.by_id[l->owner - 1];
	const struct chan_event *ev = &l->ev;
	struct hca *hca = f->hca;

	if (!cl || cl->dead || cl->gen != l->gen || cl->seg->chan[l->chan].fd_gen != l->fd_gen)
		return false;
	switch (ev->kind) {
	case ELEM_CQ:
		return hca->cq[ev->handle].client == l->owner && hca->cq[ev->handle].gen == ev->gen;
	case ELEM_QP:
		return hca_qp_by_num(hca, ev->gen);
	case ELEM_SRQ:
		return hca->srq[ev->handle].client == l->owner &&
		       hca->srq[ev->handle].gen == ev->gen;
	default:
		return false;
	}
}

bool chaos_delay_event(void *ctx, u32 owner, u32 chan, const struct chan_event *ev)
{
	struct fabric *f = ctx;
	struct chaos *c = f->chaos;
	struct late *l;
	u64 at;
	u32 i;

	if (likely(!c) || c->pushing || c->n_late == LATE || !f->clients.by_id[owner - 1])
		return false;
	if (ev->kind != ELEM_CQ && ev->kind != ELEM_QP && ev->kind != ELEM_SRQ)
		return false;
	at = chaos_now(f) +
	     mix64(c->seed ^ (c->n_events++ << 8 | SALT_EVENT)) % (4 * chaos_round_ns(f));
	/* Events of one channel keep their order. */
	for (i = 0; i < c->n_late; i++)
		if (c->late[i].owner == owner && c->late[i].chan == chan && c->late[i].at > at)
			at = c->late[i].at;
	l = &c->late[c->n_late++];
	*l = (struct late){ .at = at, .owner = owner, .chan = chan, .ev = *ev };
	l->gen = f->clients.by_id[owner - 1]->gen;
	l->fd_gen = f->clients.by_id[owner - 1]->seg->chan[chan].fd_gen;
	return true;
}

u64 chaos_next(const struct fabric *f)
{
	u64 next = NEVER;
	u32 i;

	for (i = 0; f->chaos && i < f->chaos->n_late; i++)
		next = min_u64(next, f->chaos->late[i].at);
	return next;
}

void chaos_work(struct fabric *f)
{
	struct chaos *c = f->chaos;
	u64 now = fabric_ns(f);
	u32 i, kept = 0;

	c->pushing = true;
	for (i = 0; i < c->n_late; i++) {
		if (c->late[i].at > now)
			c->late[kept++] = c->late[i];
		else if (chaos_event_is_alive(f, &c->late[i]))
			chan_push(&f->engine, c->late[i].owner, c->late[i].chan, &c->late[i].ev);
	}
	c->n_late = kept;
	c->pushing = false;
}
