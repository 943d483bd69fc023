/* SPDX-License-Identifier: MIT */
/**
 * DOC: the wire's two ends: a burst leaves its port, and reaches the QP that it is addressed to.
 *
 * Between two ports without links the wire has no delay: wire_send() calls the responder or
 * completer of the peer. MADs for QP 1 go to engine.gsi_input, since connection management lies
 * above this layer.
 */
#include "emulator/av.h"
#include "emulator/doorbell.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/transport/capture_ring.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/srd.h"
#include "emulator/transport/untrusted.h"
#include "emulator/transport/wire.h"

/* Payload bytes on the wire: a READ's data goes the other way. */
static u64 wire_bytes(const struct burst *b)
{
	return b->op == BOP_READ_REQ ? 0 : b->len;
}

bool qp_addressed(const struct hca_qp *qp, const struct burst *b)
{
	if (qp->type != b->dst_type || qp->dev != b->dst_dev || qp->attr.port_num != b->dst_port)
		return false;
	if (!qp_is_datagram(qp) &&
	    (qp->attr.dest_qpn != b->src_qpn || qp->attr.av.dst_dev != b->src_dev ||
	     qp->attr.av.dst_port != b->src_port))
		return false;
	return pkeys_match(qp->path.pkey, b->pkey);
}

/*
 * Ring a QP after an answer: its send side may continue, or flush. Not the one that runs now, which
 * does so anyway.
 */
static inline void wire_ring_answered(struct engine *e, const struct hca_qp *qp)
{
	u32 slot = qp_slot(qp);

	if (e->hca->cur_qp != slot + 1)
		engine_ring(e, qp->client - 1, slot);
}

/* The types whose requests are not RC's. */
#define OTHERS (1u << QPT_UD | 1u << QPT_UC | 1u << QPT_SRD)

static int qp_input_other(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	int ret;

	if (qp->type == QPT_UD)
		return ud_input(e, qp, b);
	if (qp->type == QPT_UC)
		return uc_input(e, qp, b);
	if (!srd_is_answer(b))
		return srd_input(e, qp, b);
	ret = srd_answer_input(e, qp, b);
	wire_ring_answered(e, qp);
	return ret;
}

/* To its QP. Return: as hca_input(). */
static inline int qp_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	int ret;

	if (unlikely(OTHERS >> qp->type & 1))
		return qp_input_other(e, qp, b);
	if (b->op != BOP_ACK && b->op != BOP_READ_RESP && b->op != BOP_ATOMIC_ACK)
		return resp_input(e, qp, b);
	ret = b->op == BOP_ACK ? comp_ack(e, qp, b->psn, b->aeth) : comp_input(e, qp, b);
	wire_ring_answered(e, qp);
	return ret;
}

/* The same for a packet that anybody may have built. */
static int qp_input_untrusted(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct burst p = *b;

	return untrusted_check(e, qp, &p) ? qp_input(e, qp, &p) : 0;
}

/* Journal why @qp, which the burst names, does not take it. */
static void wire_drop_undelivered(struct engine *e, const struct hca_qp *qp, const struct burst *b,
				  const struct hca_port *port)
{
	if (!port)
		journal_drop(e, b, CAUSE_NO_PORT, 0);
	else if (!qp || qp->type != b->dst_type || qp->dev != b->dst_dev ||
		 qp->attr.port_num != b->dst_port)
		journal_drop(e, b, CAUSE_NO_QP, b->dst_qpn);
	else if (qp->state < QPS_RTR)
		journal_drop(e, b, CAUSE_QP_STATE, qp->state);
	else if (!pkeys_match(qp->path.pkey, b->pkey))
		journal_drop(e, b, CAUSE_PKEY, (u32)b->pkey << 16 | qp->path.pkey);
	else
		journal_drop(e, b, CAUSE_OTHER_PEER, qp->attr.dest_qpn);
}

/*
 * A burst that has reached its port. Return: as hca_input(), -ENETDOWN when there is no such port.
 */
static int port_input(struct engine *e, const struct burst *b)
{
	struct hca *hca = e->hca;
	struct hca_qp *qp = hca_qp_by_num(hca, b->dst_qpn);
	struct hca_port *port;

	if (likely(qp && qp_addressed(qp, b)))
		return unlikely(b->flags & BF_FOREIGN) ? qp_input_untrusted(e, qp, b)
						       : qp_input(e, qp, b);
	if (b->dst_qpn == GSI_QPN && e->gsi_input)
		return e->gsi_input(e, b);
	port = port_of(hca, b->dst_dev, b->dst_port);
	if (port)
		port->counters[CNT_DROPPED]++;
	if (unlikely(b->dst_type == QPT_SRD) && port && !srd_is_answer(b))
		srd_refuse(e, b);
	wire_drop_undelivered(e, qp, b, port);
	return port ? 0 : -ENETDOWN;
}

