/* SPDX-License-Identifier: MIT */
/* The audit of queue pairs. See audit.h. */
#include "emulator/audit/audit.h"
#include "emulator/burst.h"
#include "emulator/ring.h"
#include "emulator/tab.h"

/* Most packets a requester may have under way: its window, and the burst that exceeded it. */
#define PSN_UNDER_WAY ((1 << 22) + (1 << 20) / 256)

static bool audit_is_acked(u32 type)
{
	return type == QPT_RC || type == QPT_XRC_SEND;
}

static int audit_queue(const struct audit *a, u32 i, const char *which, u64 ring, u32 depth,
		       u32 stride, u32 extra)
{
	MUST(!depth || power_of_two(depth), "QP %#x: %s depth %u", i, which, depth);
	MUST(depth <= LIM_QP_WR, "QP %#x: %s depth %u", i, which, depth);
	MUST(!(stride & 63), "QP %#x: %s stride %u", i, which, stride);
	MUST(!depth || seg_range_ok(ring, sizeof(struct wq_ctl) + (u64)depth * stride + extra),
	     "QP %#x: %s ring at %#llx", i, which, (unsigned long long)ring);
	return 0;
}

static int audit_queues(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	u32 frame = qp->type == QPT_RAW_PACKET ? LIM_FRAME : 0;
	int ret = audit_queue(a, i, "send", qp->sq_ring, qp->sq_depth, qp->sq_stride, frame);

	MUST(qp->max_sge <= LIM_SGE && qp->max_rsge <= LIM_SGE && qp->max_inline <= LIM_INLINE,
	     "QP %#x: %u and %u entries, %u inline", i, qp->max_sge, qp->max_rsge, qp->max_inline);
	MUST(qp->sq_stride >= sq_stride(qp->max_sge, qp->max_inline), "QP %#x: send stride %u", i,
	     qp->sq_stride);
	MUST(qp->rq_stride == rq_stride(qp->max_rsge), "QP %#x: receive stride %u", i,
	     qp->rq_stride);
	return ret ? ret
		   : audit_queue(a, i, "receive", qp->rq_ring, qp->rq_depth, qp->rq_stride, 0);
}

static int audit_qp_uses(struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];

	MUST(qp->pd ? audit_use_pd(a, qp->pd, qp->client) : qp->type == QPT_XRC_RECV,
	     "QP %#x: PD %u is not its owner's", i, qp->pd);
	MUST(!qp->scq || audit_use(a, TAB_CQ, qp->scq, qp->client),
	     "QP %#x: send CQ %u is not its owner's", i, qp->scq);
	MUST(!qp->rcq || audit_use(a, TAB_CQ, qp->rcq, qp->client),
	     "QP %#x: receive CQ %u is not its owner's", i, qp->rcq);
	MUST(qp->scq || !qp->sq_depth, "QP %#x: no send CQ", i);
	MUST(qp->rcq || (!qp->rq_depth && !qp->srq), "QP %#x: no receive CQ", i);
	MUST(!qp->srq || audit_use(a, TAB_SRQ, qp->srq - 1, qp->client),
	     "QP %#x: SRQ %u is not its owner's", i, qp->srq - 1);
	MUST(!qp->srq || !qp->rq_depth, "QP %#x: an SRQ, and a queue of its own", i);
	MUST((qp->type == QPT_XRC_RECV) == !!qp->xrcd, "QP %#x: type %u, XRCD %u", i, qp->type,
	     qp->xrcd);
	MUST(!qp->xrcd || audit_is_live(a, TAB_XRCD, qp->xrcd - 1), "QP %#x: its XRCD %u is gone",
	     i, qp->xrcd - 1);
	if (qp->xrcd)
		a->refs[TAB_XRCD][qp->xrcd - 1]++;
	audit_use_xref(a, qp->xref);
	MUST(hca_peer_has_address(a->hca, qp->attr.av.dst_dev), "QP %#x: leads to no host", i);
	MUST(!qp->ind || audit_use(a, TAB_IND, qp->ind - 1, qp->client),
	     "QP %#x: table %u of WQs is not its owner's", i, qp->ind - 1);
	return 0;
}

