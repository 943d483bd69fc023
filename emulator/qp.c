/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs: what every layer asks of one.
 */
#include "emulator/qp.h"

/*
 * Real time. Packets to another fabric and back pass two processes that need the CPU, and buffers
 * that all queue pairs share: a premature retransmission resends READ data and delays the others.
 * Chaos must not exhaust retries either.
 */
#define FAR_ACK_MIN_NS 250000000ULL

/*
 * A host outside that is busy has not lost what it has not answered yet, and each retransmission
 * adds to its work: the timeout doubles, to four times, as long as a timer may take (IBTA
 * 9.7.6.1.3).
 */
#define PEER_BACKOFF_MAX 2u

/* How often the ACK timeout is doubled. A NAK shows that the peer is there. */
static u32 qp_backoff(const struct hca *hca, const struct hca_qp *qp)
{
	if (!hca_dev_is_peer(hca, qp->path.dst_dev) || qp->req.flags & REQ_RESENT)
		return 0;
	return min_u32(qp->attr.retry_cnt - qp->req.retry, PEER_BACKOFF_MAX);
}

u64 qp_ack_timeout_ns(const struct hca *hca, const struct hca_qp *qp)
{
	u64 t = ib_ack_timeout_ns(qp->attr.timeout), least;

	if (likely(!qp->path.via) || !(hca->dev[qp->path.dst_dev].member || hca->chaos))
		return t;
	least = hca_clock_span(&hca->clock, FAR_ACK_MIN_NS);
	return (t > least ? t : least) << qp_backoff(hca, qp);
}

u32 qp_xrc_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn)
{
	u32 i = srqn & (HCA_MAX_SRQ - 1);
	const struct hca_srq *srq = &hca->srq[i];

	return srq->client && srq->srqn == srqn && srq->type == SRQ_XRC && srq->xrcd == qp->xrcd
		       ? i + 1
		       : 0;
}
