/* SPDX-License-Identifier: MIT */
/**
 * DOC: packet pacing: the send rate of a RAW_PACKET QP (IBV_QP_RATE_LIMIT).
 *
 * Theory of operation
 * -------------------
 * A virtual queue drains at the QP's rate. hca_qp.pace_at is when it will have drained what was
 * sent; a frame may be sent while no more than the allowed burst is in it. A QP that has to wait is
 * as one in an RNR wait: REQ_RNR_WAIT, and its timer sends the next frame.
 *
 * If the token's holder dies between a frame and its entry here, that frame costs nothing.
 */
#ifndef EMULATOR_TRANSPORT_PACE_H
#define EMULATOR_TRANSPORT_PACE_H

#include "emulator/engine.h"

/* --- pace.c --- */

/** pace_waits() - whether the next frame has to wait; then its timer is armed. */
bool pace_waits(struct engine *e, struct hca_qp *qp);
/** pace_sent() - a frame of @bytes was sent. */
void pace_sent(struct engine *e, struct hca_qp *qp, u32 bytes);
/** pace_changed() - the QP has another rate, which counts from now on. */
void pace_changed(struct engine *e, struct hca_qp *qp);

#endif
