/* SPDX-License-Identifier: MIT */
/** DOC: events of CQs. */
#ifndef TRACES_REPLAY_EVENT_H
#define TRACES_REPLAY_EVENT_H

#include "traces/replay/replay.h"

/**
 * rp_cq_ack_rest() - acknowledge events that the record never had; destroying @cq would wait for
 * them.
 */
void rp_cq_ack_rest(struct rp_prog *g, const struct ibv_cq *cq);

#endif
