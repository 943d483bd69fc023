/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that no requester or responder of ours has made: they may say anything.
 *
 * The engine's own bursts are right by construction. A burst with BF_FOREIGN is a single packet off a wire;
 * here is what is to be looked at in it beyond what requester and responder look at anyway.
 */
#ifndef EMULATOR_TRANSPORT_UNTRUSTED_H
#define EMULATOR_TRANSPORT_UNTRUSTED_H

#include "emulator/engine.h"

/**
 * untrusted_check() - whether QP @qp, which it is addressed to, looks at the packet. One that it does not is
 * counted and journalled.
 * @p: a copy of the burst; where the packet has a length that its opcode cannot have, @p->mtu becomes one
 *     that the responder refuses
 */
bool untrusted_check(struct engine *e, struct hca_qp *qp, struct burst *p);
/**
 * untrusted_response_status() - what a response is that answers the oldest request, at byte @at of @total.
 * Return: WCS_SUCCESS, or what the request ends with.
 */
u32 untrusted_response_status(const struct hca_qp *qp, u64 at, u64 total, const struct burst *b);
/** untrusted_drop() - count and journal a packet that is dropped without a word. @fault: enum packet_fault */
__cold void untrusted_drop(struct engine *e, const struct burst *b, u32 fault);

#endif
