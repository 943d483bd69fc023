/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that are injected from outside: `rdmaemu replay FILE --inject`, in the fabric
 * process.
 *
 * A frame comes as bytes and is checked as an HCA's port would: addresses, lengths, checksums,
 * ICRC, opcode. A good frame becomes a burst of one packet (BF_FOREIGN) and enters the switch like
 * a burst of another fabric. The requester and the responder do the rest:
 * emulator/transport/untrusted.h.
 */
#ifndef FABRIC_INJECT_INJECT_H
#define FABRIC_INJECT_INJECT_H

#include "fabric/core/fabric.h"

/** inject_ask() - PROTO_INJECT: @m becomes the answer. Return: as proto.h says. */
int inject_ask(struct fabric *f, struct proto_msg *m);
/** inject_settled() - PROTO_INJECT_SETTLED. Return: as proto.h says. */
int inject_settled(struct fabric *f, const struct conn *c, struct proto_msg *m);
/** inject_frame() - PROTO_INJECT_FRAME. Return: -EINPROGRESS: answered later; -EINVAL; -EBUSY. */
int inject_frame(struct fabric *f, struct conn *c, const struct proto_msg *m);
/** inject_conn_closed() - a connection is closed. */
void inject_conn_closed(struct fabric *f, const struct conn *c);
/** inject_due() - whether frames wait for the token. inject_work() - inject them. Token held. */
bool inject_due(const struct fabric *f);
/** inject_next() - real time of the next try. */
u64 inject_next(const struct fabric *f);
void inject_work(struct fabric *f);

#endif
