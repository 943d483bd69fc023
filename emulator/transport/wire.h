/* SPDX-License-Identifier: MIT */
/**
 * DOC: the wire: bursts leave a port and arrive at one. See wire.c.
 */
#ifndef EMULATOR_TRANSPORT_WIRE_H
#define EMULATOR_TRANSPORT_WIRE_H

#include "emulator/engine.h"

/* --- wire.c --- */

/**
 * hca_input() - a burst arrives at the device it is addressed to. Token held.
 * Return: 0: delivered or dropped; -EAGAIN: this holder cannot reach memory now: nothing has
 * changed, and the burst may be offered again.
 */
int hca_input(struct engine *e, const struct burst *b);
/** wire_send() - put a burst on the wire. Return: as hca_input(). */
int wire_send(struct engine *e, const struct burst *b);
/**
 * wire_send_ack() - put an ACK or NAK of @psn to the QP's peer on the wire. Return: as hca_input().
 */
int wire_send_ack(struct engine *e, const struct hca_qp *qp, u32 psn, u8 aeth);
/**
 * qp_addressed() - whether a burst is addressed to the QP: same transport, matching P_Keys, and
 * from the peer of a connected QP (IBTA 9.6.1.1).
 */
bool qp_addressed(const struct hca_qp *qp, const struct burst *b);

#endif
