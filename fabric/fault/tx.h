/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults of packets: what rules do to those that pass a link. See fabric/fault/fault.h.
 */
#ifndef FABRIC_FAULT_TX_H
#define FABRIC_FAULT_TX_H

#include "fabric/link/link.h"

/** fault_tx_make() - nothing was sent so far. Return: 0 or -ENOMEM. */
int fault_tx_make(struct fabric *f);
/** fault_tx_send() - as link_send(), where rules look at the burst's packets. */
int fault_tx_send(struct fabric *f, const struct burst *b);
/** fault_tx_copy() - a datagram's copy for the members of its group on one port. As struct link_fate. */
void fault_tx_copy(struct fabric *f, const struct burst *b, const struct trip *trip, u64 left);
/**
 * fault_rx_arrive() - a burst of one packet, marked by fault_tx_send(), comes to its receiver.
 * Return: whether that was all, with *ret as hca_input(); if not it is to be delivered.
 */
bool fault_rx_arrive(struct fabric *f, struct lq_entry *e, int *ret);
/** fault_burst_lost() - a burst is lost by rule @rule, or, where that is 0, for want of room. */
void fault_burst_lost(struct fabric *f, const struct burst *b, u32 rule);
/** fault_rx_corrupt() - a damaged burst comes to its receiver, which drops it. */
void fault_rx_corrupt(struct fabric *f, const struct lq_entry *e);

#endif
