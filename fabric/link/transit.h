/* SPDX-License-Identifier: MIT */
/**
 * DOC: what link.c offers to receive.c, and to those who decide about single packets: fabric/fault/tx.c.
 */
#ifndef FABRIC_LINK_TRANSIT_H
#define FABRIC_LINK_TRANSIT_H

#include "fabric/link/link.h"
#include "fabric/link/queue.h"

/* Lanes of a flow: what is in another lane may overtake. The upper half is for one burst each. */
#define LINK_LANES 128u
#define LINK_OWN   (LINK_LANES / 2)

#define LINK_PORTS (HCA_MAX_PORTS + 1)

/** struct pipe - the two directions of a port's link: each is busy until then. */
struct pipe {
	u64 up, down;
};

/**
 * struct link - all links.
 * @flow: whose burst is being delivered; LQ_ENTRIES: none
 * @seen: ports that have got their copy of a datagram
 */
struct link {
	struct linkq q;
	struct pipe pipe[HCA_MAX_DEVS][LINK_PORTS];
	u64 seen[(HCA_MAX_DEVS * LINK_PORTS + 63) / 64];
	u64 seed;
	u32 flow;
	u64 again_at; /* real time; see link_retry_at() */
	const struct link_rules *rules;
	bool has_rules; /* rules look at packets */
	const struct link_carrier *carrier[LINK_CARRIERS];
};

/** struct trip - a burst's times: when its first and its last packet come to some place. */
struct trip {
	u64 first, last;
};

/**
 * struct link_fate - what happens to a burst beyond what its links do.
 * @lane: what is in another lane may overtake; below LINK_OWN
 * @wait_ns: it leaves its port so much later
 * @delay_ns: it takes so much longer
 * @hold_ns: it arrives so much later, in a lane of its own: link_overtaken() lets it go sooner
 * @corrupt: id of the rule that has damaged it: its receiver drops it; 0: none
 * @look: rules look at it again where it arrives
 * @round: the packet's retransmission round, for that look
 * @trip: it is a copy for members of a group, and comes to the switch then; NULL: it is to leave its port
 * @left: when that has left its port
 */
struct link_fate {
	u8 lane;
	u64 wait_ns;
	u64 delay_ns;
	u64 hold_ns;
	u32 corrupt;
	bool look;
	u32 round;
	const struct trip *trip;
	u64 left;
};

/** struct link_held - a burst that waits to be overtaken. @lane: 0: none */
struct link_held {
	struct lq_key key;
	u32 entry;
};

/**
 * link_may_send() - whether a burst of @n packets, each maybe on its own, can be sent now.
 * Return: 0, or -EAGAIN: who sends goes on when there is room.
 */
int link_may_send(struct fabric *f, const struct burst *b, u32 n);
/** link_hold() - the QP that runs goes on at @at. Return: -EAGAIN. */
int link_hold(struct fabric *f, u64 at);
/**
 * link_take() - a place for a burst, with its payload.
 * Return: NULL with *ret: -EAGAIN; -ENOSPC: there is no place; 0: it is lost, its sender has gone.
 */
struct lq_entry *link_take(struct fabric *f, const struct burst *b, int *ret);
/** link_take_result() - what link_take() has returned, for who sends: it goes on when there is room. */
int link_take_result(struct fabric *f, int ret);
/** link_release() - it is not sent. */
void link_release(struct fabric *f, struct lq_entry *e);
/**
 * link_depart() - what link_take() returned leaves its port.
 * @fate: NULL: nothing but its links; else bursts may overtake each other
 * @held: receives it where fate->hold_ns is set
 * Return: when it arrives.
 */
u64 link_depart(struct fabric *f, struct lq_entry *e, const struct link_fate *fate,
		struct link_held *held);
/** link_overtaken() - a held burst arrives at @at, if it has not yet. */
void link_overtaken(struct fabric *f, const struct link_held *h, u64 at);
/** link_payload() - the bytes that a burst has with it. */
void *link_payload(struct fabric *f, const struct lq_entry *e);
/** link_wire_bytes() - bytes that a burst is on the wire. */
u64 link_wire_bytes(const struct burst *b);
/** link_has_rules() - whether rules look at what goes from or to these ports. */
bool link_has_rules(const struct fabric *f, const struct burst *b);

/** link_uplink() - the uplink of a port of ours, or NULL. */
const struct hca_uplink *link_uplink(const struct hca *hca, u32 dev, u32 port);
/**
 * link_check_route() - whether a burst has nowhere to go, or does not fit on its way there: 1, or 0. -EAGAIN: it has not, and
 * captures have no room for that now.
 */
int link_check_route(struct fabric *f, const struct burst *b);
/** link_is_held_back() - whether a flow has so much waiting that @wire more bytes wait, too: until *next. */
bool link_is_held_back(struct fabric *f, const struct lq_key *k, u64 wire, u64 now, u64 *next);
/**
 * link_room_at() - when there may be room again. Where the clock stands, it comes with what arrives
 * later.
 */
u64 link_room_at(const struct fabric *f, u64 now);
/** link_send_one() - a burst to one port leaves for it. Return: as link_send(). */
int link_send_one(struct fabric *f, const struct burst *b);
/**
 * link_send_group() - one copy to each port that has members; other fabrics make their own.
 * @ours: it comes from a port of ours. Return: as link_send().
 */
int link_send_group(struct fabric *f, const struct burst *b, bool ours);

/**
 * link_expecting_qp() - the QP that would take the request now, the next one in sequence. Return: NULL: its responder drops it,
 * answers it again, or is not reliable.
 */
struct hca_qp *link_expecting_qp(struct fabric *f, const struct burst *b);

#endif
