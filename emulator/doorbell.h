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

#endif
