/* SPDX-License-Identifier: MIT */
/**
 * DOC: messages that arrive at a tag-matching SRQ.
 *
 * Theory of operation
 * -------------------
 * Each begins with a header (struct ibv_tmh). With the first burst it is decided where the message
 * goes, and the decision is a commit of its own: the QP's state holds a tag, or a receive of the
 * SRQ. A burst that has to come again, since memory was out of reach, finds the decision made; so
 * does whoever goes on for a dead holder, and the other QPs of the SRQ look for theirs meanwhile.
 *
 *  - eager: a tag that matches gets the payload without the header; without one, the whole message
 *    goes to a receive, and is counted (tag.c);
 *  - rendezvous: a tag that matches waits until the HCA has read the data (rndv.c); else as eager;
 *  - no tag, and the end of a rendezvous that this side had asked for: a receive, not counted.
 */
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/tag_match.h"
#include "emulator/transport/wc_fault.h"

#include <endian.h>

#define SYNC_DIFF 0x3fffu /* uncounted messages from which on the client is asked to count */
#define HDR_COPY  BIT64(31) /* keeps the copy of the header apart from that of the payload */

/** struct tm_hdr - TMH and RVH as they came. */
struct tm_hdr {
	u32 op; /* enum tmh_op */
	u32 app_ctx;
	u64 tag;
	u64 va;
	u32 rkey;
	u32 len;
};

static u32 load_be32_at(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static u64 load_be64_at(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* Return: 0, -EINVAL when the burst has no header, or as resp_fetch(). */
static int tm_read_header(struct engine *e, const struct hca_qp *qp, const struct burst *b,
			  struct tm_hdr *h)
{
	struct hca_mem dst = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 };
	u8 *p = e->hca->tm_hdr;
	u64 len = min_u64(b->len, TMH_LEN + RVH_LEN);
	int ret;

	if (len < TMH_LEN)
		return -EINVAL;
	dst.iov[0].addr = offsetof(struct hca, tm_hdr);
	dst.iov[0].len = len;
	ret = e->ops->copy(e->ctx, &dst, 0, b->mem, b->off, len,
			   (u64)qp->qpn << 32 | HDR_COPY | b->psn << 1 | 1);
	if (ret)
		return ret;
	memset(p + len, 0, sizeof(e->hca->tm_hdr) - len);
	h->op = p[0];
	h->app_ctx = load_be32_at(p + 4);
	h->tag = load_be64_at(p + 8);
	h->va = load_be64_at(p + TMH_LEN);
	h->rkey = load_be32_at(p + TMH_LEN + 8);
	h->len = load_be32_at(p + TMH_LEN + 12);
	return 0;
}

static bool tm_header_ok(const struct hca *hca, const struct hca_qp *qp, const struct burst *b,
			 const struct tm_hdr *h)
{
	if (h->op != TMH_RNDV)
		return h->op <= TMH_EAGER;
	return (b->flags & BF_LAST) && b->len >= TMH_LEN + RVH_LEN && b->len <= LIM_RNDV_HDR &&
	       h->len <= hca->dev[qp->dev].lim.max_msg;
}

static void tm_hold_tag(struct engine *e, struct hca_qp *qp, const struct rx *rx,
			struct hca_tag *tag, const struct tm_hdr *h)
{
	struct resp_state s = qp->resp;

	tag->qpn = qp->qpn;
	tag->msn = s.msn;
	tag->got = h->tag;
	tag->app_ctx = h->app_ctx;
	tag->rndv = h->op == TMH_RNDV;
	tag->va = h->va;
	tag->rkey = h->rkey;
	tag->len = h->len;
	s.held = HELD_TAG | (u32)(tag - e->hca->tag);
	qp->held_srq = (u32)(rx->srq - e->hca->srq) + 1;
	qp->held_gen = rx->srq->gen;
	commit_tag(e, tag, TAG_HELD);
	commit_resp(e, qp, &s, qp->state);
}

static int tm_hold_recv(struct engine *e, struct hca_qp *qp, const struct rx *rx,
			const struct burst *b, bool unexpected)
{
	struct resp_state s = qp->resp;
	u32 slot;

	if (!rx_next(rx, qp, &s, &slot))
		return resp_rnr(e, qp, b->psn);
	s.flags &= ~(u32)RESP_UNEXPECTED;
	if (unexpected)
		s.flags |= RESP_UNEXPECTED;
	rx_hold(e, qp, rx, &s, slot);
	return 0;
}

/*
 * The first burst of a message. Return: as hca_input(); with 0 the state tells what it holds now.
 */
static int tm_decide(struct engine *e, struct hca_qp *qp, const struct rx *rx,
		     const struct burst *b)
{
	struct hca_tag *tag = NULL;
	struct tm_hdr h = { 0 };
	int ret = tm_read_header(e, qp, b, &h);
	bool tagged;

	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret == -EINVAL || (!ret && !tm_header_ok(e->hca, qp, b, &h)))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_BAD_WQE,
				     h.op);
	if (ret)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, 0, 0, CAUSE_MEM_FAULT, 0);
	tagged = h.op == TMH_EAGER || h.op == TMH_RNDV;
	if (tagged)
		tag = tag_match(e->hca, rx->srq, h.tag);
	if (!tag)
		return tm_hold_recv(e, qp, rx, b, tagged);
	tm_hold_tag(e, qp, rx, tag, &h);
	return 0;
}

