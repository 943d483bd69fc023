/* SPDX-License-Identifier: MIT */
/**
 * DOC: wires, inside.
 *
 * A wire is an unconnected UDP socket that is bound to port 4791 of one of the host's addresses,
 * which is a GID of one of this fabric's ports. The ICRC covers the identification of
 * the IPv4 header, which the kernel writes. On an unconnected socket with IP_PMTUDISC_DO it writes
 * 0, and sets DF: so the sender knows all that the ICRC covers. No privilege is needed.
 *
 * Sockets: the peers of rdmaemu send to port 4791, and from ports that a hash of the flow selects,
 * so that switches can spread flows over links. A flow has a socket of its own for that (flow.c).
 *
 * Output: the requester and the responder hand bursts to roce_send(), since the device of their
 * peer is the wire's (emulator/peer.h). fabric/egress/ makes packets of them, as for captures, and
 * the socket takes what follows the UDP header. Programs do the same for queue pairs of their own
 * where they may (libshim/client/wire_send.c). No more than hca_peer_window() packets of a
 * queue pair are unacknowledged: the receive buffer of a peer is small.
 *
 * Input: fabric/ingress/ reads datagrams into an inbox of the socket, and makes bursts of them,
 * which enter the switch. Programs that poll do the same (defer.c), and leave to the fabric process
 * what they cannot deliver.
 *
 * Groups: a socket that is bound to a unicast address does not receive what is sent to a group. So
 * each group with a member on a wire's port has a socket of its own, bound to the group's address.
 */
#ifndef FABRIC_ROCE_WIRE_H
#define FABRIC_ROCE_WIRE_H

#include "emulator/av.h"
#include "emulator/verbs/verbs.h"
#include "fabric/common/wire_list.h"
#include "fabric/egress/egress.h"
#include "fabric/ingress/ingress.h"
#include "fabric/link/link.h"
#include "fabric/roce/roce.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define ROCE_FLOWS     64u /* sockets of a wire with a source port of their own */
#define ROCE_RATES     HCA_WIRE_SPEEDS
#define ROCE_GROUPS    HCA_WIRE_GROUPS /* multicast groups that all wires join */
#define ROCE_DATA_MAX  (1u << 20) /* payload of a burst */
#define ROCE_READ_TURN (1u << 20) /* bytes of such answers in one holding of the token */

/**
 * struct roce_inbox - a socket, and what was read of it.
 * @gid: the address that it is bound to
 * @room: entries of @got; @mem_fd: its memory
 * @paused: the loop does not wait for datagrams: @got is full
 * @shared: programs have @got, too, and it is the token's holder who reads
 * @deferred: programs do: the loop does not wait for datagrams
 */
struct roce_inbox {
	struct watch w;
	struct roce_wire *wire;
	u8 gid[16];
	u32 room;
	bool paused, shared, deferred;
	int mem_fd;
	struct ingress_box *got;
};

/**
 * struct roce_defer - since when, and for how long, programs read the sockets. Real time, in ns.
 * @check_at: when to look whether they still do; NEVER: nothing is deferred
 * @began: when it was deferred, @received: datagrams that had arrived by then
 * @not_before: when it may be deferred again, @pause: for so long after the latest failure
 */
struct roce_defer {
	u64 check_at;
	u64 began, received;
	u64 not_before, pause;
};

/**
 * struct roce_group - a multicast group that a wire has joined; box.wire: NULL: not in use.
 * @client: number + 1 of the client whose membership takes the place
 */
struct roce_group {
	struct roce_inbox box;
	u32 client;
};

#define DROP_LINES 4u

/**
 * struct roce_drop_note - the latest lines of the log about datagrams dropped for a reason.
 * @begun: when the latest second began that has lines; @lines: so many
 * @from: source addresses of the latest lines, and when one about the same may follow
 * @next: whose place the next line takes
 */
struct roce_drop_note {
	u64 begun;
	u32 lines, next;
	struct {
		u8 gid[16];
		u64 again_at;
	} from[DROP_LINES];
};

/** struct roce_flow - the socket of a flow; it receives nothing. @w: w.fd: -1: not in use */
struct roce_flow {
	struct egress_flow entry;
	struct watch w;
	struct roce_wire *wire;
};

/**
 * struct roce_wire - a wire.
 * @dev, @port: the port that has its address
 * @iface: index of the interface that has it; 0: not known
 * @full: of the socket that was full; NULL: none
 * @out: of box.w
 * @latest: the flow that was used last, of @flow; their entry.wire is 0
 */
struct roce_wire {
	struct roce_inbox box;
	char text[INET6_ADDRSTRLEN];
	u32 dev, port;
	unsigned int iface;
	struct watch *full;
	struct egress_socket out;
	struct egress_flow *latest;
	struct roce_flow flow[ROCE_FLOWS];
	/* The burst that was sent in part before the socket was full. */
	u32 part_qpn, part_psn, part_sent;
	struct roce_counts n;
	struct roce_drop_note note[ROCE_DROPS];
};

/**
 * struct roce_rate - the rate of a queue pair, as CNPs limit it. Real time, in ns.
 * @rate: bytes a second that it may send; 0: no limit
 * @target: the rate that it had before the latest CNP
 * @cut_at, @raise_at: when the rate was last lowered, and changed
 * @next_at: when it may send again
 * @told_at: when the latest CNP was sent to its peer
 */
struct roce_rate {
	u32 qpn;
	u64 rate, target;
	u64 cut_at, raise_at, next_at;
	u64 told_at;
};

/** struct roce_stage - a payload that a helper copies in rounds. */
struct roce_stage {
	u64 key; /* 0: free */
	u64 used_at;
	u8 *mem;
};

