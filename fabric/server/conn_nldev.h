/* SPDX-License-Identifier: MIT */
/** DOC: connections that are netlink sockets of a program: fabric/nldev/nldev.h. */
#ifndef FABRIC_SERVER_CONN_NLDEV_H
#define FABRIC_SERVER_CONN_NLDEV_H

#include "fabric/core/fabric.h"

/** conn_nldev_start() - PROTO_NLDEV: the connection is a netlink socket from the answer on. */
int conn_nldev_start(struct fabric *f, struct conn *c, struct proto_msg *m);
/**
 * conn_nldev_serve() - take requests and send answers, as far as the program reads them.
 * Return: false when the connection is to be closed.
 */
bool conn_nldev_serve(struct fabric *f, struct conn *c);

#endif
