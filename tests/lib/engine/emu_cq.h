/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion events on the engine alone: a CQ whose events are moderated, and its channel.
 */
#ifndef TESTS_LIB_C_EMU_CQ_H
#define TESTS_LIB_C_EMU_CQ_H

#include "tests/lib/engine/emu.h"

#define EMU_CHAN 1u /* completion channel of the CQ's client */

/** emu_moderate() - give a CQ a rule. @period: in us. Return: 0 or -errno. */
int emu_moderate(struct emu *m, const struct emu_cq *cq, u32 count, u32 period);
/**
 * emu_moderated() - an HCA in which client 0 sends from *q0 to client 1's *q1, whose receive CQ is
 * moderated and reports to EMU_CHAN.
 */
struct emu *emu_moderated(struct emu_qp *q0, struct emu_qp *q1, u32 count, u32 period);
/** emu_arm() - ask for the next event, as ibv_req_notify_cq() does; CQ_ARM_*. */
void emu_arm(struct emu *m, const struct emu_cq *cq, u32 how);
/** emu_chan_events() - take the events that wait in the client's EMU_CHAN. Return: how many. */
u32 emu_chan_events(struct emu *m, u32 client);

#endif