/** struct roce - all wires. */
struct roce {
	struct roce_wire wire[HCA_WIRES];
	u32 n;
	bool filters;
	struct wire_peers peers; /* with @filters: nobody else */
	struct roce_rate rate[ROCE_RATES];
	struct roce_group group[ROCE_GROUPS];
	u32 members, cursor; /* of the table of memberships, when the groups were last joined */
	u32 moves; /* hca->mcast_moves then */
	bool due; /* datagrams wait for the token */
	u8 *bytes; /* of the datagrams that are being delivered */
	u64 retry_at; /* when the engine can be asked again; NEVER: it has taken all */
	struct roce_defer defer;
	u64 release_at; /* when places of peers can be released again */
	u32 peers_seen; /* hca->wires.n_used at the latest turn */
	u64 refused_seen; /* hca->wires.n_refused when the log last had a line of it ... */
	u64 refused_at; /* ... and when it may have the next */
	bool cuts; /* hca->wires.bursts, as the log knows it */
	struct egress egress;
	struct roce_stage stage;
};

/* --- output.c --- */

extern const struct link_carrier roce_carrier;
/** roce_writable() - the socket that was full has room again. */
void roce_writable(struct fabric *f, struct roce_wire *w);
/** roce_note_bursts() - log it if bursts do not leave in one piece any more. */
void roce_note_bursts(struct fabric *f);

/* --- socket.c --- */

/**
 * roce_socket_open() - a socket that is bound to an address of the host.
 * Return: the descriptor or -errno.
 */
int roce_socket_open(const u8 gid[16], u16 port);
/** roce_socket_set_room() - make room for what arrives while the fabric process has no CPU. */
void roce_socket_set_room(int fd);
/** roce_sockaddr_gid() - the GID of an address of IP. Return: false: it is none, or NULL. */
bool roce_sockaddr_gid(const struct sockaddr *sa, u8 gid[16]);
/** roce_socket_iface() - the index of the interface that has an address; 0: none. */
unsigned int roce_socket_iface(const u8 gid[16]);
/**
 * roce_socket_cuts() - whether the kernel cuts what sockets of that address send into datagrams.
 */
bool roce_socket_cuts(const u8 gid[16]);

/* --- congestion.c --- */

/** roce_rate_holds() - whether a queue pair has to wait; its timer is set then. Token held. */
bool roce_rate_holds(struct fabric *f, struct roce_wire *w, const struct burst *b);
/** roce_rate_sent() - a burst of @len bytes has left. */
void roce_rate_sent(struct fabric *f, const struct burst *b, u32 len);
/** roce_cnp_send() - tell the sender of a packet that it was marked. @b: its burst */
void roce_cnp_send(struct fabric *f, struct roce_wire *w, const struct roce_pkt *p,
		   const struct burst *b);
/** roce_cnp_input() - take a CNP. Return: whether its queue pair has a path to the sender. */
bool roce_cnp_input(struct fabric *f, struct roce_wire *w, const struct roce_pkt *p);

/* --- flow.c --- */

/**
 * roce_flow_socket() - the socket that sends from a source port, or that of the wire.
 * @out: receives its other side
 */
struct watch *roce_flow_socket(struct fabric *f, struct roce_wire *w, u16 port,
			       struct egress_socket **out);
/** roce_flows_init() - note that no flow of a wire has a socket yet. */
void roce_flows_init(struct roce_wire *w);
/** roce_flows_close() - close all such sockets. */
void roce_flows_close(struct roce_wire *w);

/* --- input.c --- */

/** roce_inbox_events() - EPOLL* bits for which the loop waits at a socket. */
u32 roce_inbox_events(const struct roce_inbox *box);
/** roce_inbox_open() - allocate @box->in and watch a socket. Return: 0 or -errno. */
int roce_inbox_open(struct fabric *f, struct roce_inbox *box, int fd, u32 room);
/** roce_inbox_close() - close the socket, and forget its datagrams. */
void roce_inbox_close(struct roce_inbox *box);

/** roce_inbox_read() - read datagrams into the inbox, which is empty. */
void roce_inbox_read(struct fabric *f, struct roce_inbox *box);
/** roce_inbox_has_left() - whether datagrams were read that the engine has not taken. */
bool roce_inbox_has_left(const struct roce_inbox *box);

/** roce_has_left() - whether programs have left datagrams that this process has not looked at. */
bool roce_has_left(const struct fabric *f);

/* --- defer.c --- */

/**
 * roce_defer_begin() - a socket has datagrams: whether programs read them, so that the loop need
 * not.
 */
bool roce_defer_begin(struct fabric *f, struct roce_inbox *box);
/** roce_defer_ends() - whether it is to end; if not, it is checked again later. */
bool roce_defer_ends(struct fabric *f, u64 now);
/** roce_defer_check() - end it, if it is time. Token held. */
void roce_defer_check(struct fabric *f);

/* --- peers.c --- */

/** roce_peers_introduce() - a datagram comes from a new host. Return: whether it gets a place. */
bool roce_peers_introduce(struct fabric *f, const u8 gid[16]);
/** roce_peers_are_rare() - whether programs have taken nearly all places. */
bool roce_peers_are_rare(const struct fabric *f);
/** roce_peers_keep_free() - release places for programs, where few are free. Token held. */
void roce_peers_keep_free(struct fabric *f);

/* --- drop.c --- */

/** roce_drop() - count a datagram that is dropped, and log it, now and then. */
void roce_drop(struct fabric *f, struct roce_wire *w, enum roce_drop why, const u8 from[16]);

/* --- group.c --- */

/** roce_groups_changed() - whether queue pairs have joined or left groups. */
bool roce_groups_changed(const struct fabric *f);
/** roce_groups_update() - join and leave groups as the memberships are. Token held. */
void roce_groups_update(struct fabric *f);

#endif
