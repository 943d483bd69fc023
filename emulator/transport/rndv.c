/* SPDX-License-Identifier: MIT */
/**
 * DOC: the reading of rendezvous: requests that the HCA makes of its own.
 *
 * Theory of operation
 * -------------------
 * A rendezvous that has found its tag is read from its sender by RDMA READ, and then the sender is
 * told by a SEND of 16 bytes (a struct ibv_tmh with opcode FIN) that its buffer is free. Nobody has
 * posted either; the QP may not even have a send queue. They take the QP's next PSNs, in between
 * work requests: what was begun of the send queue is acknowledged first, and nothing of it begins
 * until the FIN is acknowledged. So of the requester's state only the WQE is missing, and ACKs,
 * NAKs, retries and timeouts are those of the ordinary requester.
 *
 * req_state.own names the tag while its data are being read. The completion that says that they are
 * there frees the tag and sets REQ_FIN, in one commit; the message that remains to be sent lies in
 * the QP.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/tag_match.h"
#include "emulator/transport/untrusted.h"
#include "emulator/transport/wire.h"

#include <endian.h>

static struct hca_tag *rndv_tag(struct hca *hca, const struct req_state *s)
{
	return &hca->tag[(s->own - 1) & (HCA_MAX_TAG - 1)];
}

/* The QP's rendezvous that came first, of those that wait. */
static struct hca_tag *rndv_next_tag(struct hca *hca, const struct hca_qp *qp)
{
	const struct hca_srq *srq = &hca->srq[qp->srq - 1];
	struct hca_tag *first = NULL, *t;
	u32 i;

	for (i = srq->tags; i; i = t->next) {
		t = &hca->tag[i - 1];
		if (t->state == TAG_RNDV && t->qpn == qp->qpn &&
		    (!first || psn_diff(t->msn, first->msn) < 0))
			first = t;
	}
	return first;
}

/* Put a burst of the QP's own on the wire. Return: whether it is worth while to go on. */
static bool rndv_send(struct engine *e, struct hca_qp *qp, struct req_state *s,
		      const struct burst *b)
{
	struct req_state old = qp->req;

	s->next_psn = psn_add(s->next_psn, b->npkts);
	s->next_off += b->dma_len;
	s->tx_pkts += b->npkts;
	s->tx_bytes += b->len;
	commit_req(e, qp, s, qp->state, NULL, NULL);
	e->budget_bytes -= (s64)b->len;
	e->budget_wrs--;
	if (wire_send(e, b) != -EAGAIN)
		return true;
	commit_req(e, qp, &old, qp->state, NULL, NULL);
	qp_stall(e, qp);
	return false;
}

static void rndv_burst(const struct hca_qp *qp, u8 op, u64 len, struct burst *b)
{
	resp_start(qp, qp->req.next_psn, op, 0, b);
	b->npkts = packets_of(len, qp->mtu);
	b->len = len;
}

static bool rndv_send_read(struct engine *e, struct hca_qp *qp, struct req_state *s)
{
	const struct hca_tag *tag = rndv_tag(e->hca, s);
	u64 chunk = qp_chunk_len(qp, qp_read_chunk(qp), s->next_off, tag->len);
	struct burst b;

	rndv_burst(qp, BOP_READ_REQ, chunk, &b);
	b.va = tag->va + s->next_off;
	b.rkey = tag->rkey;
	b.dma_len = chunk;
	return rndv_send(e, qp, s, &b);
}

static bool rndv_send_fin(struct engine *e, struct hca_qp *qp, struct req_state *s)
{
	struct hca_mem mem = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 };
	struct burst b;

	rndv_burst(qp, BOP_SEND, sizeof(qp->fin), &b);
	mem.iov[0].addr = (u64)((const char *)qp->fin - (const char *)e->hca);
	mem.iov[0].len = sizeof(qp->fin);
	b.flags |= BF_ACK_REQ;
	b.mem = &mem;
	return rndv_send(e, qp, s, &b);
}

static bool rndv_begin(struct engine *e, struct hca_qp *qp, struct req_state *s)
{
	const struct hca_tag *tag = rndv_next_tag(e->hca, qp);

	if (!tag) {
		qp->rndv = 0;
		return true;
	}
	s->own = (u32)(tag - e->hca->tag) + 1;
	s->next_off = 0;
	commit_req(e, qp, s, qp->state, NULL, NULL);
	return true;
}

bool rndv_step(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;

	/* One request at a time. */
	if (s.una != s.next || s.next_psn != s.una_psn || (s.flags & REQ_RNR_WAIT))
		return false;
	if (s.flags & REQ_FIN)
		return rndv_send_fin(e, qp, &s);
	if (!s.own)
		return rndv_begin(e, qp, &s);
	if (!qp->attr.max_rd_atomic) {
		rndv_fail(e, qp, seg_of(e, qp->client), WCS_LOC_QP_OP_ERR, CAUSE_RD_ATOMIC, 0);
		return true;
	}
	return rndv_send_read(e, qp, &s);
}

bool rndv_ack(const struct hca_qp *qp, struct req_state *s, u32 end)
{
	if (psn_diff(end, s->una_psn) <= 0)
		return true;
	if (!(s->flags & REQ_FIN))
		return false;
	s->flags &= ~(u32)REQ_FIN;
	s->una_psn = s->una_first = end;
	s->next_off = 0;
	s->retry = (u8)qp->attr.retry_cnt;
	return true;
}

