/* SPDX-License-Identifier: MIT */
/**
 * DOC: port counters: packets and messages are counted in struct hca_fresh first, everything else
 * in the port.
 */
#ifndef EMULATOR_PORT_COUNTER_H
#define EMULATOR_PORT_COUNTER_H

#include "emulator/hca.h"

/** port_add_packets() - add to the port's own counters of packets. */
void port_add_packets(struct hca_port *p, enum pkt_move how, u64 npkts, u64 bytes);
/** fresh_flush() - add the fresh counts to their port. */
void fresh_flush(struct hca *hca);

static inline u32 fresh_key(u32 dev, u32 port)
{
	return dev << 8 | port;
}

/** fresh_of() - the fresh counts, for a port. @full: flush them first. */
static inline struct hca_fresh *fresh_of(struct hca *hca, u32 dev, u32 port, bool full)
{
	struct hca_fresh *f = &hca->fresh;

	if (unlikely(f->key != fresh_key(dev, port) || full)) {
		fresh_flush(hca);
		f->key = fresh_key(dev, port);
	}
	return f;
}

/** fresh_packets() - likewise, with room for packets; NULL: too many, or too long. */
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

/** port_count_packets() - a port has sent packets, or received them, or both. */
static inline void port_count_packets(struct hca *hca, u32 dev, u32 port, enum pkt_move how,
				      u32 npkts, u64 bytes)
{
	struct hca_fresh *f = fresh_packets(hca, dev, port, npkts, bytes);

	if (likely(f)) {
		f->pkts[how] = (u16)(f->pkts[how] + npkts);
		f->bytes[how] += (u32)bytes;
		return;
	}
	port_add_packets(&hca->dev[dev].port[port], how, npkts, bytes);
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

#define FRESH_HALF 0x8000u /* of what @sends and @recvs can count */

/**
 * fresh_add_message() - a message of one packet of @bytes, and its ACK, have gone from a port to
 * itself, and with @send a SEND and its receive have completed.
 * Return: false: nothing was counted; the fresh counts are another port's, or soon full.
 */
static inline __attribute__((always_inline)) bool fresh_add_message(struct hca *hca, u32 dev,
								    u32 port, u32 bytes, bool send)
{
	struct hca_fresh *f = &hca->fresh;

	if (unlikely(f->key != fresh_key(dev, port) || f->n + 2u > FRESH_MAX ||
		     bytes > FRESH_BYTES || ((f->sends | f->recvs) & FRESH_HALF)))
		return false;
	f->n += 2;
	f->pkts[MOVE_LOOPED] += 2;
	f->bytes[MOVE_LOOPED] += bytes;
	f->sends += send;
	f->recvs += send;
	return true;
}

/* --- port_counter.c --- */

/**
 * hca_dev_snapshot() - a device as it is now, with all that its ports have counted. Without the
 * token: a count may be seen before or after it went to its port, once in a while by both or
 * neither.
 */
void hca_dev_snapshot(const struct hca *hca, u32 dev, struct hca_dev *out);

#endif
