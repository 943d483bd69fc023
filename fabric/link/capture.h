/* SPDX-License-Identifier: MIT */
/** DOC: what passes the links goes to captures: the ring of emulator/transport/capture.h. */
#ifndef FABRIC_LINK_CAPTURE_H
#define FABRIC_LINK_CAPTURE_H

#include "emulator/transport/capture.h"
#include "fabric/core/fabric.h"

/** link_capture_lost() - a burst is lost where links begin. As cap_burst_put(). @cause, @info: as journal_drop() */
int link_capture_lost(struct fabric *f, const struct burst *b, u32 cause, u32 info);
/** link_capture_sent() - a burst leaves its port, and there is room for it. */
void link_capture_sent(struct fabric *f, const struct burst *b, const struct cap_note *note);
/** link_capture_answer_fits() - whether the answer to a burst that arrives has room. */
bool link_capture_answer_fits(struct fabric *f, const struct burst *b);
/** link_capture_may_send() - whether a burst of @n records can be sent. Return: 0 or -EAGAIN, as link_may_send(). */
int link_capture_may_send(struct fabric *f, const struct burst *b, u32 n);

#endif