/* A QP whose timer is armed has its bits set, and the earliest deadline is not later. */
static int audit_timer(const struct audit *a, u32 i)
{
	const struct hca *hca = a->hca;
	const struct hca_qp *qp = &hca->qp[i];
	const struct req_state *s = &qp->req;
	u32 client = qp->client - 1;
	bool rung = (hca->pending_clients[client / 64] & BIT64(client % 64)) ||
		    (hca->via_bits[i / 64] & BIT64(i % 64));
	bool waits = qp->stalled || (s->flags & REQ_RNR_WAIT) ||
		     (s->next_psn != s->una_psn && qp->attr.timeout);

	if (qp->deadline) {
		MUST(hca->timer_bits[i / 64] & BIT64(i % 64), "QP %#x: armed without a bit", i);
		MUST(hca->timer_sum[i / 64 / 64] & BIT64(i / 64 % 64),
		     "QP %#x: armed without a bit in the summary", i);
		MUST(hca->next_deadline <= qp->deadline, "QP %#x: due before the earliest deadline",
		     i);
		return 0;
	}
	/* A QP with a pending doorbell is armed when it is served. */
	MUST(rung || !waits || !audit_is_acked(qp->type) ||
		     (qp->state != QPS_RTS && qp->state != QPS_SQD),
	     "QP %#x: waits without a timer", i);
	return 0;
}

static int audit_req(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct req_state *s = &qp->req;
	static const u32 known = REQ_RNR_WAIT | REQ_DRAINED | REQ_RESENT | REQ_FIN;

	MUST(s->next - s->una <= qp->sq_depth, "QP %#x: WQEs [%u, %u) in %u", i, s->una, s->next,
	     qp->sq_depth);
	MUST(!((s->next_psn | s->una_psn | s->una_first) & ~IB_PSN_MASK),
	     "QP %#x: PSNs %#x %#x %#x", i, s->next_psn, s->una_psn, s->una_first);
	/* For frames it says which frame, and which receivers have it already (raw.c). */
	MUST(qp->type == QPT_RAW_PACKET || qp->type == QPT_SRD || s->next_off <= LIM_MSG,
	     "QP %#x: %llu bytes of a message sent", i, (unsigned long long)s->next_off);
	MUST((qp->type == QPT_SRD) == !!qp->srd && qp->srd <= HCA_MAX_SRD &&
		     (!qp->srd || a->hca->srd_qp[qp->srd - 1] == i + 1),
	     "QP %#x: window %u", i, qp->srd);
	MUST(qp->type != QPT_SRD || (s->next - s->una <= SRD_WINDOW && !(s->done & 1)),
	     "QP %#x: messages [%u, %u), of which %#llx are complete", i, s->una, s->next,
	     (unsigned long long)s->done);
	MUST(s->rd_out <= LIM_RD_ATOM, "QP %#x: %u READs outstanding", i, s->rd_out);
	MUST(s->retry <= 7 && s->rnr_retry <= 7, "QP %#x: retries left: %u, %u", i, s->retry,
	     s->rnr_retry);
	MUST(!(s->flags & ~known), "QP %#x: requester flags %#x", i, s->flags);
	if (!audit_is_acked(qp->type))
		return 0;
	MUST(psn_diff(s->una_psn, s->una_first) >= 0 && psn_diff(s->next_psn, s->una_psn) >= 0 &&
		     psn_diff(s->next_psn, s->una_psn) <= PSN_UNDER_WAY,
	     "QP %#x: PSNs out of order: first %#x una %#x next %#x", i, s->una_first, s->una_psn,
	     s->next_psn);
	MUST(!s->own || (s->own <= HCA_MAX_TAG && a->hca->tag[s->own - 1].qpn == qp->qpn),
	     "QP %#x: reads for tag %u", i, s->own);
	MUST(s->una != s->next || s->next_off || s->own || (s->flags & REQ_FIN) ||
		     s->una_first == s->una_psn,
	     "QP %#x: packet %#x of no WQE is acknowledged, and %#x is the first", i, s->una_psn,
	     s->una_first);
	/* The READs and the FIN of a rendezvous have no WQE; they may stay under way until ERR. */
	MUST(s->una != s->next || s->next_off || s->own || (s->flags & REQ_FIN) ||
		     s->next_psn == s->una_psn || qp->state == QPS_ERR,
	     "QP %#x: packets under way, but no WQE", i);
	return 0;
}

