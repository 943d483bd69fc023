/* SPDX-License-Identifier: MIT */
/**
 * DOC: bursts that leave a wire as datagrams of RoCE v2: what a holder of the token does with one.
 *
 * fabric/packet/ makes packets of a burst. Here their payload is copied out of the program's
 * memory, headers and ICRC are written around it, and a socket takes what follows the UDP header.
 * The fabric process does that for all queue pairs (fabric/roce/), and a program for its own
 * (libshim/client/wire_send.c).
 *
 * Every function that takes a struct hca or a struct egress needs the token.
 */
#ifndef FABRIC_EGRESS_EGRESS_H
#define FABRIC_EGRESS_EGRESS_H

#include "emulator/engine.h"
#include "fabric/packet/packet.h"

#include <sys/uio.h>

#define EGRESS_BATCH	     64u /* datagrams in one system call */
#define ROCE_IP4_UDP	     28u /* bytes of the IPv4 and UDP headers */
#define ROCE_IP6_UDP	     48u
#define ROCE_ETH	     14u
#define EGRESS_HOPS	     64 /* what the engine writes into address vectors */
#define EGRESS_IPV6_FLOWINFO 11 /* IPV6_FLOWINFO of linux/in6.h, which libc's header excludes */
/* The longest datagram: path MTU 4096 with all headers. */
#define ROCE_DATAGRAM (4096u + ROCE_HDR_MAX)
/*
 * Of buffers for payload. `rep movsb`, with which the kernel copies, takes four times as long on
 * AMD's Zen 3 where the destination has an address up to 31 bytes after that of the source, modulo
 * the size of a page. What programs transfer begins mostly with a page or a line.
 */
#define EGRESS_ALIGN 4096u

/**
 * struct egress - what one process needs to send bursts. Memory: egress_make().
 * @self: the client that is this process, as engine_ops.copy takes it
 * @data_max: bytes of payload of a burst for which there is room
 * @frames: EGRESS_BATCH of them, of the burst that is being sent
 * @payload: of that burst, with room for headers and ICRCs between its packets
 * @room: where the payload of the first packet is copied to when its frame is made; NULL: it was
 * copied before. @step: how far from there that of the next one is
 * @lent: NULL, or finds where a payload is mapped here, as memory_lent_span(); @ctx: for it
 * @pieces: frames that leave in one and were not apart: EGRESS_BATCH * ROCE_DATAGRAM bytes
 * @map, @map_len: all of that memory; NULL: none
 * @refused: errno with which a socket has refused a datagram of the latest burst; 0: none
 */
struct egress {
	struct hca *hca;
	u32 self;
	u32 data_max;
	struct roce_frame *frames;
	u8 *payload;
	u8 *room;
	u32 step;
	u32 (*lent)(void *ctx, const struct hca_mem *mem, u64 off, u64 len, struct iovec *v,
		    u32 max);
	void *ctx;
	u8 *pieces;
	void *map;
	u64 map_len;
	int refused;
};

/** struct egress_socket - an unconnected UDP socket. @sums: what it sends has UDP checksums */
struct egress_socket {
	int fd;
	bool sums;
};

/**
 * struct egress_flow - a socket that sends from the source port of a flow, in a list of them.
 * @next: the flow that was used before this one; NULL: none
 * @wire: number of the wire that the flow leaves by
 * @port: 0: the entry is free
 */
struct egress_flow {
	struct egress_flow *next;
	struct egress_socket out;
	u32 wire;
	u16 port;
};

/**
 * struct egress_batch - frames in egress.frames.
 * @sums: they have UDP checksums
 * @run: how many leave in one piece, from that one on, the first of them
 */
struct egress_batch {
	u32 n;
	bool sums;
	u32 run[EGRESS_BATCH];
};

/** roce_ip_udp() - bytes of the IP and UDP headers of packets between such addresses. */
static inline u32 roce_ip_udp(const u8 gid[16])
{
	return gid_is_v4(gid) ? ROCE_IP4_UDP : ROCE_IP6_UDP;
}

/* --- burst.c --- */

/**
 * egress_make() - map the memory of @o, for bursts of up to @data_max bytes. Return: 0 or -ENOMEM.
 */
int egress_make(struct egress *o, struct hca *hca, u32 self, u32 data_max);
/** egress_drop() - unmap it. */
void egress_drop(struct egress *o);
/** egress_wire() - the number of the wire with that address; hca->wires.n: there is none. */
u32 egress_wire(const struct hca *hca, const u8 sgid[16]);
/**
 * egress_describe() - how a burst is recorded, with its addresses; its payload is not copied yet.
 * Return: 0; -EHOSTUNREACH: it names no address.
 */
