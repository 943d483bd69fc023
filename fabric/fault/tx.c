/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults on packets where they leave. See tx.h.
 *
 * Theory of operation
 * -------------------
 * A burst between ports that rules are about is copied as a whole first. From then on the sender
 * can no longer be asked to retry, so each packet is matched, and counted, exactly once. Then each
 * packet is matched against the rules, in order. Packets that no rule touches continue together, as
 * bursts; the others are sent one by one, each with its own fate. Requests that a rule may refuse
 * at their destination (rnr, nak, cm reject, cm mra) are sent one by one as well, and matched
 * against those rules there (rx.c).
 *
 * A burst that no rule has touched is sent unchanged. A burst that has lost its first or last
 * packet loses the flags of that end as well, as on a wire: when the last packet is lost, its
 * request for an ACK is lost with it.
 */
#include "emulator/mad.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/pace.h"
#include "fabric/fault/table.h"
#include "fabric/fault/packet.h"
#include "fabric/fault/tx.h"
#include "fabric/link/burst_capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define HOLD_NS	   (10 * NSEC_PER_MSEC) /* reorder, unless the rule gives a time */
#define HELD	   64u
#define BURST_PKTS 4096u /* longer bursts, which no QP sends, pass unexamined */
#define FLOWS	   16384u

/** struct held - a packet that waits until @gap more packets of its flow have overtaken it. */
struct held {
	struct link_held link;
	u32 gap;
};

/**
 * struct faultwire - state that outlives a packet.
 * @rounds: four per QP slot: sent and received, requests and responses
 * @flow: of SRD, whose queue pairs have many peers: by a hash of both ends. Pages are touched only
 *	as far as there are flows.
 */
struct faultwire {
	struct held held[HELD];
	u32 n_held;
	struct pkt_rounds rounds[HCA_MAX_QP][4];
	struct pkt_rounds flow[FLOWS];
};

/**
 * struct tx_verdict - what happens to one packet. @dropped, @doubled: id of that rule; 0:
 * none
 */
struct tx_verdict {
	struct link_fate fate;
	u32 dropped;
	u32 copies;
	u32 doubled;
	u32 gap;
	bool touched;
};

/**
 * struct tx_burst - a burst that is being sent. @said: text for captures: what rules do to the
 * current packet
 */
struct tx_burst {
	struct fabric *f;
	const struct lq_entry *whole;
	struct fault_pkt pkt;
	u32 first_psn;
	const struct trip *trip;
	u64 left;
	char said[CAP_TEXT];
};

static const struct link_rules fault_link_rules;

int fault_tx_make(struct fabric *f)
{
	/* Pages are touched only for the QPs that are counted. */
	f->faultwire = calloc(1, sizeof(*f->faultwire));
	if (!f->faultwire)
		return -ENOMEM;
	link_set_rules(f, &fault_link_rules);
	return 0;
}

/* Add "TEXT by fault rule NAME, PLACE" to @text of CAP_TEXT bytes. */
__attribute__((format(printf, 4, 5))) static void fault_capture_text(struct fabric *f, char *text,
								     u32 rule, const char *fmt, ...)
{
	const struct fault_rule *r = fault_rule_find(f->faults, "", rule);
	size_t n = strlen(text);
	va_list ap;

	if (n)
		n += (size_t)snprintf(text + n, CAP_TEXT - n, "; ");
	va_start(ap, fmt);
	if (n < CAP_TEXT)
		n += (size_t)vsnprintf(text + n, CAP_TEXT - n, fmt, ap);
	va_end(ap);
	if (n >= CAP_TEXT)
		return;
	if (!r)
		snprintf(text + n, CAP_TEXT - n, " by fault rule %u", rule);
	else
		snprintf(text + n, CAP_TEXT - n, " by fault rule %s%s%.250s", r->name,
			 r->place[0] ? ", " : ": ", r->place[0] ? r->place : r->text);
}