/* As hca_input(). @counts: receives whether the port has received it, and counts it */
static int wire_arrive(struct engine *e, const struct burst *b, bool *counts)
{
	int ret;

	*counts = false;
	if (unlikely(b->av && av_is_mcast(b->av)))
		return mcast_input(e, b);
	if (unlikely(port_is_down(e->hca, b->dst_dev, b->dst_port))) {
		journal_drop(e, b, CAUSE_PORT_DOWN, b->dst_dev << 8 | b->dst_port);
		return 0;
	}
	ret = port_input(e, b);
	if (unlikely(ret == -EAGAIN))
		return ret;
	*counts = ret != -ENETDOWN && !burst_is_rest(b);
	return 0;
}

int hca_input(struct engine *e, const struct burst *b)
{
	bool counts;
	int ret = wire_arrive(e, b, &counts);

	if (likely(counts))
		port_count_packets(e->hca, b->dst_dev, b->dst_port, MOVE_RECEIVED, burst_packets(b),
				   wire_bytes(b));
	return ret;
}

/* Return: as hca_input(). @both: receives whether its port is to count it, too */
static int wire_carry(struct engine *e, const struct burst *b, bool *both)
{
	const struct engine_ops *ops = e->ops;

	*both = false;
	if (unlikely(ops->wire))
		return ops->wire(e->ctx, b);
	if (likely(!b->via))
		return wire_arrive(e, b, both);
	if (likely(ops->link))
		return ops->link(e->ctx, b);
	return e->leaves ? ops->leave(e->ctx, b) : -EAGAIN;
}

/* It cannot leave its port. Return: as hca_input(). */
static int wire_drop_port_down(struct engine *e, const struct burst *b)
{
	struct cap_note note = { .fate = CAP_DROPPED,
				 .cause = CAUSE_PORT_DOWN,
				 .info = b->src_dev << 8 | b->src_port };

	if (cap_burst_put(e, b, &note) == -EAGAIN)
		return -EAGAIN;
	e->hca->dev[b->src_dev].port[b->src_port].counters[CNT_SEND_ERR]++;
	journal_drop(e, b, note.cause, note.info);
	return 0;
}

/*
 * wire_carry() with a capture record. Bursts that pass a link are recorded there:
 * fabric/link/link.c.
 */
static int wire_carry_watched(struct engine *e, const struct burst *b, bool *both)
{
	struct cap_mark mark;
	int ret;

	if (b->via || e->ops->wire)
		return wire_carry(e, b, both);
	ret = cap_burst_begin(e, b, NULL, &mark);
	if (ret)
		return ret;
	ret = wire_carry(e, b, both);
	cap_burst_end(e, &mark, ret);
	return ret;
}

/* wire_send() where the peer is not reached directly. */
static int wire_send_slow(struct engine *e, const struct burst *b)
{
	struct hca *hca = e->hca;
	bool both = false;
	int ret;

	if (likely(!hca->watched))
		ret = wire_carry(e, b, &both);
	else if (port_is_down(hca, b->src_dev, b->src_port))
		return wire_drop_port_down(e, b);
	else
		ret = wire_carry_watched(e, b, &both);
	if (ret == -EAGAIN)
		return ret;
	if (likely(both))
		port_count_between(hca, &b->path, burst_packets(b), wire_bytes(b));
	else
		port_count_packets(hca, b->src_dev, b->src_port, MOVE_SENT, burst_packets(b),
				   wire_bytes(b));
	if (unlikely(b->av && av_is_mcast(b->av)))
		hca->dev[b->src_dev].port[b->src_port].counters[CNT_MCAST_XMIT]++;
	return ret;
}

int wire_send(struct engine *e, const struct burst *b)
{
	struct hca_qp *qp = likely(!b->av) ? wire_near_peer(e, &b->path) : NULL;
	int ret;

	if (unlikely(!qp))
		return wire_send_slow(e, b);
	ret = qp_input(e, qp, b);
	if (likely(ret != -EAGAIN))
		port_count_between(e->hca, &b->path, burst_packets(b), wire_bytes(b));
	return ret;
}

int wire_send_ack(struct engine *e, const struct hca_qp *qp, u32 psn, u8 aeth)
{
	struct hca_qp *peer = wire_near_peer(e, &qp->path);
	struct burst b;
	int ret;

	if (unlikely(!peer || !qp_reliable(peer))) {
		resp_start(qp, psn, BOP_ACK, aeth, &b);
		return wire_send(e, &b);
	}
	/* An ACK consists of these two numbers only. */
	ret = comp_ack(e, peer, psn & IB_PSN_MASK, aeth);
	wire_ring_answered(e, peer);
	if (likely(ret != -EAGAIN))
		port_count_between(e->hca, &qp->path, 1, 0);
	return ret;
}
