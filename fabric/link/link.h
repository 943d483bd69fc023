/* SPDX-License-Identifier: MIT */
/**
 * DOC: the links between ports and the fabric's switch, as other modules use them. See link.c.
 *
 * Bursts for devices of other hosts are handed to a struct link_carrier: join/ is one, for other fabrics over
 * TCP; a wire of another kind, as RoCE v2 over UDP, is another one. A carrier gives what it receives to link_input().
 * Where fault rules look at packets, links ask struct link_rules, which is fault/tx.c's.
 */
#ifndef FABRIC_LINK_LINK_H
#define FABRIC_LINK_LINK_H

#include "fabric/core/fabric.h"

#define LINK_CARRIERS 4u

struct lq_entry;
struct trip;

/** struct link_carrier - takes bursts to devices that are not this fabric's own. Token held. */
struct link_carrier {
	/* Whether it carries bursts to that member: struct hca_dev.member. */
	bool (*carries)(const struct fabric *f, u32 member);
	/*
	 * As link_send(), to a device of @member. Return: 0, also if it is lost; -EAGAIN: there is no room now,
	 * and the QP that runs is rung when there is.
	 */
	int (*send)(struct fabric *f, u32 member, const struct burst *b);
	/* A multicast datagram of ours: to all that it can reach. */
	void (*send_group)(struct fabric *f, const struct burst *b);
};

/** struct link_rules - what fault rules do to packets on links. Token held. */
struct link_rules {
	/* As link_send_one(), packet by packet. */
	int (*send)(struct fabric *f, const struct burst *b);
	/* A datagram's copy for the members of its group on one port. @trip, @left: as in struct link_fate */
	void (*send_copy)(struct fabric *f, const struct burst *b, const struct trip *trip,
			  u64 left);
	/*
	 * A burst of one packet, marked by send(), comes to its receiver. Return: whether that was all, with *ret
	 * as hca_input(); if not it is to be delivered.
	 */
	bool (*arrive)(struct fabric *f, struct lq_entry *e, int *ret);
	/* A damaged burst comes to its receiver, which drops it. */
	void (*arrive_corrupt)(struct fabric *f, const struct lq_entry *e);
	/* Add to @text, of CAP_TEXT bytes, that a packet was sent because of the rule with that id. */
	void (*describe_sent)(struct fabric *f, char *text, u32 rule);
};

/* --- link.c --- */

/** link_make() - no link has anything under way. Return: 0 or -ENOMEM. */
int link_make(struct fabric *f);
/** link_set_rules() - ask @r about packets from now on, while link_enable_rules() says so. */
void link_set_rules(struct fabric *f, const struct link_rules *r);
/** link_enable_rules() - whether there are rules about packets. */
void link_enable_rules(struct fabric *f, bool enable);
/** link_add_carrier() - bursts of members that it carries go to @c. */
void link_add_carrier(struct fabric *f, const struct link_carrier *c);
/** link_carry() - hand a burst to the carrier of @member. Return: as link_carrier.send; 0: nobody carries it. */
int link_carry(struct fabric *f, u32 member, const struct burst *b);
/** link_send() - as hca_host.link: a burst leaves one of our ports. Token held. */
int link_send(struct fabric *f, const struct burst *b);
/** link_next() - fabric time at which something arrives next, ~0: nothing is on its way. */
u64 link_next(const struct fabric *f);
/**
 * link_retry_at() - real time at which links try again what could not be delivered, where the clock stands; 0: nothing
 * waits for that.
 */
u64 link_retry_at(const struct fabric *f);
/** link_mem() - where the payload of what is on its way lies: the memory of HCA_LINK. */
void *link_mem(struct fabric *f);
/** link_flow() - the flow whose burst is being delivered; what comes without one has a number, too. */
u32 link_flow(const struct fabric *f);
/** link_flow_waits() - whether the flow has a burst that is to be delivered again. */
bool link_flow_waits(const struct fabric *f, u32 flow);
/** link_holds_qp() - whether anything is on its way to or from a QP. */
bool link_holds_qp(const struct fabric *f, u32 dev, u32 qpn);

/* --- receive.c --- */

/**
 * link_input() - a burst has come to the switch from another host, for one of our ports, or a group. Its payload
 * and address are copied. Token held.
 * Return: 0, or -EAGAIN: there is no room now; offer it again later.
 */
int link_input(struct fabric *f, const struct burst *b);
/** link_is_direct() - whether link_input() would hand it to the engine at once. */
bool link_is_direct(const struct fabric *f, const struct burst *b);
/** link_work() - deliver what has arrived. Token held. */
void link_work(struct fabric *f);
/** link_has_arrivals() - whether more has arrived than was delivered. */
bool link_has_arrivals(const struct fabric *f);

#endif