static void fault_describe_sent(struct fabric *f, char *text, u32 rule)
{
	fault_capture_text(f, text, rule, "sent");
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Rounds are counted at the end that is on this fabric: the sender if both are. */
static struct pkt_rounds *tx_rounds(struct fabric *f, const struct fault_pkt *p, bool answer)
{
	const struct fault_end *e = p->src.client ? &p->src : &p->dst;
	struct pkt_rounds *r;

	if (!p->conn || !e->client)
		return NULL;
	r = &f->faultwire->rounds[e->qpn & (HCA_MAX_QP - 1)][(e == &p->dst) * 2 + answer];
	if (r->qpn != e->qpn || r->conn != p->conn)
		*r = (struct pkt_rounds){ .qpn = e->qpn, .conn = p->conn };
	return r;
}

/* A QP that was reset counts anew: the burst has the number of resets. */
static struct pkt_rounds *tx_flow_rounds(struct fabric *f, const struct burst *b)
{
	u32 peer = b->dst_qpn | b->srqn << 24;
	u64 key = mix64(mix64((u64)b->src_dev << 32 | b->src_qpn) ^ ((u64)b->dst_dev << 32 | peer));
	struct pkt_rounds *r = &f->faultwire->flow[key % FLOWS];

	if (r->qpn != b->src_qpn || r->conn != peer)
		*r = (struct pkt_rounds){ .qpn = b->src_qpn, .conn = peer };
	return r;
}

static void tx_describe_packet(struct tx_burst *c, const struct burst *b)
{
	struct pkt_rounds *r;

	fault_pkt_set_one(b, c->first_psn, &c->pkt);
	r = b->dst_type == QPT_SRD ? tx_flow_rounds(c->f, b)
				   : tx_rounds(c->f, &c->pkt, fault_op_is_answer(c->pkt.op));
	c->pkt.round = r ? fault_rounds_next(r, b->psn) : 1;
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* Text for captures. @late: ns of delay that the rule added */
static void tx_capture_fate(struct tx_burst *c, const struct fault_rule *r,
			    const struct tx_verdict *v, u64 late)
{
	switch (r->act) {
	case FA_DROP:
		if (v->dropped == r->id)
			fault_capture_text(c->f, c->said, r->id, "dropped");
		break;
	case FA_CORRUPT:
		fault_capture_text(c->f, c->said, r->id, "damaged");
		break;
	case FA_DUPLICATE:
		fault_capture_text(c->f, c->said, r->id, "sent twice");
		break;
	case FA_DELAY:
		fault_capture_text(c->f, c->said, r->id, "delayed %.6f s", (double)late / 1e9);
		break;
	case FA_REORDER:
		fault_capture_text(c->f, c->said, r->id, "held back, to be overtaken by %u",
				   v->gap);
		break;
	case FA_RATE:
		fault_capture_text(c->f, c->said, r->id, "held back to its rate");
		break;
	}
}

static void tx_apply_rule(struct tx_burst *c, struct fault_rule *r, const struct burst *b,
			  struct tx_verdict *v)
{
	u64 key = fault_pkt_key(&c->pkt), was = v->fate.delay_ns;

	v->touched = true;
	switch (r->act) {
	case FA_DROP:
		v->dropped = v->dropped ? v->dropped : r->id;
		break;
	case FA_CORRUPT:
		v->fate.corrupt = r->id;
		break;
	case FA_DUPLICATE:
		v->copies++;
		v->doubled = r->id;
		break;
	case FA_DELAY:
		v->fate.delay_ns += fault_delay_ns(c->f, r, key);
		v->fate.lane = fault_rule_lane(c->f, r);
		break;
	case FA_REORDER:
		v->gap = r->what.gap ? r->what.gap : 1;
		v->fate.hold_ns = r->what.delay_ns ? r->what.delay_ns : HOLD_NS;
		break;
	case FA_RATE:
		v->fate.wait_ns += fault_rate_wait_ns(c->f, r, link_wire_bytes(b));
		v->fate.lane = fault_rule_lane(c->f, r);
		break;
	}
	if (unlikely(c->f->hca->capture.on))
		tx_capture_fate(c, r, v, v->fate.delay_ns - was);
}

/* Whether a rule may act on the packet where it arrives. */
static bool tx_has_rx_rule(const struct tx_burst *c)
{
	const struct faults *t = c->f->faults;
	u32 i;

	for (i = 0; i < t->high; i++)
		if (t->rule[i].id && (FAULT_ACTS_ARRIVAL & FAULT_ACT(t->rule[i].act)) &&
		    fault_rule_is_on_pkt(c->f, &t->rule[i], &c->pkt))
			return true;
	return false;
}

/* @b: one packet. */
static void tx_judge_packet(struct tx_burst *c, const struct burst *b, struct tx_verdict *v)
{
	struct fault_rule *r;
	u32 at = 0;

	*v = (struct tx_verdict){ .copies = 1, .fate = { .trip = c->trip, .left = c->left } };
	c->said[0] = '\0';
	tx_describe_packet(c, b);
	fault_trigger_rules(c->f, &c->pkt);
	r = fault_match_cut(c->f, &c->pkt);
	if (r) {
		v->dropped = r->id;
		v->touched = true;
		if (unlikely(c->f->hca->capture.on))
			fault_capture_text(c->f, c->said, r->id, "dropped");
	}
	while ((r = fault_match_wire(c->f, &c->pkt, FAULT_ACTS_SEND, &at)))
		tx_apply_rule(c, r, b, v);
	v->fate.round = c->pkt.round;
	v->fate.look = !v->dropped && tx_has_rx_rule(c);
	v->touched |= v->fate.look;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void tx_held_remove(struct faultwire *w, u32 i)
{
	w->held[i] = w->held[--w->n_held];
}

/* A packet of the flow leaves at @at: one more packet has overtaken the held ones. */
static void tx_held_overtake(struct fabric *f, const struct lq_key *k, u64 at)
{
	struct faultwire *w = f->faultwire;
	struct lq_key key;
	u32 i;

	for (i = 0; i < w->n_held;) {
		key = w->held[i].link.key;
		key.lane = 0;
		if (memcmp(&key, k, sizeof(key)) != 0 || --w->held[i].gap) {
			i++;
			continue;
		}
		link_held_arrive_at(f, &w->held[i].link, at + 1);
		tx_held_remove(w, i);
	}
}

/* The packet is dropped. @rule: 0: the queue is full */
static void tx_drop(struct tx_burst *c, const struct burst *b, u32 rule)
{
	const struct cap_note note = { .fate = CAP_DROPPED,
				       .text = rule ? c->said
						    : "dropped: the link's queue is full" };

	fault_burst_lost(c->f, b, rule);
	if (unlikely(c->f->hca->capture.on))
		(void)cap_burst_put(&c->f->engine, b, &note); /* there is room */
}

/* Copy one piece out of the burst. Return: NULL: there is no room, the piece is lost. */
static struct lq_entry *tx_copy_piece(struct tx_burst *c, const struct burst *b)
{
	struct lq_entry *e;
	int ret;

	e = link_entry_get(c->f, b, &ret);
	if (!e)
		tx_drop(c, b, 0);
	return e;
}

/*
 * The packet leaves its port. Copies for a group leave the switch: the datagram was captured
 * before.
 */
static void tx_capture_sent(struct tx_burst *c, const struct burst *b, const struct tx_verdict *v)
{
	const struct cap_note note = { .fate = v->fate.corrupt ? CAP_DAMAGED : 0,
				       .text = v->touched ? c->said : NULL };

	if (unlikely(c->f->hca->capture.on) && !c->trip)
		link_capture_sent(c->f, b, &note);
}

static void tx_send_piece(struct tx_burst *c, const struct burst *b, const struct tx_verdict *v)
{
	struct faultwire *w = c->f->faultwire;
	struct lq_key k = linkq_key(b);
	struct link_held held = { 0 };
	struct link_fate fate = v->fate;
	struct lq_entry *e = tx_copy_piece(c, b);
	u64 at;

	if (!e)
		return;
	tx_capture_sent(c, b, v);
	if (w->n_held == HELD)
		fate.hold_ns = 0;
	at = link_entry_depart(c->f, e, &fate, &held);
	if (held.key.lane)
		w->held[w->n_held++] = (struct held){ .link = held, .gap = v->gap };
	else if (w->n_held)
		tx_held_overtake(c->f, &k, at);
}

/* Packets @from to @to of the burst. */
static void tx_send_run(struct tx_burst *c, u32 from, u32 to)
{
	const struct tx_verdict none = { .fate = { .trip = c->trip, .left = c->left } };
	struct burst b;

	if (from == to)
		return;
	burst_split(&c->whole->b, from, to - from, &b);
	tx_send_piece(c, &b, &none);
}

static void tx_send_one(struct tx_burst *c, const struct burst *b, const struct tx_verdict *v)
{
	struct tx_verdict once = *v;
	u32 i;

	if (v->dropped) {
		tx_drop(c, b, v->dropped);
		return;
	}
	for (i = 0; i < v->copies; i++) {
		tx_send_piece(c, b, &once);
		/* Duplicates are sent at once, even if the first packet is held. */
		once.fate.hold_ns = 0;
	}
}

/*
 * Send the whole burst once all of its packets were examined and none was touched: it keeps its
 * place in the queue and is not copied again.
 */
static bool tx_send_whole(struct tx_burst *c, struct lq_entry *whole)
{
	struct link_fate fate = { .trip = c->trip, .left = c->left };
	const struct tx_verdict none = { 0 };
	struct lq_key k = linkq_key(&whole->b);
	u64 at;

	tx_capture_sent(c, &whole->b, &none);
	at = link_entry_depart(c->f, whole, &fate, NULL);

	if (c->f->faultwire->n_held)
		tx_held_overtake(c->f, &k, at);
	return true;
}

/* Match all packets against the rules and send them. Return: whether @whole itself was sent. */
static bool tx_send_packets(struct tx_burst *c, struct lq_entry *whole)
{
	u32 n = burst_packets(&whole->b), i, run = 0;
	struct tx_verdict v;
	struct burst b;

	for (i = 0; i < n; i++) {
		if (n == 1)
			b = whole->b;
		else
			burst_split(&whole->b, i, 1, &b);
		tx_judge_packet(c, &b, &v);
		if (!v.touched)
			continue;
		tx_send_run(c, run, i);
		tx_send_one(c, &b, &v);
		run = i + 1;
	}
	if (!run)
		return tx_send_whole(c, whole);
	tx_send_run(c, run, n);
	return false;
}

static void tx_send_burst(struct fabric *f, struct lq_entry *whole, const struct trip *trip,
			  u64 left)
{
	struct tx_burst c = { .f = f, .whole = whole, .trip = trip, .left = left };

	fault_pkt_set_ends(f->hca, &whole->b, &c.pkt, &c.first_psn);
	if (fault_pkt_op(&whole->b) == OP_MAD && linkq_payload(&whole->b) == MAD_SIZE)
		c.pkt.mad = (u32)mad_get(link_payload(f, whole), F_ATTR);
	if (burst_packets(&whole->b) > BURST_PKTS)
		tx_send_whole(&c, whole);
	else if (!tx_send_packets(&c, whole))
		link_entry_drop(f, whole);
}

static int fault_tx_send(struct fabric *f, const struct burst *b)
{
	struct lq_entry *whole;
	int ret = link_may_send(f, b, 2 * min_u32(burst_packets(b), BURST_PKTS / 4));

	if (!ret)
		ret = fault_check_window(f, b);
	if (!ret)
		ret = fault_check_rates(f, b);
	if (!ret)
		ret = link_capture_may_send(f, b, 2 * min_u32(burst_packets(b), BURST_PKTS));
	if (ret)
		return ret;
	whole = link_entry_get(f, b, &ret);
	if (whole)
		tx_send_burst(f, whole, NULL, 0);
	return link_entry_result(f, ret);
}

static void fault_tx_copy(struct fabric *f, const struct burst *b, const struct trip *trip,
			  u64 left)
{
	int ret;
	struct lq_entry *e = link_entry_get(f, b, &ret);

	if (e)
		tx_send_burst(f, e, trip, left);
	else
		fault_burst_lost(f, b, 0);
}

static const struct link_rules fault_link_rules = {
	.send = fault_tx_send,
	.send_copy = fault_tx_copy,
	.arrive = fault_rx_arrive,
	.arrive_corrupt = fault_rx_corrupt,
	.describe_sent = fault_describe_sent,
};
