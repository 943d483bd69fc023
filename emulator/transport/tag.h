/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching among the files of the model: the list of tags (tag.c), messages that look for
 * their tag (tag_match.c), and the reading of rendezvous (rndv.c).
 */
#ifndef EMULATOR_TRANSPORT_TAG_H
#define EMULATOR_TRANSPORT_TAG_H

#include "emulator/engine.h"
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

/* --- tag.c --- */

static inline u32 tag_index(const struct hca *hca, const struct hca_tag *tag)
{
	return (u32)(tag - hca->tag);
}
/** tm_held_tag() - the tag that a message holds: HELD_TAG is set. */
static inline struct hca_tag *tm_held_tag(struct hca *hca, const struct resp_state *s)
{
	return &hca->tag[s->held & (HCA_MAX_TAG - 1)];
}
/** tag_cqe_blank() - an entry of the SRQ's CQ about no message. @opcode: enum ib_wc_opcode */
void tag_cqe_blank(struct engine *e, const struct hca_srq *srq, u64 wr_id, u32 opcode, u32 status,
		   struct cqe *cqe);

/** tag_match() - the oldest tag that takes a message tagged @tag, or NULL. */
struct hca_tag *tag_match(struct hca *hca, const struct hca_srq *srq, u64 tag);
/** tag_drop() - take a tag off its list and free it. May be done twice. */
void tag_drop(struct hca *hca, struct hca_tag *tag);
/** tag_cqe() - what a CQ says of a tag's message. */
void tag_cqe(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag, u32 status,
	     u32 wc_flags, struct cqe *cqe);
/** tm_uncounted() - messages that were unexpected and that the client has not counted yet. */
static inline u32 tm_uncounted(const struct hca_srq *srq)
{
	/* HCAs count modulo 2^16, and so do programs. */
	return (srq->unexpected - srq->synced) & 0xffff;
}

/** tm_forget() - a QP is reset or destroyed: the tags that have a message of it go with it. */
void tm_forget(struct hca *hca, struct hca_qp *qp);
/** tm_recount() - set what is counted of tags from what is there. */
void tm_recount(struct hca *hca);

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
