/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching: messages that look for their tag (tag_match.c), and the reading of rendezvous
 * (rndv.c).
 */
#ifndef EMULATOR_TRANSPORT_TAG_MATCH_H
#define EMULATOR_TRANSPORT_TAG_MATCH_H

#include "emulator/engine.h"
#include "emulator/queue/tag.h"
#include "emulator/transport/rxq.h"

#define TMH_LEN 16u /* struct ibv_tmh */
#define RVH_LEN 16u /* struct ibv_rvh */

/** enum tmh_op - enum ibv_tmh_op. */
enum tmh_op {
	TMH_NO_TAG,
	TMH_RNDV,
	TMH_FIN,
	TMH_EAGER,
};

/* --- tag_match.c --- */

/**
 * tm_accept() - a SEND's burst arrives at a QP on a tag-matching SRQ.
 * Return: true when it goes to a receive of the SRQ, as *wc says; false when all is done with it
 * and *ret says how, as hca_input().
 */
bool tm_accept(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
	       struct rx_wc *wc, int *ret);

/* --- rndv.c --- */

/** req_own() - the send side is at work for the HCA itself. */
static inline bool req_own(const struct req_state *s)
{
	return s->own || (s->flags & REQ_FIN);
}

/**
 * rndv_turn() - whether what is to be sent next is the HCA's own. Work requests that were begun
 * come to their end first.
 */
static inline bool rndv_turn(const struct hca_qp *qp)
{
	const struct req_state *s = &qp->req;

	if (likely(!qp->rndv && !(s->flags & REQ_FIN)))
		return false;
	return req_own(s) ||
	       (qp->state == QPS_RTS && !s->next_off && (s32)(s->sent - s->next) <= 0);
}

/** rndv_step() - send the next burst. Return: as req_step(): whether to call again. */
bool rndv_step(struct engine *e, struct hca_qp *qp);
/**
 * rndv_ack() - everything before @end is acknowledged. Return: false when the READ is in the way.
 */
bool rndv_ack(const struct hca_qp *qp, struct req_state *s, u32 end);
/** rndv_response() - data of the READ. Return: as hca_input(). */
int rndv_response(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct req_state *s,
		  const struct burst *b);
/** rndv_fail() - req_fail() where the request is the HCA's own. */
void rndv_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	       u32 info);
/** rndv_flush() - end what a QP in ERR has not read. Return: true when nothing is left. */
bool rndv_flush(struct engine *e, struct hca_qp *qp, struct rx *rx);

#endif
