/* SPDX-License-Identifier: MIT */
/**
 * DOC: the sockets by which this program sends to hosts outside: one for a source port. See
 * wire_send.c. All of it needs the token.
 */
#ifndef LIBSHIM_CLIENT_WIRE_FLOW_H
#define LIBSHIM_CLIENT_WIRE_FLOW_H

#include "fabric/egress/egress.h"
#include "libshim/interpose/own_fd.h"

/**
 * struct wire_flow - the socket of a flow.
 * @own: own.fd: -1: it could not be opened
 * @full: there was no room for a packet
 */
struct wire_flow {
	struct egress_flow entry;
	struct own_fd own;
	bool full;
};

/* --- wire_flow.c --- */

/**
 * wire_is_here() - whether this process is where the fabric's wires are: its user is the fabric
 * process's, and so is its network namespace. @hca: NULL: in an isolated fabric, no.
 */
bool wire_is_here(const struct hca *hca);
/**
 * wire_flow_get() - the socket of a flow, which is opened if it is new.
 * Return: NULL: there is none, it is full, or the program has closed it.
 */
struct wire_flow *wire_flow_get(u32 wire, u16 port);
/** wire_flows_close() - close all, in a child of fork(): they are its parent's. */
void wire_flows_close(void);

#endif
