/* SPDX-License-Identifier: MIT */
/** DOC: wires that speak RoCE v2, as other modules use them. docs/design/roce.md describes them. */
#ifndef FABRIC_ROCE_ROCE_H
#define FABRIC_ROCE_ROCE_H

#include "fabric/core/fabric.h"
#include "fabric/ingress/ingress.h"

struct opts;

/**
 * struct roce_counts - datagrams of a wire, by what became of them.
 * @full: how often the socket had no room; @lost_refused: lost by an error of the socket
 * @numbered: their sender does not set the IPv4 identification to 0
 * @ecn_marked: received with the mark of congestion; @cnp_sent, @cnp_received: CNPs
 * @rate_held: how often a queue pair waited since CNPs have limited its rate
 */
struct roce_counts {
	u64 sent, full, lost_refused;
	u64 ecn_marked, cnp_sent, cnp_received, rate_held;
	u64 received, numbered, dropped[ROCE_DROPS];
};

/* --- drop.c --- */

/** roce_drop_name() - the counter of a reason, as status has it. */
const char *roce_drop_name(enum roce_drop why);

/* --- start.c --- */

/** roce_wire_counts() - of wire @i, with its address as a text; NULL: there are fewer wires. */
const struct roce_counts *roce_wire_counts(const struct fabric *f, u32 i, const char **address);
/**
 * roce_guid_salt() - a hash of the wires' addresses. The fabrics of two hosts mostly have the same
 * name, and connection management takes a CA GUID for one device. Return: 0: there are no wires.
 */
u64 roce_guid_salt(const struct opts *o);
/** roce_start() - bind the wires that --roce names. Return: NULL, or why it cannot. */
const char *roce_start(struct fabric *f, const struct opts *o);
/** roce_end() - close the sockets: another fabric may bind them. */
void roce_end(struct fabric *f);

/**
 * roce_share() - a program wants to read what arrives at wire @i.
 * @fd: receives its socket, or with @memory the memory of its inbox
 * Return: 0; -ENOENT: there is no such wire.
 */
int roce_share(struct fabric *f, u32 i, bool memory, int *fd);

/* --- group.c --- */

/** roce_group_next() - GID of the next group of wire @wire; @at: 0 at first. NULL: no more. */
const u8 *roce_group_next(const struct fabric *f, u32 wire, u32 *at);

/**
 * roce_has_groups_to_join() - whether queue pairs have joined or left groups, and the wires have
 * not followed yet.
 */
bool roce_has_groups_to_join(const struct fabric *f);

/* --- input.c --- */

/** roce_due() - whether datagrams wait for the token. */
bool roce_due(struct fabric *f, u64 now);
/** roce_next() - when datagrams will be offered to the engine again, real time. */
u64 roce_next(const struct fabric *f);
/** roce_datagrams() - the bytes of the datagrams being delivered: the memory of HCA_ROCE. */
void *roce_datagrams(const struct fabric *f);
/** roce_input() - hand datagrams to the engine. Token held. */
void roce_input(struct fabric *f);

/* --- socket.c --- */

/** roce_gid_text() - an address as a text of INET6_ADDRSTRLEN bytes. */
const char *roce_gid_text(const u8 gid[16], char *text);

#endif
