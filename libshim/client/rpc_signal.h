/* SPDX-License-Identifier: MIT */
/**
 * DOC: questions to the fabric process on a connection of their own, by who need not be a client. No
 * lock is taken: they may come from a signal handler or after vfork().
 */
#ifndef LIBSHIM_CLIENT_RPC_SIGNAL_H
#define LIBSHIM_CLIENT_RPC_SIGNAL_H

#include "fabric/proto/proto.h"

/** ask_open() - connect. Return: descriptor, to be closed, or -errno. */
int ask_open(void);
/** ask_call() - send @m and receive the answer into it. Return: whether there is one, without error. */
bool ask_call(int fd, struct proto_msg *m);
/** ask_of_node() - @m asks about the node that this program is on. */
void ask_of_node(struct proto_msg *m);
/** ask_dev() - device @number of this program's node into @m->dev. Return: whether there is one. */
bool ask_dev(int fd, u32 number, struct proto_msg *m);

#endif