int egress_describe(struct hca *hca, const struct burst *b, struct cap_rec *rec);
/**
 * egress_is_held_back() - whether the queue pair that runs has to wait: its window is full, and an
 * ACK will ring it; or its program is sending a packet of it, and rings it then. A burst of a
 * link's queue is not held back: the packet for whose ACK it would wait may follow it.
 */
bool egress_is_held_back(struct hca *hca, const struct burst *b);
/**
 * egress_gather() - copy the payload of a burst, @len bytes, by @e's engine_ops.copy. If it is
 * mapped here and has several packets, egress_send() copies it while it computes their ICRCs.
 * @rec: receives how far apart the payloads of its packets are
 * @data: receives where the first is
 * Return: as engine_ops.copy.
 */
int egress_gather(struct egress *o, struct engine *e, const struct burst *b, u32 len,
		  struct cap_rec *rec, u8 **data);
/** egress_gathered() - the caller has copied the payload of the burst itself. */
static inline void egress_gathered(struct egress *o)
{
	o->room = NULL;
}
/**
 * egress_begin() - set the fields that all packets of a burst have in common, its UDP source port
 * among them. Return: number of packets; 0: it is malformed.
 */
u32 egress_begin(const struct egress *o, const struct cap_view *v, struct roce_pkt *p);
/**
 * egress_build() - make the frame of a burst of one packet, to be sent by egress_frames().
 * @p: of egress_begin(). Return: 0 or -errno as roce_build().
 */
int egress_build(struct egress *o, const struct cap_view *v, struct roce_pkt *p,
		 struct egress_batch *batch);
/**
 * egress_send() - send the packets of a burst from number @from on.
 * @n, @p: of egress_begin(), and @p->udp_src is the port of @s
 * Return: how many of the burst were sent by now, or refused; fewer than @n: the socket is full.
 */
u32 egress_send(struct egress *o, struct egress_socket *s, const struct cap_view *v, u32 from,
		u32 n, struct roce_pkt *p);

/* --- flow.c --- */

/** egress_flow_add() - add a free entry to a list. @latest: the list's head, NULL at first */
void egress_flow_add(struct egress_flow **latest, struct egress_flow *flow);
/** egress_flow_find() - the entry of a flow, which is used now; NULL: there is none. */
struct egress_flow *egress_flow_find(struct egress_flow **latest, u32 wire, u16 port);
/**
 * egress_flow_replace() - the entry for a flow that is not in the list: a free one, or that of the
 * flow that was used longest ago. Its caller closes that one's socket and sets the fields.
 * @keep: a flow that is not replaced, or NULL
 * Return: NULL: there is no other entry.
 */
struct egress_flow *egress_flow_replace(struct egress_flow **latest,
					const struct egress_flow *keep);

/* --- frames.c --- */

/** egress_count_lost() - count datagrams of a wire that nobody sends any more. */
void egress_count_lost(struct hca *hca, const struct cap_rec *rec, u32 n);
/**
 * egress_frames() - send frames. It needs no token if no other thread uses @o.
 * @rec: their addresses and traffic class
 * Return: how many the socket has taken or refused; fewer: it is full.
 */
u32 egress_frames(struct egress *o, struct egress_socket *s, const struct cap_rec *rec,
		  const struct egress_batch *batch);

/* --- socket.c --- */

/**
 * egress_socket_open() - a socket that is bound to an address of the host. Sockets of one user
 * share a port other than 4791 if each is opened here: a program and the fabric process send the
 * packets of one flow. Return: the descriptor or -errno.
 */
int egress_socket_open(const u8 gid[16], u16 port);
/** egress_socket_set() - set an option whose value is a number. Return: 0 or -errno. */
int egress_socket_set(int fd, int level, int name, int value);
/**
 * egress_socket_receives() - have a socket take datagrams without UDP checksums, and tell of their
 * traffic class, their TTL or hop limit, and their flow label. Return: 0 or -errno.
 */
int egress_socket_receives(int fd, bool v4);
/**
 * egress_socket_set_sums() - whether datagrams have UDP checksums: those that leave in one piece
 * must have them.
 */
void egress_socket_set_sums(int fd, bool v4, bool on);

/* --- speed.c --- */

/**
 * egress_note_speed() - a burst of @len bytes has left, at real time @now: its queue pair's speed
 * counts when a peer tells of congestion. Bursts that answer requests do not count.
 */
void egress_note_speed(struct hca *hca, const struct burst *b, u32 len, u64 now);
/** egress_is_limited() - whether a queue pair has a limit because of congestion. */
bool egress_is_limited(const struct hca *hca, u32 qpn, u64 now);
/** egress_counts_speed() - whether a burst is one of the queue pair that runs, and of data. */
bool egress_counts_speed(const struct hca *hca, const struct burst *b);

#endif