/*
 * Lay an eager message's bytes into the tag's buffer; of a rendezvous, see whether they will fit.
 * *len: bytes of the message for the tag so far
 * Return: 0, -EACCES, -EMSGSIZE, or as resp_fetch().
 */
static int tm_place_payload(struct engine *e, const struct hca_qp *qp, const struct rx *rx,
			    const struct hca_tag *tag, const struct burst *b, u64 *len, u32 *info)
{
	u64 skip = b->flags & BF_FIRST ? TMH_LEN : 0, room;
	u64 at = qp->resp.off - (b->flags & BF_FIRST ? 0 : TMH_LEN);
	struct hca_mem dst;

	*len = tag->rndv ? tag->len : at + b->len - skip;
	if (mem_local(e->hca, rx->pd, &tag->sge, 1, ACC_LOCAL_WRITE, *len, &dst, &room, info))
		return -EACCES;
	*info = (u32)min_u64(room, UINT32_MAX);
	if (*len > room)
		return -EMSGSIZE;
	if (tag->rndv || b->len == skip)
		return 0;
	return e->ops->copy(e->ctx, &dst, at, b->mem, b->off + skip, b->len - skip,
			    (u64)qp->qpn << 32 | b->psn << 1 | 1);
}

static int tm_refuse(struct engine *e, struct hca_qp *qp, const struct burst *b, int ret, u32 info)
{
	if (ret == -EACCES)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, WCS_LOC_PROT_ERR, 0, CAUSE_LKEY,
				     info);
	if (ret == -EMSGSIZE)
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, WCS_LOC_LEN_ERR, 0,
				     CAUSE_REQUEST_LEN, info);
	return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, ret == -EFAULT_DST ? WCS_LOC_PROT_ERR : 0,
			     0, CAUSE_MEM_FAULT, tm_held_tag(e->hca, &qp->resp)->sge.lkey);
}

/* The message is there: say so; a rendezvous is read by the QP's send side. */
static void tm_tag_done(struct engine *e, struct hca_qp *qp, struct rx *rx, struct resp_state *s,
			struct hca_tag *tag, const struct burst *b, u64 len)
{
	struct cqe *cqe = cq_reserve(e, rx->seg, rx->cq);
	bool rndv = tag->rndv;
	u32 was = qp->state;

	if (cqe) {
		tag_cqe(e, qp, tag, WCS_SUCCESS, WCF_TM_MATCH | (rndv ? 0 : WCF_TM_DATA_VALID),
			cqe);
		cqe->byte_len = (u32)len;
		cqe_fill_imm(b, cqe);
	}
	s->held = 0;
	if (!cqe)
		rx_lost(e, qp, rx);
	commit_tag(e, tag, rndv ? TAG_RNDV : TAG_DONE);
	commit_recv(e, qp, s, cqe || rx->cq->ignore_overrun ? was : QPS_ERR, rx->cq, cqe, NULL);
	if (cqe && rx->cq->chan)
		cq_notify(e, rx->seg, rx->cq, b->flags & BF_SOLICITED);
	if (rndv)
		qp->rndv++;
	if (rndv || !cqe)
		engine_ring(e, qp->client - 1, qp_slot(qp));
}

static int tm_to_tag(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b)
{
	struct hca_tag *tag = tm_held_tag(e->hca, &qp->resp);
	struct resp_state s = qp->resp;
	u32 info = 0;
	u64 len;
	int ret;

	/* A retried burst has no valid header any more: its sender has changed it. */
	if (((b->flags & BF_FIRST) && b->len < TMH_LEN) || (tag->rndv && !(b->flags & BF_LAST)))
		return resp_nak_fail(e, qp, b, AETH_NAK_INV_REQ, 0, EV_QP_REQ_ERR, CAUSE_BAD_WQE,
				     b->op);
	if (unlikely(e->ops->fault) && wc_fault_recv(e, qp, rx, b, tag->wr_id, tag->sge.len))
		return resp_recv_nak_by_rule(e, qp, b);
	ret = tm_place_payload(e, qp, rx, tag, b, &len, &info);
	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret)
		return tm_refuse(e, qp, b, ret, info);
	if ((b->flags & BF_INV) && resp_invalidate(e->hca, qp, b))
		return resp_invalidate_refused(e, qp, rx, b);
	s.op = BOP_SEND;
	resp_advance(&s, b, b->len);
	if (b->flags & BF_LAST)
		tm_tag_done(e, qp, rx, &s, tag, b, len);
	else
		commit_resp(e, qp, &s, qp->state);
	return resp_ack_asked(e, qp, b);
}

bool tm_accept(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
	       struct rx_wc *wc, int *ret)
{
	*ret = 0;
	if (!qp->resp.held)
		*ret = tm_decide(e, qp, rx, b);
	if (!qp->resp.held)
		return false;
	if (qp->resp.held & HELD_TAG) {
		*ret = tm_to_tag(e, qp, rx, b);
		return false;
	}
	wc->opcode = WCO_TM_NO_TAG;
	if (qp->resp.flags & RESP_UNEXPECTED) {
		wc->opcode = WCO_TM_RECV;
		if (tm_uncounted(rx->srq) > SYNC_DIFF)
			wc->wc_flags |= WCF_TM_SYNC_REQ;
	}
	return true;
}
