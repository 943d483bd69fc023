/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs, as all layers of the engine see them.
 */
#ifndef EMULATOR_QP_H
#define EMULATOR_QP_H

#include "emulator/hca.h"

/** qp_slot() - a QP's slot: the low bits of its number. */
static inline u32 qp_slot(const struct hca_qp *qp)
{
	return qp->qpn & (HCA_MAX_QP - 1);
}

/** hca_qp_by_num() - the live QP with that number, or NULL. */
static inline struct hca_qp *hca_qp_by_num(struct hca *hca, u32 qpn)
{
	struct hca_qp *qp = &hca->qp[qpn & (HCA_MAX_QP - 1)];

	return qp->client && qp->qpn == qpn ? qp : NULL;
}

static inline struct hca_limits *lim_of(struct hca *hca, u32 dev)
{
	return &hca->dev[dev].lim;
}

/** own_dev() - whether it is a device of the client's node: programs have no others. */
static inline bool own_dev(const struct hca *hca, u32 client, u32 dev)
{
	return dev < hca->n_devs && hca->dev[dev].node == hca->client[client].node;
}

/** qp_port() - the port that a QP was given; number 0 before it is in INIT. */
static inline struct hca_port *qp_port(struct hca *hca, const struct hca_qp *qp)
{
	return &hca->dev[qp->dev].port[qp->attr.port_num];
}

/** dev_count() - something happened that the QP's port counts. */
static inline void dev_count(struct hca *hca, const struct hca_qp *qp, enum hca_counter c)
{
	qp_port(hca, qp)->counters[c]++;
}

/** qp_reliable() - its requests are acknowledged. */
static inline bool qp_reliable(const struct hca_qp *qp)
{
	return qp->type == QPT_RC || qp->type == QPT_XRC_SEND || qp->type == QPT_XRC_RECV;
}

/** qp_is_datagram() - its work requests name their peer. */
static inline bool qp_is_datagram(const struct hca_qp *qp)
{
	return qpt_is_datagram(qp->type);
}

/** qp_is_connected() - it has one peer, with or without ACKs. */
static inline bool qp_is_connected(const struct hca_qp *qp)
{
	return qp->type == QPT_UC || qp_reliable(qp);
}

/* A burst, and what one READ request asks for, is at most this long. */
#define REQ_CHUNK (1u << 20)

/** qp_chunk() - the same for a QP whose links may be slow: whole packets. */
static inline u64 qp_chunk(const struct hca_qp *qp)
{
	return qp->chunk ? qp->chunk : REQ_CHUNK;
}

/** qp_read_chunk() - what one READ request asks for, at most. */
static inline u64 qp_read_chunk(const struct hca_qp *qp)
{
	return qp->read_chunk ? qp->read_chunk : qp_chunk(qp);
}

/**
 * qp_chunk_begin() - begin of the burst, or of the READ request, with byte @at of a message of
 * @total bytes. @chunk: qp_chunk() or qp_read_chunk()
 */
static inline u64 qp_chunk_begin(const struct hca_qp *qp, u64 chunk, u64 at, u64 total)
{
	u64 begin = at - at % chunk;

	return begin && total - begin <= qp->chunk_rest ? begin - chunk : begin;
}

/** qp_chunk_len() - bytes from @at to the end of it. */
static inline u64 qp_chunk_len(const struct hca_qp *qp, u64 chunk, u64 at, u64 total)
{
	u64 end = qp_chunk_begin(qp, chunk, at, total) + chunk;

	return (end + qp->chunk_rest >= total ? total : end) - at;
}

/* --- qp.c --- */

/** qp_xrc_srq() - the SRQ numbered @srqn of the target QP's domain, index + 1; 0: none. */
u32 qp_xrc_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn);

/**
 * qp_recv_srq() - the SRQ that a request to @qp takes its receive from; NULL: the QP's own queue.
 * @srqn: XRC: the SRQ's number, which must be one of the target QP's domain
 */
static inline struct hca_srq *qp_recv_srq(struct hca *hca, const struct hca_qp *qp, u32 srqn)
{
	u32 i = unlikely(qp->type == QPT_XRC_RECV) ? qp_xrc_srq(hca, qp, srqn) : qp->srq;

	return i ? &hca->srq[i - 1] : NULL;
}

/**
 * qp_ack_timeout_ns() - the ACK timeout of a QP that has one; at least a quarter of a second if its
 * peer is in another fabric.
 */
u64 qp_ack_timeout_ns(const struct hca *hca, const struct hca_qp *qp);

#endif
