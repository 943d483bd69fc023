/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections of a captured trace: which packets are of one, and what rules see of them.
 *
 * Theory of operation
 * -------------------
 * A packet says where it goes, (address, QP), but not which QP it comes from, UD's apart. So a connection
 * is two flows, each all packets from an address to a QP of another, and which two belong together is to be
 * found out: by CM's REQ and REP where the trace has them, by an answer's PSN, which is that of a request of
 * the other flow, or because there is only one of each between two addresses. As a packet may tell that
 * later than its flow began the trace is read twice: trace_conns_learn() sees each packet, then trace_conns_settle()
 * counts the connections, and trace_conns_look() sees each packet again.
 *
 * QP numbers are used again: a REP begins a new pair of flows.
 */
#ifndef FABRIC_CLI_FAULT_TRY_CONNECTION_H
#define FABRIC_CLI_FAULT_TRY_CONNECTION_H

#include "fabric/fault/packet.h"
#include "fabric/cli/fault_try/frame.h"

#define TRACE_NODES HCA_MAX_NODES
#define TRACE_FLOWS 16384u

/** struct trace_conns - of one trace. */
struct trace_conns;

/** trace_conns_make() - for so many flows, two for each connection. Return: NULL: no memory. */
struct trace_conns *trace_conns_make(u32 flows);
void trace_conns_free(struct trace_conns *t);
/**
 * trace_conns_learn() - a packet, frame @frame of the file; frames only grow.
 * Return: 0, or -ENOSPC: there are too many addresses or flows.
 */
int trace_conns_learn(struct trace_conns *t, u64 frame, const struct trace_pkt *p);
/** trace_conns_settle() - all have been seen. */
void trace_conns_settle(struct trace_conns *t);
/**
 * trace_conns_look() - the same packets, in the same order: as rules see them. An end's node and device are both
 * its address's number; a QP that is not known is TRACE_QP_UNKNOWN.
 * Return: false: it is not one of those that were seen.
 */
bool trace_conns_look(struct trace_conns *t, u64 frame, const struct trace_pkt *p,
		      struct fault_pkt *out);
#define TRACE_QP_UNKNOWN (~0u)

/** trace_conns_n_nodes() - how many addresses there are; trace_conns_node() - one of them. */
u32 trace_conns_n_nodes(const struct trace_conns *t);
const struct trace_addr *trace_conns_node(const struct trace_conns *t, u32 node);
u32 trace_conns_count(const struct trace_conns *t);

#endif
