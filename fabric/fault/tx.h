/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults of packets: what rules do to those that pass a link. See fabric/fault/fault.h.
 */
#ifndef FABRIC_FAULT_TX_H
#define FABRIC_FAULT_TX_H

#include "fabric/link/link.h"

/** faultwire_make() - nothing was sent so far. Return: 0 or -ENOMEM. */
int faultwire_make(struct fabric *f);
/** faultwire_send() - as link_send(), where rules look at the burst's packets. */
int faultwire_send(struct fabric *f, const struct burst *b);
/** faultwire_copy() - a datagram's copy for the members of its group on one port. As struct link_fate. */
void faultwire_copy(struct fabric *f, const struct burst *b, const struct trip *trip, u64 left);
/**
 * faultwire_arrive() - a burst of one packet, marked by faultwire_send(), comes to its receiver.
 * Return: whether that was all, with *ret as hca_input(); if not it is to be delivered.
 */
bool faultwire_arrive(struct fabric *f, struct lq_entry *e, int *ret);
/** fault_lost() - a burst is lost by rule @rule, or, where that is 0, for want of room. */
void fault_lost(struct fabric *f, const struct burst *b, u32 rule);
/** faultwire_corrupt() - a damaged burst comes to its receiver, which drops it. */
void faultwire_corrupt(struct fabric *f, const struct lq_entry *e);

#endif
