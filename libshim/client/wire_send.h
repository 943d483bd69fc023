/* SPDX-License-Identifier: MIT */
/**
 * DOC: what this program sends by itself to hosts outside of the fabric. See wire_send.c.
 */
#ifndef LIBSHIM_CLIENT_WIRE_SEND_H
#define LIBSHIM_CLIENT_WIRE_SEND_H

#include "emulator/burst.h"

struct hca_qp;

/** shim_wire_send() - as engine_ops.leave. Token held. */
int shim_wire_send(void *ctx, const struct burst *b);
/** shim_wire_send_late() - as engine_ops.leave_late. */
void shim_wire_send_late(void *ctx);
/**
 * shim_wire_may_answer() - whether this program can send what the responder of a queue pair,
 * whoever's it is, answers. Token held.
 */
bool shim_wire_may_answer(const struct hca_qp *qp);
/**
 * shim_wire_may_receive() - whether answers to what arrives can be sent: the outbox is empty, and
 * stays so as long as the token is held and no queue pair runs. Token held.
 */
bool shim_wire_may_receive(void);
/** shim_wire_forked() - in a child of fork(): close the sockets, which are its parent's. */
void shim_wire_forked(void);

#endif
