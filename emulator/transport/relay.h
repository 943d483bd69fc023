/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets that the fabric process relays over links. See relay.c.
 */
#ifndef EMULATOR_TRANSPORT_RELAY_H
#define EMULATOR_TRANSPORT_RELAY_H

#include "emulator/av.h"
#include "emulator/engine.h"

/* --- relay.c --- */

/** relay_port() - whether what passes the port's link takes the fabric process: time, or another fabric. */
bool relay_port(const struct hca_dev *dev, u32 port);
/** relay_is_needed() - whether packets between two ports, other than one and the same, do. */
bool relay_is_needed(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port);
/**
 * relay_is_needed_raw() - whether frames that a port sends are the fabric process's: every port of the fabric may get them,
 * and there is a link on the way to one of them that takes time or is looked at.
 */
bool relay_is_needed_raw(const struct hca *hca, u32 dev, u32 port);

/** av_is_relayed() - struct hca_path.via of a datagram on @path to @av: groups may have members anywhere. */
static inline bool av_is_relayed(const struct hca *hca, const struct hca_path *path,
				 const struct hca_av *av)
{
	return unlikely(hca->n_via) &&
	       (av_is_mcast(av) ||
		relay_is_needed(hca, path->src_dev, path->src_port, path->dst_dev, path->dst_port));
}

/** burst_is_mcast() - whether it goes to a group. */
bool burst_is_mcast(const struct burst *b);
/**
 * relay_hold() - the link has no room for what the running QP sends: it goes on at @at, when there may
 * be. Without one nothing happens.
 */
void relay_hold(struct engine *e, u64 at);
/**
 * relay_left() - the last packet of @b leaves its port at @at: from then on the requester counts the
 * time to its acknowledge.
 */
void relay_left(struct engine *e, const struct burst *b, u64 at);
/**
 * relay_expect() - what QP @qpn of @dev, if it is ours, waits for leaves the other port at @at: as in
 * relay_left(), the time before that does not count.
 */
void relay_expect(struct engine *e, u32 dev, u32 qpn, u64 at);
/**
 * relay_timer_early() - a QP's timer has run out, but what it waits for is still to leave for a link: the timer
 * was set once more.
 */
bool relay_timer_early(struct engine *e, struct hca_qp *qp);
/**
 * relay_stalled() - a QP is stalled in the fabric process. It is rung when it can go on; but whoever waits has a
 * timer, too. What it has sent to another fabric is to be acknowledged in time all the same.
 */
void relay_stalled(struct engine *e, struct hca_qp *qp);
/** relay_resumed() - a QP is not stalled: the timer is that of its acknowledge. */
void relay_resumed(struct engine *e, struct hca_qp *qp);
/** relay_ack_overdue() - whether a QP that waits for its link should have had an acknowledge by now. */
bool relay_ack_overdue(struct engine *e, struct hca_qp *qp);
/** qp_stall() - leave the QP to the fabric process: memory or a segment is out of reach here. */
void qp_stall(struct engine *e, struct hca_qp *qp);

#endif
