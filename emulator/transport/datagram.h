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
