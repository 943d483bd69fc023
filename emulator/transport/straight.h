/* SPDX-License-Identifier: MIT */
/**
 * DOC: the common request in a straight line. See straight.c.
 */
#ifndef EMULATOR_TRANSPORT_STRAIGHT_H
#define EMULATOR_TRANSPORT_STRAIGHT_H

#include "emulator/engine.h"

/**
 * straight_is_idle() - whether the next WQE of the QP may be one for the straight line, as far as
 * its type is: all before it are complete, none was begun, and neither the HCA nor a timer is to go
 * first.
 */
static inline bool straight_is_idle(const struct engine *e, const struct hca_qp *qp)
{
	const struct req_state *s = &qp->req;

	return qp->state == QPS_RTS && !e->ops->fault &&
	       !((s->una ^ s->next) | (s->sent ^ s->next) | (s->una_psn ^ s->next_psn) |
		 s->next_off | s->rd_out | s->own | (s->flags & (REQ_FIN | REQ_RNR_WAIT)) |
		 qp->rndv | qp->ack_due);
}

/** straight_is_ready() - whether it may be one for straight_send(). */
static inline bool straight_is_ready(const struct engine *e, const struct hca_qp *qp)
{
	return qp->type == QPT_RC && straight_is_idle(e, qp);
}

/** straight_is_other_ready() - whether it may be one for straight_send_other(). */
static inline bool straight_is_other_ready(const struct engine *e, const struct hca_qp *qp)
{
	const u32 others = 1u << QPT_UC | 1u << QPT_UD | 1u << QPT_XRC_SEND;

	return (others >> qp->type & 1) && straight_is_idle(e, qp);
}

/* --- straight.c --- */

/**
 * straight_send() - send the WQE at qp->req.next, which is posted, up to its completion, if nothing
 * about it is out of the ordinary. The QP is ready: straight_is_ready().
 * Return: false: something is, and nothing has changed, but that an atomic may have been executed,
 * which atomic_execute() knows; the requester takes its steps at once.
 */
bool straight_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);
/** straight_send_other() - the same by UC, UD or XRC: straight_is_other_ready(). */
bool straight_send_other(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg);

#endif
