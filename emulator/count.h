/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the model counts of ports: packets and messages in struct hca_fresh, all else at once.
 */
#ifndef EMULATOR_COUNT_H
#define EMULATOR_COUNT_H

#include "emulator/hca.h"

/** fresh_flush() - what was counted last goes to its port. */
void fresh_flush(struct hca *hca);

static inline u32 fresh_key(u32 dev, u32 port)
{
	return dev << 8 | port;
}

/** fresh_of() - the fresh counts of a port. @full: they are to make room. */
static inline struct hca_fresh *fresh_of(struct hca *hca, u32 dev, u32 port, bool full)
{
	struct hca_fresh *f = &hca->fresh;

	if (unlikely(f->key != fresh_key(dev, port) || full)) {
		fresh_flush(hca);
		f->key = fresh_key(dev, port);
	}
	return f;
}

/** fresh_packets() - the same, with room for packets; NULL: too many, or too long. */
static inline struct hca_fresh *fresh_packets(struct hca *hca, u32 dev, u32 port, u32 npkts,
					      u64 bytes)
{
	struct hca_fresh *f;

	if (unlikely(bytes > FRESH_BYTES || npkts > FRESH_MAX))
		return NULL;
	f = fresh_of(hca, dev, port, hca->fresh.n >= FRESH_MAX);
	f->n++;
	return f;
}

/** port_sent() - packets have left a port. */
static inline void port_sent(struct hca *hca, u32 dev, u32 port, u32 npkts, u64 bytes)
{
	struct hca_fresh *f = fresh_packets(hca, dev, port, npkts, bytes);

	if (likely(f)) {
		f->xmit_pkts = (u16)(f->xmit_pkts + npkts);
		f->xmit_bytes += (u32)bytes;
		return;
	}
	hca->dev[dev].port[port].counters[CNT_XMIT_PKTS] += npkts;
	hca->dev[dev].port[port].counters[CNT_XMIT_BYTES] += bytes;
}

/** port_received() - packets have come to a port. */
static inline void port_received(struct hca *hca, u32 dev, u32 port, u32 npkts, u64 bytes)
{
	struct hca_fresh *f = fresh_packets(hca, dev, port, npkts, bytes);

	if (likely(f)) {
		f->rcv_pkts = (u16)(f->rcv_pkts + npkts);
		f->rcv_bytes += (u32)bytes;
		return;
	}
	hca->dev[dev].port[port].counters[CNT_RCV_PKTS] += npkts;
	hca->dev[dev].port[port].counters[CNT_RCV_BYTES] += bytes;
}

/** port_looped() - packets have left a port and come to it. */
static inline void port_looped(struct hca *hca, u32 dev, u32 port, u32 npkts, u64 bytes)
{
	struct hca_fresh *f = fresh_packets(hca, dev, port, npkts, bytes);

	if (likely(f)) {
		f->loop_pkts = (u16)(f->loop_pkts + npkts);
		f->loop_bytes += (u32)bytes;
		return;
	}
	port_sent(hca, dev, port, npkts, bytes);
	port_received(hca, dev, port, npkts, bytes);
}

/** count_send(), count_recv() - a SEND, or its receive, has completed. */
static inline void count_send(struct hca *hca, const struct hca_qp *qp)
{
	fresh_of(hca, qp->dev, qp->attr.port_num, hca->fresh.sends == UINT16_MAX)->sends++;
}

static inline void count_recv(struct hca *hca, const struct hca_qp *qp)
{
	fresh_of(hca, qp->dev, qp->attr.port_num, hca->fresh.recvs == UINT16_MAX)->recvs++;
}

#endif