static int audit_held(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct hca_srq *srq;

	if (!qp->resp.held)
		return 0;
	MUST(qp->held_srq && qp->held_srq <= HCA_MAX_SRQ, "QP %#x: holds a receive of no SRQ", i);
	srq = &a->hca->srq[qp->held_srq - 1];
	/* An XRC SRQ may be destroyed while a message to it is under way. */
	MUST(!srq->client || qp->type == QPT_XRC_RECV || qp->resp.held <= srq->depth,
	     "QP %#x: holds receive %u of %u", i, qp->resp.held - 1, srq->depth);
	return 0;
}

static int audit_resp(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct resp_state *s = &qp->resp;
	static const u32 known = RESP_NAK_SENT | RESP_IN_MSG | RESP_COMM_EST | RESP_LAST_WQE |
				 RESP_SKIP | RESP_UNEXPECTED;
	u32 k;

	MUST(!((s->epsn | s->msn) & ~IB_PSN_MASK), "QP %#x: expects PSN %#x, MSN %#x", i, s->epsn,
	     s->msn);
	MUST(!(s->flags & ~known), "QP %#x: responder flags %#x", i, s->flags);
	MUST(!(s->flags & RESP_IN_MSG) || s->op == BOP_SEND || s->op == BOP_WRITE,
	     "QP %#x: in a message of kind %u", i, s->op);
	MUST(!(s->flags & RESP_IN_MSG) || s->op != BOP_WRITE || s->off <= s->len,
	     "QP %#x: %u of %u bytes written", i, s->off, s->len);
	for (k = 0; k < LIM_RD_ATOM; k++) {
		const struct atomic_res *res = &qp->at[k];

		/* The latest may have been executed but not committed when its holder died. */
		MUST(!res->nth || ((res->nth - 1) % LIM_RD_ATOM == k && res->nth <= s->at_head + 1),
		     "QP %#x: atomic result %u is the %u-th of %u", i, k, res->nth, s->at_head);
	}
	return audit_held(a, i);
}

static int audit_idle(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct req_state *s = &qp->req;

	MUST(!s->next && !s->una && !qp->resp.rq_cons && !qp->rq_seen && !qp->resp.held &&
		     !qp->deadline && !qp->stalled,
	     "QP %#x: in %s with WQEs taken", i, ib_qp_state_name(qp->state));
	return 0;
}

int audit_qp(struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	int ret;

	MUST(i >= FIRST_QP, "QP %#x: a number that is kept back", i);
	MUST((qp->qpn & (HCA_MAX_QP - 1)) == i && qp->qpn <= IB_QPN_MASK, "QP %#x: number %#x", i,
	     qp->qpn);
	MUST(qp->async_chan < SEG_MAX_CHANS, "QP %#x: channel %u", i, qp->async_chan);
	MUST(qp->state < QPS_COUNT, "QP %#x: state %u", i, qp->state);
	MUST(qp->state < QPS_RTR || qp->state == QPS_ERR || (qp->mtu >= 256 && qp->mtu <= 4096),
	     "QP %#x: MTU %u", i, qp->mtu);
	ret = audit_qp_uses(a, i);
	if (!ret)
		ret = audit_queues(a, i);
	if (!ret && qp->state <= QPS_INIT)
		ret = audit_idle(a, i);
	if (!ret)
		ret = audit_req(a, i);
	if (!ret)
		ret = audit_resp(a, i);
	return ret ? ret : audit_timer(a, i);
}
