/* SPDX-License-Identifier: MIT */
/**
 * DOC: the wire: bursts leave a port and arrive at one. See wire.c.
 */
#ifndef EMULATOR_TRANSPORT_WIRE_H
#define EMULATOR_TRANSPORT_WIRE_H

#include "emulator/engine.h"
#include "emulator/qp.h"

/** path_is_same() - whether two paths are the same, in every field. */
static inline bool path_is_same(const struct hca_path *a, const struct hca_path *b)
{
	typedef u64 __attribute__((may_alias, aligned(4))) word;
	const word *x = (const word *)a, *y = (const word *)b;

	_Static_assert(sizeof(*a) == 3 * sizeof(u64), "three words");
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]));
}

/**
 * wire_near_peer() - the QP at the other end of a wire without loss or delay. NULL: the burst goes
 * a longer way.
 */
static inline struct hca_qp *wire_near_peer(const struct engine *e, const struct hca_path *path)
{
	struct hca *hca = e->hca;
	struct hca_qp *qp;

	if (unlikely(e->ops->wire || hca->watched || !path->near))
		return NULL;
	qp = hca_qp_by_num(hca, path->dst_qpn);
	return likely(qp && path_is_same(path, &qp->back)) ? qp : NULL;
}

/* --- wire.c --- */

/**
 * hca_input() - a burst arrives at the device it is addressed to. Token held.
 * Return: 0: delivered or dropped; -EAGAIN: this holder cannot reach memory now: nothing has
 * changed, and the burst may be offered again.
 */
int hca_input(struct engine *e, const struct burst *b);
/** wire_send() - put a burst on the wire. Return: as hca_input(). */
int wire_send(struct engine *e, const struct burst *b);
/**
 * wire_send_ack() - put an ACK or NAK of @psn to the QP's peer on the wire. Return: as hca_input().
 */
int wire_send_ack(struct engine *e, const struct hca_qp *qp, u32 psn, u8 aeth);
/**
 * qp_addressed() - whether a burst is addressed to the QP: same transport, matching P_Keys, and
 * from the peer of a connected QP (IBTA 9.6.1.1).
 */
bool qp_addressed(const struct hca_qp *qp, const struct burst *b);

#endif
