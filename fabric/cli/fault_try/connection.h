/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections of a captured trace: which packets belong to one, and what fault rules see of
 * them.
 *
 * Theory of operation
 * -------------------
 * A packet names its destination (address, QP) but, UD apart, not the QP that it comes from. So a
 * connection is two flows, each all packets from an address to a QP of another address. Two flows
 * belong together
 *
 * - by the REQ and REP of the CM, if the trace has them;
 * - by the PSN of an answer, which is that of a request of the other flow;
 * - or because there is only one of each between two addresses.
 *
 * A later packet may show that for an earlier one. So the trace is read twice: trace_conns_learn()
 * gets each packet, trace_conns_settle() counts the connections, and trace_conns_look() gets each
 * packet again.
 *
 * QP numbers are reused: a REP begins a new pair of flows.
 */
#ifndef FABRIC_CLI_FAULT_TRY_CONNECTION_H
#define FABRIC_CLI_FAULT_TRY_CONNECTION_H

#include "fabric/fault/packet.h"
#include "fabric/cli/fault_try/frame.h"

#define TRACE_NODES HCA_MAX_NODES
#define TRACE_FLOWS 16384u

/** struct trace_conns - of one trace. */
struct trace_conns;

/**
 * trace_conns_make() - memory for @flows flows, two for each connection. Return: NULL: no memory.
 */
struct trace_conns *trace_conns_make(u32 flows);
void trace_conns_free(struct trace_conns *t);
/**
 * trace_conns_learn() - learn from a packet, frame @frame of the file; frame numbers only grow.
 * Return: 0, or -ENOSPC: there are too many addresses or flows.
 */
int trace_conns_learn(struct trace_conns *t, u64 frame, const struct trace_pkt *p);
/** trace_conns_settle() - count the connections, after all packets. */
void trace_conns_settle(struct trace_conns *t);
/**
 * trace_conns_look() - a packet as fault rules see it: all packets again, in the same order. The
 * node and the device of an end are the number of its address; an unknown QP is TRACE_QP_UNKNOWN.
 * Return: false: trace_conns_learn() has not had this packet.
 */
bool trace_conns_look(struct trace_conns *t, u64 frame, const struct trace_pkt *p,
		      struct fault_pkt *out);
#define TRACE_QP_UNKNOWN (~0u)

/** trace_conns_n_nodes() - the number of addresses; trace_conns_node() - one of them. */
u32 trace_conns_n_nodes(const struct trace_conns *t);
const struct trace_addr *trace_conns_node(const struct trace_conns *t, u32 node);
u32 trace_conns_count(const struct trace_conns *t);

#endif
