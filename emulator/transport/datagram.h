/* SPDX-License-Identifier: MIT */
/**
 * DOC: the unreliable transports: UC, UD, and multicast.
 */
#ifndef EMULATOR_TRANSPORT_DATAGRAM_H
#define EMULATOR_TRANSPORT_DATAGRAM_H

#include "emulator/engine.h"

/* --- uc.c --- */

int uc_input(struct engine *e, struct hca_qp *qp, const struct burst *b);

/* --- ud.c --- */

#define QKEY_CONTROLLED 0x80000000u /* IBTA 10.2.5: a work request asks for its QP's own */

/** ud_ip_payload() - UDP, BTH, DETH, immediate, padded payload, ICRC: what the IP header counts. */
static inline u32 ud_ip_payload(u64 len, bool imm)
{
	return 8 + 12 + 8 + (imm ? 4 : 0) + ALIGN_UP((u32)len, 4u) + 4;
}

/**
 * ud_cqe_origin() - fill in where a datagram came from: its GRH, and what an entry with CQE_EXT
 * has. @qp: it has arrived at; @ip_payload: ud_ip_payload()
 * Return: WCF_GRH or 0.
 */
u8 ud_cqe_origin(const struct hca *hca, const struct hca_qp *qp, const struct hca_path *path,
		 const struct hca_av *av, u32 ip_payload, struct cqe *cqe);
int ud_input(struct engine *e, struct hca_qp *qp, const struct burst *b);
/** ud_address() - give a datagram its address. Return: WC status. */
u32 ud_address(struct engine *e, struct hca_qp *qp, const struct sq_wqe *w, struct burst *b);

/* --- mcast.c --- */

/** mcast_input() - deliver a datagram to the group's members. Return: as hca_input(). */
int mcast_input(struct engine *e, const struct burst *b);
/**
 * mcast_deliver() - a datagram to a group arrives at the members on port b->dst_port of b->dst_dev,
 * or, where that is ~0, at all.
 * @next: how far it has got, 0 at first
 * Return: as hca_input(); with -EAGAIN *next has moved on, for the next try.
 */
int mcast_deliver(struct engine *e, const struct burst *b, u32 *next);
/**
 * mcast_next_port() - a port on which there is a member that gets the datagram. Ports come several
 * times.
 * @i: 0 at first. Return: false: that was the last.
 */
bool mcast_next_port(struct hca *hca, const struct burst *b, u32 *i, u32 *dev, u8 *port);

#endif
