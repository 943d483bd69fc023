/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric process with a wire of RoCE v2, alone in a test: the sources of fabric/roce,
 * fabric/packet, fabric/link and the engine. The linker replaces the calls for sockets and the
 * clock (WIRE_CALLS in mk/tests.mk): the test puts datagrams into sockets, and all that leaves must
 * be good packets. Hosts outside have numbers; program 1 listens by the rdma_cm.
 */
#ifndef TESTS_LIB_WIRE_WIRE_WORLD_H
#define TESTS_LIB_WIRE_WIRE_WORLD_H

#include "fabric/roce/wire.h"
#include "tests/lib/engine/emu_cm.h"

#define WIRE_HOST_QPN 0x22u /* of the queue pair outside that wire_connect() connects with */
#define WIRE_QKEY     0x11111111u
#define WIRE_GROUP    "239.1.2.3"

/** enum wire_to - the socket that a datagram arrives at. */
enum wire_to {
	WIRE_TO_4, /* of the wire with an IPv4 address */
	WIRE_TO_6,
	WIRE_TO_GROUP,
};

/**
 * struct wire_world - the process and its surroundings.
 * @cm: the engine with its two programs; @m: the same
 * @fresh: a queue pair that has not left RESET; @live: connected with host 1; @ud: of datagrams, in
 *	a group
 * @n_sent: packets that have left; @sent: the latest, without its payload
 * @n_acks_asked: those that ask for an ACK
 * @n_runs: how often several have left in one piece; @n_copies: how often memory was copied
 * @sent_by: the socket that sent last
 * @egress: whose frames leave; NULL: the fabric process's
 */
struct wire_world {
	struct emu_cm *cm;
	struct emu *m;
	struct fabric *f;
	bool on; /* calls are the world's, not the system's */
	bool full; /* sockets take nothing */
	int piece_error; /* nor what the kernel is to cut, with errno's value; 0: they do */
	int frame_error; /* the same of single frames */
	struct emu_qp fresh, live, ud;
	u32 n_sent, n_runs, n_acks_asked, n_copies;
	struct roce_pkt sent;
	int sent_by;
	const struct egress *egress;
};

extern struct wire_world wire;

/** wire_make() - make it, once. */
void wire_make(void);
/**
 * wire_make_frozen() - make it, once, for wire_restore(). @live: what it lives through before its
 * state of now is kept
 */
void wire_make_frozen(void (*live)(void));
/** wire_restore() - its state when wire_make_frozen() returned. */
void wire_restore(void);
/** wire_audit() - Return: whether HCA memory is sound. */
bool wire_audit(void);
/**
 * wire_connect_at() - connect a queue pair of program 1 with host 1, as new. @to: by that wire
 * @path_mtu: ibv_mtu
 */
void wire_connect_at(struct emu_qp *q, enum wire_to to, u32 path_mtu);
/** wire_connect_qp() - the same by the wire with an IPv4 address. */
void wire_connect_qp(struct emu_qp *q, u32 path_mtu);
/** wire_connect_with() - connect the live queue pair with host 1, as new. @path_mtu: ibv_mtu */
void wire_connect_with(u32 path_mtu);
/** wire_connect() - the same with 1024 bytes. */
void wire_connect(void);
/** wire_host_gid() - the address from which host @host sends to that socket. */
void wire_host_gid(enum wire_to to, u32 host, u8 gid[16]);
/** wire_put_bytes() - a datagram of host @from arrives. */
void wire_put_bytes(enum wire_to to, u32 from, const u8 *data, u32 len);
/** wire_put() - a packet of host @from arrives; the network's fields are made right. */
void wire_put(enum wire_to to, u32 from, const struct roce_pkt *p);
/** wire_put_numbered() - the same with IPv4 identification @id. */
void wire_put_numbered(enum wire_to to, u32 from, const struct roce_pkt *p, u16 id);
/**
 * wire_put_run() - packets of host @from arrive in one piece: those that are as long as the first,
 * and one that is shorter. @damaged: number of one with a bit that is wrong; @n: none
 */
void wire_put_run(enum wire_to to, u32 from, const struct roce_pkt *p, u32 n, u32 damaged);
/** wire_turn() - a turn of the fabric process's loop. Return: whether datagrams are left. */
bool wire_turn(void);
/** wire_settle() - turns until no datagram is left. */
void wire_settle(void);
/** wire_introduce() - a datagram of host @host arrives for QP 1, which makes its sender known. */
void wire_introduce(u32 host);
/** wire_counts() - counters of the wire with the IPv4 address. */
const struct roce_counts *wire_counts(void);

#endif
