/* SPDX-License-Identifier: MIT */
/**
 * DOC: bursts on links are recorded for captures, in the ring of
 * emulator/transport/capture_ring.h.
 */
#ifndef FABRIC_LINK_BURST_CAPTURE_H
#define FABRIC_LINK_BURST_CAPTURE_H

#include "emulator/transport/capture_ring.h"
#include "fabric/core/fabric.h"

/**
 * link_capture_lost() - record a burst that is lost where links begin.
 * @cause, @info: as for journal_drop()
 * Return: as cap_burst_put().
 */
int link_capture_lost(struct fabric *f, const struct burst *b, u32 cause, u32 info);
/** link_capture_sent() - record a burst that leaves its port; there is room for it. */
void link_capture_sent(struct fabric *f, const struct burst *b, const struct cap_note *note);
/**
 * link_capture_answer_fits() - whether the ring has room for the response to a burst that arrives.
 */
bool link_capture_answer_fits(struct fabric *f, const struct burst *b);
/**
 * link_capture_may_send() - whether the ring has room for a burst of @n records.
 * Return: 0 or -EAGAIN, as link_may_send().
 */
int link_capture_may_send(struct fabric *f, const struct burst *b, u32 n);

#endif
