/* SPDX-License-Identifier: MIT */
/**
 * DOC: the links between ports and the fabric's switch, as other modules use them. See link.c.
 *
 * Bursts to devices of other hosts go to a struct link_carrier. join/ is one: other fabrics over
 * TCP. roce/ is another: RoCE v2 over UDP. A carrier hands what
 * it receives to link_input(). Between ports that fault rules are about, links ask struct
 * link_rules, which fault/tx.c provides.
 */
#ifndef FABRIC_LINK_LINK_H
#define FABRIC_LINK_LINK_H

#include "fabric/core/fabric.h"

#define LINK_CARRIERS 4u

struct lq_entry;
struct trip;

/** struct link_carrier - takes bursts to devices that are not this fabric's own. Token held. */
struct link_carrier {
	/* Whether it carries bursts to that member (struct hca_dev.member). */
	bool (*carries)(const struct fabric *f, u32 member);
	/*
	 * As link_send(), to a device of @member. Return: 0, also if the burst is lost; -EAGAIN:
	 * there is no room now, and the QP that runs is rung when there is.
	 */
	int (*send)(struct fabric *f, u32 member, const struct burst *b);
	/* The same with a wrong ICRC. NULL: it has no such packets, and the burst is lost here. */
	int (*send_damaged)(struct fabric *f, u32 member, const struct burst *b);
	/* As engine_ops.under_way, for a QP whose peer is @member's. NULL: it may lose packets. */
	bool (*under_way)(struct fabric *f, u32 member, struct hca_qp *qp);
	/* Send a multicast datagram of ours to every host that it can reach. */
	void (*send_group)(struct fabric *f, const struct burst *b);
};

/** struct link_rules - what fault rules do to packets on links. Token held. */
struct link_rules {
	/* As link_send_one(), packet by packet. */
	int (*send)(struct fabric *f, const struct burst *b);
	/*
	 * Send a datagram's copy to the members of its group on one port. @trip, @left: as in
	 * struct link_fate
	 */
	void (*send_copy)(struct fabric *f, const struct burst *b, const struct trip *trip,
			  u64 left);
	/*
	 * A burst of one packet that send() has marked arrives at its receiver. Return: whether a
	 * rule has handled it, with *ret as hca_input(); if not, the caller delivers it.
	 */
	bool (*arrive)(struct fabric *f, struct lq_entry *e, int *ret);
	/* A damaged burst arrives at its receiver, which drops it. */
	void (*arrive_corrupt)(struct fabric *f, const struct lq_entry *e);
	/*
	 * Add to @text, of CAP_TEXT bytes, that the rule with that id made the responder send this
	 * packet.
	 */
	void (*describe_sent)(struct fabric *f, char *text, u32 rule);
};

/* --- carrier.c --- */

/** link_add_carrier() - hand bursts to @c whose destination it carries. */
void link_add_carrier(struct fabric *f, const struct link_carrier *c);
/**
 * link_carry() - hand a burst to the carrier of @member. Return: as link_carrier.send; 0: it has no
 * carrier, and is lost.
 */
int link_carry(struct fabric *f, u32 member, const struct burst *b);
/** link_carry_damaged() - the same as link_carrier.send_damaged. Return: 0 also if it has none. */
int link_carry_damaged(struct fabric *f, u32 member, const struct burst *b);
/** link_under_way() - as engine_ops.under_way. */
bool link_under_way(struct fabric *f, struct hca_qp *qp);

/* --- link.c --- */

/** link_make() - make links with nothing on its way. Return: 0 or -ENOMEM. */
int link_make(struct fabric *f);
/**
 * link_set_rules() - ask @r about packets, while link_enable_rules() has announced
 * rules.
 */
void link_set_rules(struct fabric *f, const struct link_rules *r);
/** link_enable_rules() - whether there are rules about packets. */
void link_enable_rules(struct fabric *f, bool enable);
/** link_send() - as engine_ops.link: a burst leaves one of our ports. Token held. */
int link_send(struct fabric *f, const struct burst *b);
/** link_next() - fabric time of the next arrival; ~0: nothing is on its way. */
u64 link_next(const struct fabric *f);
/**
 * link_retry_at() - real time at which links retry a delivery that failed while the clock stood
 * still; 0: there is none.
 */
u64 link_retry_at(const struct fabric *f);
/** link_mem() - the payload of bursts on their way: the memory of HCA_LINK. */
void *link_mem(struct fabric *f);
/**
 * link_flow() - the flow whose burst is being delivered; bursts without a flow have a number, too.
 */
u32 link_flow(const struct fabric *f);
/** link_flow_waits() - whether the flow has a burst whose delivery will be retried. */
bool link_flow_waits(const struct fabric *f, u32 flow);
/** link_holds_qp() - whether anything is on its way to or from a QP. */
bool link_holds_qp(const struct fabric *f, u32 dev, u32 qpn);
/** link_each_device() - as linkq_each_device(). */
void link_each_device(const struct fabric *f, void (*fn)(void *ctx, u32 dev), void *ctx);

/* --- receive.c --- */

/**
 * link_input() - a burst from another host arrives at the switch, for one of our ports or a group.
 * Its payload and address are copied. Token held.
 * Return: 0, or -EAGAIN: there is no room now; offer it again later.
 */
int link_input(struct fabric *f, const struct burst *b);
/** link_is_direct() - whether link_input() would hand the burst to the engine at once. */
bool link_is_direct(const struct fabric *f, const struct burst *b);
/** link_work() - deliver the bursts that have arrived. Token held. */
void link_work(struct fabric *f);
/**
 * link_publish_parked() - tell programs whether bursts wait here (hca_wires.parked). Token held.
 */
void link_publish_parked(struct fabric *f);
/** link_has_arrivals() - whether bursts have arrived that link_work() has not delivered. */
bool link_has_arrivals(const struct fabric *f);

#endif
