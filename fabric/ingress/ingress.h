/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams of RoCE v2 that arrive at a wire: what a holder of the token does with them.
 *
 * A socket is read into an *inbox*, several datagrams of a flow at once if the kernel has received
 * them so (UDP_GRO). Each is parsed as a frame is, becomes a burst with BF_FOREIGN, and enters the
 * switch as an injected frame does (emulator/transport/untrusted.h). Consecutive packets of a
 * message become one burst (merge.c).
 *
 * The fabric process does that for all that arrives (fabric/roce/). A program that polls does it as
 * well (libshim/client/wire_receive.c), from the same socket into the same inbox, which they share:
 * what the program cannot deliver stays there for the fabric process, and nothing is overtaken. So
 * an inbox belongs to the holder of the token.
 */
#ifndef FABRIC_INGRESS_INGRESS_H
#define FABRIC_INGRESS_INGRESS_H

#include "fabric/egress/egress.h"

#include <netinet/in.h>

#define INGRESS_MAX   65536u /* bytes that the kernel hands out at once */
#define ROCE_READ_MAX (64u << 10) /* portion of the answer to a READ request */

/* The client of a MEM_SEG that is the datagrams being delivered, in the process that does. */
#define HCA_ROCE 0xfffffffau

/** enum roce_drop - why a wire drops a datagram. */
enum roce_drop {
	ROCE_DROP_MALFORMED,
	ROCE_DROP_BAD_ICRC,
	ROCE_DROP_FILTERED, /* --roce-peers does not have its source address */
	ROCE_DROP_STRANGER, /* no peer has its source address */
	ROCE_DROP_NO_PORT, /* no port has its destination */
	ROCE_DROPS,
};

/**
 * struct roce_in - datagrams that the kernel hands out at once: of one flow, with one traffic
 * class, and all but the last of the same length.
 * @bytes: they are adjacent. The headers that the kernel has taken off are written before a
 * datagram when it is its turn: over the end of the one before, which is done.
 * @at, @len: offset and length of the datagram whose turn it is; @end: of all
 * @step: bytes of each but the last
 * @asked: of a READ request: bytes of its answer that were requested so far
 * @tclass, @hops, @flow: type of service, or traffic class; TTL, or hop limit; flow label
 * @told: a CNP was sent for it; @counted: roce_datagram_count() has had it
 * @burst: of the datagram, and of those that follow it up to @held. 0: there is none
 */
struct roce_in {
	u8 bytes[ROCE_IP6_UDP + INGRESS_MAX];
	u32 at, len, end, step;
	u32 asked;
	u8 tclass;
	u8 hops;
	u32 flow;
	bool cut;
	bool told;
	bool counted;
	u32 held;
	struct packet_burst burst;
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from;
};

/**
 * struct ingress_box - datagrams of a socket that the engine has not taken.
 * @owner: a program is at it, which has the token; 0: none. One that ends meanwhile leaves entries
 * of which nobody knows how far they are: what it has read is lost, as on a network
 * @n, @at: entries of @in that were read, and the first that the engine has not taken
 */
struct ingress_box {
	u64 owner;
	u32 n, at;
	struct roce_in in[];
};

/** ingress_box_size() - bytes of an inbox with @room entries, whole pages. */
static inline u64 ingress_box_size(u32 room)
{
	return ALIGN_UP(sizeof(struct ingress_box) + (u64)room * sizeof(struct roce_in),
			(u64)EGRESS_ALIGN);
}

/** roce_is_marked() - both ECN bits are set: a switch on the way was congested. */
static inline bool roce_is_marked(const struct roce_in *in)
{
	return (in->tclass & 3) == 3;
}

/** ingress_recover() - forget what a program has read that ended meanwhile. Token held. */
static inline void ingress_recover(struct ingress_box *box)
{
	if (unlikely(box->owner)) {
		box->n = box->at = 0;
		store_release(&box->owner, 0);
	}
}

/** roce_datagram_index() - how many datagrams were handed out before it, at the same time. */
static inline u16 roce_datagram_index(const struct roce_in *in)
{
	return in->step ? (u16)((in->at - ROCE_IP6_UDP) / in->step) : 0;
}

/** roce_datagram_is_numbered() - whether its sender does not set the IPv4 identification to 0. */
static inline bool roce_datagram_is_numbered(const struct roce_in *in, const struct roce_pkt *p)
{
	return p->net == ROCE_IP4 && p->ip_id != roce_datagram_index(in);
}

/** roce_datagram_count() - add 1 to @numbered for such a datagram, however often it is offered. */
static inline void roce_datagram_count(struct roce_in *in, const struct roce_pkt *p, u64 *numbered)
{
	*numbered += !in->counted && roce_datagram_is_numbered(in, p);
	in->counted = true;
}

/* --- read.c --- */

/**
 * ingress_read() - read datagrams of a socket into an inbox, which is empty.
 * @room: entries of the inbox that may be used, at most EGRESS_BATCH
 * Return: datagrams, of which one entry may have several; 0: there are none; -errno: the socket
 * cannot be read.
 */
int ingress_read(int fd, struct ingress_box *box, u32 room);
/** roce_datagram_next() - turn to the datagram at an offset. Return: whether there is one. */
bool roce_datagram_next(struct roce_in *in, u32 at);

/* --- parse.c --- */

/** roce_datagram_source() - the address that the datagram came from, as a GID. */
void roce_datagram_source(const struct roce_in *in, u8 gid[16]);
/**
 * roce_datagram_parse() - parse the datagram whose turn it is.
 * @sgid, @dgid: its addresses
 * Return: enum roce_drop; ROCE_DROPS: it is good.
 */
enum roce_drop roce_datagram_parse(const u8 sgid[16], const u8 dgid[16], struct roce_in *in,
				   struct roce_pkt *p);
/**
 * roce_datagram_burst() - make in->burst of a packet whose payload lies in @in.
 * Return: as packet_to_burst().
 */
int roce_datagram_burst(const struct hca *hca, const struct roce_pkt *p, struct roce_in *in,
			u32 *fault);
/** roce_datagram_resume() - in->burst as this process sees it: another one has set in->held. */
void roce_datagram_resume(struct roce_in *in);
/** roce_read_is_long() - whether the answer to a READ request is made in portions. */
bool roce_read_is_long(const struct burst *b);

/* --- merge.c --- */

/**
 * roce_merge() - add to in->burst the datagrams that continue its message, and set in->held.
 * @sgid, @dgid: their addresses
 * @numbered: counts those that their sender has numbered
 */
void roce_merge(struct hca *hca, struct roce_in *in, const u8 sgid[16], const u8 dgid[16],
		u64 *numbered);

#endif
