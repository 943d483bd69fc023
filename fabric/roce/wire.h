/* SPDX-License-Identifier: MIT */
/**
 * DOC: wires, inside.
 *
 * A wire is an unconnected UDP socket that is bound to port 4791 of one of the host's IPv4
 * addresses, which is a GID of one of this fabric's ports. The ICRC covers the identification of
 * the IPv4 header, which the kernel writes. On an unconnected socket with IP_PMTUDISC_DO it writes
 * 0, and sets DF: so the sender knows all that the ICRC covers. No privilege is needed.
 *
 * Output: the requester and the responder hand bursts to roce_send(), since the device of their
 * peer is the wire's (emulator/peer.h). fabric/packet/ makes packets of them, as for captures, and
 * the socket takes what follows the UDP header. No more than ROCE_WINDOW packets of a queue pair
 * are unacknowledged: the receive buffer of a peer is small.
 *
 * Input: the loop reads datagrams into buffers of the wire; with the token, each is parsed as a
 * frame is, becomes a burst of one packet with BF_FOREIGN, and enters the switch as an injected
 * frame does (emulator/transport/untrusted.h). All buffers are allocated at the start.
 */
#ifndef FABRIC_ROCE_WIRE_H
#define FABRIC_ROCE_WIRE_H

#include "fabric/common/wire_list.h"
#include "fabric/link/link.h"
#include "fabric/packet/packet.h"
#include "fabric/roce/roce.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define ROCE_BATCH    64u /* datagrams in one system call */
#define ROCE_WINDOW   128u /* packets; rdma_rxe has the same limit */
#define ROCE_DATA_MAX (1u << 20) /* payload of a burst */
#define ROCE_IP_UDP   28u /* bytes of the IPv4 and UDP headers */
#define ROCE_ETH      14u
/* The longest datagram: path MTU 4096 with all headers. */
#define ROCE_DATAGRAM (4096u + ROCE_HDR_MAX)

/**
 * struct roce_in - a datagram. Before its bytes there is room for the headers that the kernel has
 * taken off.
 */
struct roce_in {
	u8 head[ROCE_IP_UDP];
	u8 data[ROCE_DATAGRAM];
	u32 len;
	bool cut;
	struct sockaddr_in from;
};

/** struct roce_wire - a wire. Times are real time. */
struct roce_wire {
	struct watch w;
	u8 gid[16];
	char text[INET_ADDRSTRLEN];
	bool stuck; /* the socket was full */
	bool paused; /* the loop does not wait for datagrams: @in is full */
	u32 n_in, at_in; /* datagrams in @in, and the first that the engine has not taken */
	struct roce_in *in; /* ROCE_BATCH of them */
	/* The burst that was sent in part before the socket was full. */
	u32 part_qpn, part_psn, part_sent;
	struct roce_counts n;
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
	bool due; /* datagrams wait for the token */
	u64 retry_at; /* when the engine can be asked again; NEVER: it has taken all */
	u8 *payload; /* ROCE_DATA_MAX bytes: of the burst that is being sent */
	u8 *frames; /* ROCE_BATCH frames */
	struct roce_stage stage;
};

/* --- output.c --- */

extern const struct link_carrier roce_carrier;
/** roce_writable() - the socket has room again. */
void roce_writable(struct fabric *f, struct roce_wire *w);

/* --- input.c --- */

/** roce_event() - the event handler of a wire's socket. */
void roce_event(struct fabric *f, struct watch *watch, u32 events);

#endif
