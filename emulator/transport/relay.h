/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that the fabric process relays over links. See relay.c.
 */
#ifndef EMULATOR_TRANSPORT_RELAY_H
#define EMULATOR_TRANSPORT_RELAY_H

#include "emulator/av.h"
#include "emulator/engine.h"

/* --- relay.c --- */

/**
 * relay_port() - whether packets through the port's link are relayed: it delays them, or leads to
 * another fabric.
 */
bool relay_port(const struct hca_dev *dev, u32 port);
/** relay_is_needed() - whether packets between these two ports are relayed. */
bool relay_is_needed(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port);
/**
 * relay_is_needed_raw() - whether frames that a port sends are relayed. Any port of the fabric may
 * receive them, so one link that delays or inspects packets is enough.
 */
bool relay_is_needed_raw(const struct hca *hca, u32 dev, u32 port);

/**
 * av_is_relayed() - struct hca_path.via of a datagram on @path to @av. Groups may have members
 * anywhere.
 */
static inline bool av_is_relayed(const struct hca *hca, const struct hca_path *path,
				 const struct hca_av *av)
{
	return unlikely(hca->n_via) &&
	       (av_is_mcast(av) ||
		relay_is_needed(hca, path->src_dev, path->src_port, path->dst_dev, path->dst_port));
}

/**
 * relay_is_direct() - whether packets from a port to a host outside go straight to a wire: no link
 * delays them, and neither captures nor rules look at them. False for other destinations.
 */
bool relay_is_direct(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port);
/**
 * relay_may_leave() - whether the program that holds the token may send the packets that a queue
 * pair of its own has for a host outside: relay_is_direct(), and nothing of the queue pair waits in
 * the fabric process.
 */
bool relay_may_leave(const struct engine *e, const struct hca_qp *qp);

/** burst_is_mcast() - whether the burst goes to a multicast group. */
bool burst_is_mcast(const struct burst *b);
/**
 * relay_hold() - the link has no room for the burst of the running QP: the QP's timer retries at
 * @at. Does nothing if no QP runs.
 */
void relay_hold(struct engine *e, u64 at);
/**
 * relay_left() - the last packet of @b leaves its port at @at. The requester's ACK timeout counts
 * from then.
 */
void relay_left(struct engine *e, const struct burst *b, u64 at);
/**
 * relay_expect() - the answer that QP @qpn of @dev waits for leaves the other port at @at. As in
 * relay_left(), the ACK timeout counts from then. Ignores QPs of other fabrics.
 */
void relay_expect(struct engine *e, u32 dev, u32 qpn, u64 at);
/**
 * relay_timer_early() - the QP's timer has expired before its packet left for the link, or while
 * the packet is under way on one that loses nothing: rearm it. Return: whether that was so.
 */
bool relay_timer_early(struct engine *e, struct hca_qp *qp);
/**
 * relay_stalled() - a QP is stalled in the fabric process. Its doorbell is rung when it can go on;
 * its timer is a safety net. The ACK timeout of packets to another fabric keeps running.
 */
void relay_stalled(struct engine *e, struct hca_qp *qp);
/** relay_resumed() - a QP is not stalled any more: its timer is the ACK timeout again. */
void relay_resumed(struct engine *e, struct hca_qp *qp);
/** relay_ack_overdue() - whether the ACK timeout of a QP that waits for its link has passed. */
bool relay_ack_overdue(struct engine *e, struct hca_qp *qp);
/**
 * qp_stall() - leave the QP to the fabric process: this holder cannot reach memory or a segment.
 */
void qp_stall(struct engine *e, struct hca_qp *qp);

#endif
