/* SPDX-License-Identifier: MIT */
/** DOC: faults on packets: what rules do to packets that pass a link. See fabric/fault/rule.h. */
#ifndef FABRIC_FAULT_TX_H
#define FABRIC_FAULT_TX_H

#include "fabric/link/transit.h"

/* --- tx.c --- */

/** fault_tx_make() - allocate the state, and have links ask the rules. Return: 0 or -ENOMEM. */
int fault_tx_make(struct fabric *f);

/* --- rx.c --- */

/**
 * fault_rx_arrive() - a burst of one packet that fault_tx_send() has marked comes to its receiver.
 * Return: whether a rule has handled it, with *ret as from hca_input(); if not, the caller delivers
 * it.
 */
bool fault_rx_arrive(struct fabric *f, struct lq_entry *e, int *ret);
/**
 * fault_burst_lost() - a burst is lost: by rule @rule or, if that is 0, because the queue is full.
 */
void fault_burst_lost(struct fabric *f, const struct burst *b, u32 rule);
/** fault_rx_corrupt() - a damaged burst comes to its receiver, which drops it. */
void fault_rx_corrupt(struct fabric *f, const struct lq_entry *e);

#endif
