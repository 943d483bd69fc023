/* SPDX-License-Identifier: MIT */
/**
 * DOC: what this program sends by itself to hosts outside of the fabric. See wire_send.c.
 */
#ifndef LIBSHIM_CLIENT_WIRE_SEND_H
#define LIBSHIM_CLIENT_WIRE_SEND_H

#include "emulator/burst.h"

struct hca;

/**
 * shim_wire_may_send() - whether this process is where the fabric's wires are: its user is the
 * fabric process's, and so is its network namespace. @hca: NULL: in an isolated fabric, no.
 */
bool shim_wire_may_send(const struct hca *hca);
/** shim_wire_send() - as engine_ops.leave. Token held. */
int shim_wire_send(void *ctx, const struct burst *b);
/** shim_wire_send_late() - as engine_ops.leave_late. */
void shim_wire_send_late(void *ctx);
/** shim_wire_forked() - in a child of fork(): close the sockets, which are its parent's. */
void shim_wire_forked(void);

#endif