/* All of it is there. */
static void rndv_read_done(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
			   struct req_state *s, const struct hca_tag *tag)
{
	struct hca_cq *cq = &e->hca->cq[e->hca->srq[tag->srq].cq - 1];
	struct cqe *cqe = cq_reserve(e, seg, cq);
	u32 app_ctx = htobe32(tag->app_ctx), was = qp->state;
	u64 got = htobe64(tag->got);

	memset(qp->fin, 0, sizeof(qp->fin));
	qp->fin[0] = TMH_FIN;
	memcpy(qp->fin + 4, &app_ctx, sizeof(app_ctx));
	memcpy(qp->fin + 8, &got, sizeof(got));
	if (cqe) {
		tag_cqe(e, qp, tag, WCS_SUCCESS, WCF_TM_DATA_VALID, cqe);
		cqe->byte_len = tag->len;
	}
	s->own = 0;
	s->flags |= REQ_FIN;
	s->una_first = s->una_psn;
	s->next_off = 0;
	qp->rndv--;
	if (!cqe)
		cq_entry_lost(e, qp, cq);
	commit_tag(e, tag, TAG_DONE);
	commit_req(e, qp, s, cqe || cq->ignore_overrun ? was : QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, false);
}

int rndv_response(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, struct req_state *s,
		  const struct burst *b)
{
	const struct hca_tag *tag = rndv_tag(e->hca, s);
	u64 at = (u64)((s->una_psn - s->una_first) & IB_PSN_MASK) * qp->mtu, room;
	u32 end = psn_add(b->psn, b->npkts), bad = 0;
	struct hca_mem dst;
	int ret = 0;

	if ((s->flags & REQ_FIN) || b->op != BOP_READ_RESP || req_response_is_beyond(s, b) ||
	    at + b->len > tag->len ||
	    ((b->flags & BF_FOREIGN) && untrusted_response_status(qp, at, tag->len, b))) {
		rndv_fail(e, qp, seg, WCS_BAD_RESP_ERR, CAUSE_BAD_WQE, b->op);
		return 0;
	}
	if (mem_local(e->hca, e->hca->srq[tag->srq].pd, &tag->sge, 1, ACC_LOCAL_WRITE, at + b->len,
		      &dst, &room, &bad) ||
	    tag->len > room)
		ret = -EFAULT_DST;
	else if (b->len)
		ret = e->ops->copy(e->ctx, &dst, at, b->mem, b->off, b->len,
				   (u64)qp->qpn << 32 | b->psn << 1);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (ret) {
		rndv_fail(e, qp, seg, ret == -EFAULT_DST ? WCS_LOC_PROT_ERR : WCS_REM_OP_ERR,
			  bad ? CAUSE_LKEY : CAUSE_MEM_FAULT, bad ? bad : tag->sge.lkey);
		return 0;
	}
	req_progress(qp, s);
	s->una_psn = end;
	if (((end - s->una_first) & IB_PSN_MASK) == packets_of(tag->len, qp->mtu))
		rndv_read_done(e, qp, seg, s, tag);
	else
		commit_req(e, qp, s, qp->state, NULL, NULL);
	return 0;
}

static struct cqe *rndv_incomplete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
				   const struct hca_tag *tag, u32 status)
{
	struct cqe *cqe = cq_reserve(e, seg, &e->hca->cq[e->hca->srq[tag->srq].cq - 1]);

	if (cqe)
		tag_cqe(e, qp, tag, status, 0, cqe);
	if (qp->rndv)
		qp->rndv--;
	commit_tag(e, tag, TAG_DONE);
	return cqe;
}

void rndv_fail(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 status, u32 cause,
	       u32 info)
{
	struct req_state s = qp->req;
	const struct hca_tag *tag = s.own ? rndv_tag(e->hca, &s) : NULL;
	struct hca_cq *cq = tag ? &e->hca->cq[e->hca->srq[tag->srq].cq - 1] : NULL;
	/*
	 * The completion reports errors of the tag's memory; all others as a rendezvous that could
	 * not be read.
	 */
	u32 said = status == WCS_LOC_PROT_ERR ? status : WCS_TM_RNDV_INCOMPLETE;
	struct cqe *cqe = NULL;

	s.own = 0;
	s.flags = 0;
	s.next_off = 0;
	s.next_psn = s.una_psn = s.una_first;
	qp_timer_arm(e, qp, 0);
	if (tag) {
		journal_tag(e, qp, tag, said, cause, info);
		cqe = rndv_incomplete(e, qp, seg, tag, said);
	}
	/* The data were complete; no request of the program is there to tell the error by. */
	if (!tag)
		qp_event_raise(e, qp, EV_QP_FATAL, cause, info);
	commit_req(e, qp, &s, QPS_ERR, cq, cqe);
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, true);
}

bool rndv_flush(struct engine *e, struct hca_qp *qp, struct rx *rx)
{
	struct hca_tag *tag;
	struct req_state s;
	struct cqe *cqe;

	while (qp->rndv) {
		if (!budget_left(e))
			return false;
		tag = rndv_next_tag(e->hca, qp);
		if (!tag) {
			qp->rndv = 0;
			break;
		}
		s = qp->req;
		s.own = 0;
		cqe = rndv_incomplete(e, qp, rx->seg, tag, WCS_TM_RNDV_INCOMPLETE);
		commit_req(e, qp, &s, qp->state, rx->cq, cqe);
		if (cqe && rx->cq->chan)
			cq_notify(e, rx->seg, rx->cq, true);
		e->budget_wrs--;
	}
	return true;
}
