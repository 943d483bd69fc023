/* SPDX-License-Identifier: MIT */
/**
 * DOC: entry points of connection management other than commands: MADs for QP 1, which struct
 * engine.gsi_input hands over, and events that fault rules raise. All with the token held.
 */
#ifndef EMULATOR_CM_INPUT_H
#define EMULATOR_CM_INPUT_H

#include "emulator/engine.h"

/* --- input.c --- */

/** cm_input() - handle a MAD that arrives at QP 1. Return: as hca_input(). */
int cm_input(struct engine *e, const struct burst *b);

/* --- raise.c --- */

/**
 * raise_cm() - raise an event of an identifier: CM_EV_DEVICE_REMOVAL, CM_EV_ADDR_CHANGE if it is
 * bound to a device; CM_EV_UNREACHABLE if it waits for an answer; CM_EV_TIMEWAIT_EXIT in TIMEWAIT.
 * Return: whether the event was raised, as in verbs/raise.h.
 */
bool raise_cm(struct engine *e, struct hca_cmid *id, u32 event);

#endif
