/* SPDX-License-Identifier: MIT */
/**
 * DOC: the common request in a straight line. See straight.c.
 */
#ifndef EMULATOR_TRANSPORT_STRAIGHT_H
#define EMULATOR_TRANSPORT_STRAIGHT_H

#include "emulator/engine.h"

/* --- straight.c --- */

/**
 * straight_send() - send the WQE at qp->req.next, which is posted, up to its completion, if nothing
 * about it is out of the ordinary.
 * Return: false: something is, and nothing has changed; the requester takes its steps.
 */
bool straight_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);

#endif
