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

u64 qp_ack_timeout_ns(const struct hca *hca, const struct hca_qp *qp)
{
	u64 t = ib_ack_timeout_ns(qp->attr.timeout), least;

	if (likely(!qp->path.via) || !(hca->dev[qp->path.dst_dev].member || hca->chaos))
		return t;
	least = hca_clock_span(&hca->clock, FAR_ACK_MIN_NS);
	return t > least ? t : least;
}

u32 qp_xrc_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn)
{
	u32 i = srqn & (HCA_MAX_SRQ - 1);
	const struct hca_srq *srq = &hca->srq[i];

	return srq->client && srq->srqn == srqn && srq->type == SRQ_XRC && srq->xrcd == qp->xrcd
		       ? i + 1
		       : 0;
}
