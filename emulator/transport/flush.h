/* SPDX-License-Identifier: MIT */
/**
 * DOC: completing what is left on the queues of a QP in error. See flush.c.
 */
#ifndef EMULATOR_TRANSPORT_FLUSH_H
#define EMULATOR_TRANSPORT_FLUSH_H

#include "emulator/engine.h"

/* --- flush.c --- */

/** qp_flush() - complete all work requests of a QP in ERR or SQE. Return: whether none is left. */
bool qp_flush(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);

#endif
