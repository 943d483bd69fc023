/* SPDX-License-Identifier: MIT */
/**
 * DOC: events to a client's channels. See event.c.
 */
#ifndef EMULATOR_QUEUE_EVENT_H
#define EMULATOR_QUEUE_EVENT_H

#include "emulator/engine.h"

/* --- event.c --- */

/** chan_push() - queue an event on a client's channel and wake its reader. */
void chan_push(struct engine *e, u32 owner, u32 chan, const struct chan_event *ev);
/** chan_wake() - only wake its reader: one count of the channel's descriptor. */
void chan_wake(struct engine *e, u32 owner, u32 chan);
/** qp_event_raise() - an async event of a QP, with its journal entry. */
void qp_event_raise(struct engine *e, struct hca_qp *qp, u32 event, u32 cause, u32 info);

#endif
