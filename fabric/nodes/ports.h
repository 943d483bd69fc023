/* SPDX-License-Identifier: MIT */
/** DOC: ports while the fabric runs: changes by request and by the host's interfaces. */
#ifndef FABRIC_NODES_PORTS_H
#define FABRIC_NODES_PORTS_H

#include "fabric/nodes/nodes.h"

/** fabric_ports_watch() - from now on notice when the host's addresses change. */
void fabric_ports_watch(struct fabric *f);
/** fabric_port_request() - PROTO_PORT. Return: -EINPROGRESS: answered later; -EBUSY. */
int fabric_port_request(struct fabric *f, struct conn *c, const struct proto_msg *m);
/** fabric_port_change() - change all ports that are named, or none if one of them refuses. */
int fabric_port_change(struct fabric *f, const struct proto_port *q);
/**
 * fabric_port_matches() - whether a port of this fabric's own is one that a request is about.
 * @node, @name, @nr: its node, device and number as in a message; "", "", 0: any
 */
bool fabric_port_matches(const struct hca *hca, u32 dev, u32 port, const char *node,
			 const char *name, u32 nr);
/** fabric_port_conn_closed() - a connection is closed. */
void fabric_port_conn_closed(struct fabric *f, const struct conn *c);
/** fabric_ports_due() - whether there is something to do with the token. */
bool fabric_ports_due(const struct fabric *f);
/** fabric_ports_publish() - ports have changed: write the sysfs trees of nodes that are in use. */
void fabric_ports_publish(struct fabric *f);
/** fabric_ports_work() - do what is due. Token held. */
void fabric_ports_work(struct fabric *f);

#endif
