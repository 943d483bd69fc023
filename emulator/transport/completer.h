/* SPDX-License-Identifier: MIT */
/**
 * DOC: the completer: answers to the requester. See completer.c.
 */
#ifndef EMULATOR_TRANSPORT_COMPLETER_H
#define EMULATOR_TRANSPORT_COMPLETER_H

#include "emulator/engine.h"
#include "emulator/ring.h"

/**
 * req_outstanding() - whether packet @psn is outstanding: sent, and not acknowledged.
 */
static inline bool req_outstanding(const struct hca_qp *qp, u32 psn)
{
	return (qp->state == QPS_RTS || qp->state == QPS_SQD) &&
	       psn_diff(psn, qp->req.una_psn) >= 0 && psn_diff(psn, qp->req.next_psn) < 0;
}

/**
 * req_response_is_beyond() - whether a response has more packets than the requests that were sent.
 * Packets are checked one by one (untrusted.h), but a joined fabric may send any burst.
 */
static inline bool req_response_is_beyond(const struct req_state *s, const struct burst *b)
{
	return psn_diff(psn_add(b->psn, b->npkts), s->next_psn) > 0;
}

/** req_progress() - a packet was acknowledged: reset the retry counters. */
static inline void req_progress(struct hca_qp *qp, struct req_state *s)
{
	s->retry = (u8)qp->attr.retry_cnt;
	s->rnr_retry = (u8)qp->attr.rnr_retry;
	s->flags &= ~(u32)REQ_RESENT;
	qp->deadline = 0;
}

/**
 * comp_note_result() - put an atomic's result where it is copied to the requester's memory from,
 * the end of the control line of its SQ; @mem becomes that place.
 */
static inline void comp_note_result(const struct hca_qp *qp, struct seg_hdr *seg, u64 result,
				    struct hca_mem *mem)
{
	mem->client = qp->client - 1;
	mem->kind = MEM_SEG;
	mem->n = 1;
	mem->iov[0].addr = qp->sq_ring + sizeof(struct wq_ctl) - sizeof(result);
	mem->iov[0].len = sizeof(result);
	memcpy(seg_ptr(seg, mem->iov[0].addr), &result, sizeof(result));
}

/* --- completer.c --- */

/** comp_ack() - an ACK or NAK arrives. Return: as hca_input(). */
int comp_ack(struct engine *e, struct hca_qp *qp, u32 psn, u8 aeth);
/** comp_input() - a READ or atomic response arrives. Return: as hca_input(). */
int comp_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** req_complete() - the only WQE under way in *s, which is to be the QP's state, is done. */
void req_complete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct req_state *s);
/** cqe_fill_send() - a send queue completion of the WQE in @slot (absolute index). */
void cqe_fill_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 slot,
		   u32 status, struct cqe *cqe);

#endif
