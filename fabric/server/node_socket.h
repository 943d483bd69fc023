/* SPDX-License-Identifier: MIT */
/** DOC: the sockets of an isolated fabric's nodes, for their programs. See node_socket.c. */
#ifndef FABRIC_SERVER_NODE_SOCKET_H
#define FABRIC_SERVER_NODE_SOCKET_H

#include "fabric/core/fabric.h"

/** struct node_sockets - a socket per node; -1: its node has none yet. */
struct node_sockets {
	struct watch w[HCA_MAX_NODES];
};

/**
 * node_sockets_start() - make the directory, and the socket of the host's node.
 * Return: 0 or -errno.
 */
int node_sockets_start(struct fabric *f);
/**
 * node_socket_make() - make the socket of a node, unless it has one or the fabric is not isolated.
 * Return: 0 or -errno: -ENAMETOOLONG: its path is too long for a socket.
 */
int node_socket_make(struct fabric *f, u32 node);
/** node_socket_of() - the node whose socket @w is, or CONN_NO_NODE: it is the one for control. */
s32 node_socket_of(const struct fabric *f, const struct watch *w);
/** node_sockets_accept() - accept the connections that wait at any of them. */
void node_sockets_accept(struct fabric *f);
/** node_sockets_watch() - wait for connections again. */
void node_sockets_watch(struct fabric *f);
/** node_sockets_end() - close them. @remove: the files are this fabric's: remove them. */
void node_sockets_end(struct fabric *f, bool remove);

#endif
