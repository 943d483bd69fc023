/* SPDX-License-Identifier: MIT */
/**
 * DOC: bursts on their way: what link.c offers receive.c, and fault/tx.c, which decides about each
 * packet.
 */
#ifndef FABRIC_LINK_TRANSIT_H
#define FABRIC_LINK_TRANSIT_H

#include "fabric/link/link.h"
#include "fabric/link/queue.h"

/* Lanes of a flow: bursts in different lanes may overtake. The upper half is for one burst each. */
#define LINK_LANES 128u
#define LINK_OWN   (LINK_LANES / 2)

#define LINK_PORTS (HCA_MAX_PORTS + 1)

/** struct pipe - the two directions of a port's link: fabric time until which each is busy. */
struct pipe {
	u64 up, down;
};

/** struct link - all links. */
struct link {
	struct linkq q;
	struct pipe pipe[HCA_MAX_DEVS][LINK_PORTS];
	u64 seen[(HCA_MAX_DEVS * LINK_PORTS + 63) / 64]; /* ports that have got a datagram's copy */
	u64 seed;
	u32 flow; /* the flow whose burst is being delivered; LQ_ENTRIES: none */
	u64 again_at; /* real time; see link_retry_at() */
	const struct link_rules *rules;
	bool has_rules; /* there are rules about packets */
	const struct link_carrier *carrier[LINK_CARRIERS];
};

/** struct trip - when the first and the last packet of a burst reach a place. */
struct trip {
	u64 first, last;
};

/** struct link_fate - what happens to a burst in addition to what its links do. */
struct link_fate {
	u8 lane; /* below LINK_OWN; bursts in different lanes may overtake */
	u64 wait_ns; /* it leaves its port that much later */
	u64 delay_ns; /* it takes that much longer */
	u64 hold_ns; /* it arrives that much later, in a lane of its own, or by link_held_arrive_at() */
	u32 corrupt; /* id of the rule that has damaged it: its receiver drops it; 0: none */
	bool look; /* rules examine it again where it arrives */
	u32 round; /* the packet's retransmission round, for that */
	const struct trip
		*trip; /* a copy for a group reaches the switch then; NULL: it leaves its port */
	u64 left; /* when the copy's original has left its port */
};

/** struct link_held - a burst that waits to be overtaken. */
struct link_held {
	struct lq_key key; /* lane 0: there is none */
	u32 entry;
};

/**
 * link_may_send() - whether a burst of @n packets, which may be sent one by one, can be sent now.
 * Return: 0, or -EAGAIN: the sender continues when there is room.
 */
int link_may_send(struct fabric *f, const struct burst *b, u32 n);
/** link_hold() - let the QP that runs continue at @at. Return: -EAGAIN. */
int link_hold(struct fabric *f, u64 at);
/**
 * link_entry_get() - allocate an entry for a burst, with its payload.
 * Return: NULL with *ret: -EAGAIN; -ENOSPC: no entry is free; 0: its sender has exited, it is lost.
 */
struct lq_entry *link_entry_get(struct fabric *f, const struct burst *b, int *ret);
/** link_entry_result() - the sender's return value for *ret of link_entry_get(). */
int link_entry_result(struct fabric *f, int ret);
/** link_entry_drop() - free an entry of link_entry_get(): it is not sent. */
void link_entry_drop(struct fabric *f, struct lq_entry *e);
/**
 * link_entry_depart() - let an entry of link_entry_get() leave its port.
 * @fate: NULL: only what its links do. Otherwise bursts may overtake each other.
 * @held: set if fate->hold_ns is
 * Return: when it arrives.
 */
u64 link_entry_depart(struct fabric *f, struct lq_entry *e, const struct link_fate *fate,
		      struct link_held *held);
/** link_held_arrive_at() - let a held burst arrive at @at, if it has not arrived yet. */
void link_held_arrive_at(struct fabric *f, const struct link_held *h, u64 at);
/** link_payload() - the payload of an entry. */
void *link_payload(struct fabric *f, const struct lq_entry *e);
/** link_has_rules() - whether there are rules about a burst's source or destination port. */
bool link_has_rules(const struct fabric *f, const struct burst *b);

/**
 * link_check_route() - whether a burst has a destination, and is short enough for the links to it.
 * Return: 0; 1: it is lost; -EAGAIN: it is lost, but captures have no room to record that now.
 */
int link_check_route(struct fabric *f, const struct burst *b);
/** link_is_held_back() - whether a flow has so much waiting that @wire more wait until *next. */
bool link_is_held_back(struct fabric *f, const struct lq_key *k, u64 wire, u64 now, u64 *next);
/**
 * link_room_at() - when there may be room again. If the clock stands still, room comes with a later
 * arrival.
 */
u64 link_room_at(const struct fabric *f, u64 now);
/** link_send_one() - send a burst to one port. Return: as link_send(). */
int link_send_one(struct fabric *f, const struct burst *b);
/**
 * link_send_group() - send one copy to each port that has members; other fabrics make their own.
 * @ours: it comes from a port of this fabric
 * Return: as link_send().
 */
int link_send_group(struct fabric *f, const struct burst *b, bool ours);
/**
 * link_expecting_qp() - the QP that would take a request now, as the next in sequence.
 * Return: NULL: its responder drops it, answers it again, or is not reliable.
 */
struct hca_qp *link_expecting_qp(struct fabric *f, const struct burst *b);

/* --- pass.c --- */

#define WIRE_HEADERS 62 /* Ethernet, IPv4, UDP, BTH, ICRC, FCS */

/** link_uplink() - the uplink of a port of ours, or NULL. */
const struct hca_uplink *link_uplink(const struct hca *hca, u32 dev, u32 port);
/** link_wire_bytes() - bytes that a burst takes on the wire. */
u64 link_wire_bytes(const struct burst *b);
/**
 * link_pass_up(), link_pass_down() - pass the link of the source's, or destination's, port.
 * @wire: link_wire_bytes()
 * @t: when the burst comes there, and goes on
 * @left: receives when its last packet has left the port; link_pass_down() adds what it waits
 */
void link_pass_up(struct fabric *f, const struct burst *b, u64 wire, struct trip *t, u64 *left);
void link_pass_down(struct fabric *f, const struct burst *b, u64 wire, struct trip *t, u64 *left);
/**
 * link_check_length() - packets that are too long for a link on their way are lost.
 * Return: 1: lost; 0 or -EAGAIN.
 */
int link_check_length(struct fabric *f, const struct burst *b);

#endif
