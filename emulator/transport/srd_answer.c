/* SPDX-License-Identifier: MIT */
/**
 * DOC: the completer of SRD: ACKs, NAKs and READ responses.
 *
 * An answer names packets of a flow, and thereby the message that they are of: its first PSN, and
 * in the place of the MSN how many. One that names no message under way is a late duplicate.
 */
#include "emulator/transport/srd.h"

#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/ring.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/wqe.h"

/* How many packets an answer is about. */
static u32 srd_answered(const struct burst *b)
{
	return b->op == BOP_ACK ? b->msn : b->npkts;
}

/* The message under way that an answer is about. Return: whether there is one. */
static bool srd_find(struct hca *hca, const struct hca_qp *qp, const struct burst *b, u32 *wqe)
{
	u64 left = srd_active(&qp->req);
	u32 i;

	for_each_bit64(i, left) {
		const struct srd_msg *m = srd_msg_of(hca, qp, qp->req.una + i);
		s32 first = psn_diff(b->psn, m->psn);

		if (m->dst_dev != b->src_dev || m->dst_qpn != b->src_qpn || first < 0 ||
		    (u32)first >= srd_npkts(m))
			continue;
		*wqe = qp->req.una + i;
		return srd_answered(b) && srd_answered(b) <= srd_npkts(m) - (u32)first;
	}
	return false;
}

static void srd_nak_input(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe,
			  u8 aeth)
{
	enum srd_status status = aeth == AETH_NAK_INV_REQ      ? SRD_REMOTE_BAD_LENGTH
				 : aeth == AETH_NAK_REM_ACCESS ? SRD_REMOTE_BAD_ADDRESS
				 : aeth == AETH_NAK_INV_RD_REQ ? SRD_REMOTE_BAD_DEST_QPN
							       : SRD_REMOTE_BAD_STATUS;

	srd_complete(e, qp, seg, wqe, status, CAUSE_NAK, aeth);
}

static void srd_rnr_input(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe,
			  u32 timer)
{
	enum { RNR_FOR_EVER = 7 };
	struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);

	dev_count(e->hca, qp, CNT_RNR_RCVD);
	if (m->state == SRD_RNR)
		return;
	qp->n_rnr++;
	if (!m->rnr_retry) {
		dev_count(e->hca, qp, CNT_RNR_RETRY_EXC);
		srd_complete(e, qp, seg, wqe, SRD_REMOTE_RNR, CAUSE_RNR_RETRY, qp->attr.rnr_retry);
		return;
	}
	if (m->rnr_retry != RNR_FOR_EVER)
		m->rnr_retry--;
	srd_msg_wait(e, qp, wqe, ib_rnr_timer_ns(timer));
}

/* Copy the data of a READ. Return: 0, or as engine_ops.copy. */
static int srd_response_place(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
			      const struct srd_msg *m, const struct burst *b, u32 *bad)
{
	u64 at = (u64)psn_diff(b->psn, m->psn) * qp->mtu, total;
	struct hca_mem dst;

	*bad = 0;
	if (b->len != min_u64((u64)b->npkts * qp->mtu, m->len - at))
		return -ESRCH;
	if (!b->len)
		return 0;
	at += srd_off(m);
	if (mem_local(e->hca, qp->pd, w->sge, min_u32(w->num_sge, qp->max_sge), ACC_LOCAL_WRITE,
		      at + b->len, &dst, &total, bad) ||
	    at + b->len > total)
		return -EFAULT_DST;
	return e->ops->copy(e->ctx, &dst, at, b->mem, b->off, b->len,
			    (u64)qp->qpn << 32 | b->psn << 1);
}

static int srd_response_input(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe,
			      const struct burst *b)
{
	const struct sq_wqe *w = sq_slot(seg, qp, wqe);
	const struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);
	u32 bad;
	int ret;

	if (w->opcode != WR_RDMA_READ)
		return 0;
	ret = srd_response_place(e, qp, w, m, b, &bad);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (!ret)
		return 1;
	srd_complete(e, qp, seg, wqe,
		     ret == -EFAULT_DST ? SRD_LOCAL_INVALID_LKEY : SRD_REMOTE_BAD_STATUS,
		     bad ? CAUSE_LKEY : CAUSE_MEM_FAULT, bad);
	return 0;
}

int srd_answer_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct seg_hdr *seg = seg_of(e, qp->client);
	struct srd_msg *m;
	u32 wqe;
	int ret;

	if (!seg)
		return -EAGAIN;
	if ((qp->state != QPS_RTS && qp->state != QPS_SQD) || b->srqn != srd_source(qp) >> 24 ||
	    !srd_find(e->hca, qp, b, &wqe))
		return 0;
	if (b->op == BOP_ACK && b->aeth >= AETH_NAK_PSN_SEQ) {
		srd_nak_input(e, qp, seg, wqe, b->aeth);
		return 0;
	}
	if (b->op == BOP_ACK && b->aeth >= AETH_RNR_NAK) {
		srd_rnr_input(e, qp, seg, wqe, b->aeth & 0x1f);
		return 0;
	}
	if (b->op == BOP_READ_RESP) {
		ret = srd_response_input(e, qp, seg, wqe, b);
		if (ret <= 0)
			return ret;
	} else if (sq_slot(seg, qp, wqe)->opcode == WR_RDMA_READ) {
		return 0; /* what is read comes in a response */
	}
	m = srd_msg_of(e->hca, qp, wqe);
	m->acked |= srd_packets((u32)psn_diff(b->psn, m->psn), srd_answered(b));
	if (m->acked == srd_packets(0, srd_npkts(m)))
		srd_segment_end(e, qp, seg, wqe);
	return 0;
}
