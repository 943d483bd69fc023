/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that no requester or responder of ours has built: their content is arbitrary.
 *
 * The engine's own bursts are right by construction. A burst with BF_FOREIGN is a packet off a
 * wire, or several consecutive ones of a message; these functions check what requester and
 * responder do not check in bursts of ours.
 */
#ifndef EMULATOR_TRANSPORT_UNTRUSTED_H
#define EMULATOR_TRANSPORT_UNTRUSTED_H

#include "emulator/engine.h"

/**
 * untrusted_check() - whether @qp accepts a packet that is addressed to it. A packet that it drops
 * is counted and journalled.
 * @p: a copy of the burst; where the packet has a length that its opcode cannot have, @p->mtu
 *     becomes one that the responder refuses
 */
bool untrusted_check(struct engine *e, struct hca_qp *qp, struct burst *p);
/**
 * untrusted_response_status() - check a response to the oldest request, at byte @at of @total.
 * Return: WCS_SUCCESS, or what the request ends with.
 */
u32 untrusted_response_status(const struct hca_qp *qp, u64 at, u64 total, const struct burst *b);
/**
 * untrusted_drop() - count and journal a packet that is dropped silently. @fault: enum packet_fault
 */
__cold void untrusted_drop(struct engine *e, const struct burst *b, u32 fault);

#endif
