/* SPDX-License-Identifier: MIT */
/**
 * DOC: doorbells: the bits that say which QPs have work. See doorbell.c.
 */
#ifndef EMULATOR_DOORBELL_H
#define EMULATOR_DOORBELL_H

#include "emulator/engine.h"

/* --- doorbell.c --- */

/** client_set_pending() - a doorbell of the client is set: the token's holder is to serve it. */
void client_set_pending(struct hca *hca, u32 client);
/** seg_ring() - set the doorbell of QP @slot in a segment. */
void seg_ring(struct seg_hdr *seg, u32 slot);
/** engine_ring() - set the doorbell of QP @slot of client @client, from inside or outside. */
void engine_ring(struct engine *e, u32 client, u32 slot);
/**
 * relay_ring() - QP @slot, whose packets are relayed, has work for the fabric process. No token
 * needed.
 */
void relay_ring(struct engine *e, u32 slot);
/**
 * doorbell_watch_end() - the fabric process watches no more: from now on a doorbell kicks it.
 * Return: whether it is to look at the doorbells: one may have been set before.
 */
bool doorbell_watch_end(struct hca *hca);
/**
 * relay_sleep_begin() - the fabric process is about to sleep: from now on relay_ring() kicks it.
 * Return: whether it may; false: QPs have work.
 */
bool relay_sleep_begin(struct hca *hca);
/**
 * poller_nap_begin() - a poller is about to sleep until seg->brought changes: a futex on the value
 * that it has read before.
 */
void poller_nap_begin(struct seg_hdr *seg);
/** poller_brought() - count a delivery. Return: whether a poller sleeps, and is to be woken. */
bool poller_brought(struct seg_hdr *seg);

#endif
