/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that are put in from outside: `rdmaemu replay FILE --inject`, as the fabric process sees it.
 *
 * A frame comes as bytes and is looked at as an HCA's port would: addresses, lengths, checksums, ICRC, opcode.
 * What is good becomes a burst of one packet (BF_FOREIGN), and takes the way of what another fabric sends. All
 * the rest is requester's and responder's: emulator/transport/untrusted.h.
 */
#ifndef FABRIC_INJECT_INJECT_H
#define FABRIC_INJECT_INJECT_H

#include "fabric/core/fabric.h"
#include "traces/formats/roce.h"

/** struct inject_pkt - a packet as the engine has it, with what its burst points to. */
struct inject_pkt {
	struct burst b;
	struct hca_mem mem;
	struct hca_av av;
};

/**
 * inject_burst() - the burst of a frame that roce_parse() has read, or refused with -EBADMSG.
 * @r: its payload is referred to, not copied
 * @fault: receives the enum packet_fault for which a port drops it, or PKT_FAULTS
 *
 * Return: 0: *p->b says at least where it goes; -ENXIO: nobody has the address that it comes from;
 * -EREMOTE: it is for another fabric.
 */
int inject_burst(const struct hca *hca, const struct roce_pkt *r, struct inject_pkt *p, u32 *fault);

/** inject_ask() - PROTO_INJECT: @m becomes the answer. Return: as that says. */
int inject_ask(struct fabric *f, struct proto_msg *m);
/** inject_settled() - PROTO_INJECT_SETTLED. Return: as that says. */
int inject_settled(struct fabric *f, const struct conn *c, struct proto_msg *m);
/** inject_frame() - PROTO_INJECT_FRAME. Return: -EINPROGRESS: answered later; -EINVAL; -EBUSY. */
int inject_frame(struct fabric *f, struct conn *c, const struct proto_msg *m);
/** inject_forget() - a connection is closed. */
void inject_forget(struct fabric *f, const struct conn *c);
/** inject_due() - whether frames wait for the token. inject_work() - put them in. Token held. */
bool inject_due(const struct fabric *f);
/** inject_next() - when they are to be looked at, real time. */
u64 inject_next(const struct fabric *f);
void inject_work(struct fabric *f);

#endif
