/* SPDX-License-Identifier: MIT */
/**
 * DOC: questions to the fabric process on a connection of their own, by who need not be a client. No
 * lock is taken: they may come from a signal handler or after vfork().
 */
#ifndef LIBSHIM_CLIENT_RPC_SIGNAL_H
#define LIBSHIM_CLIENT_RPC_SIGNAL_H

#include "fabric/proto/proto.h"

/** rpc_signal_open() - connect. Return: descriptor, to be closed, or -errno. */
int rpc_signal_open(void);
/** rpc_signal_call() - send @m and receive the answer into it. Return: whether there is one, without error. */
bool rpc_signal_call(int fd, struct proto_msg *m);
/** rpc_signal_set_node() - @m asks about the node that this program is on. */
void rpc_signal_set_node(struct proto_msg *m);
/** rpc_signal_get_dev() - device @number of this program's node into @m->dev. Return: whether there is one. */
bool rpc_signal_get_dev(int fd, u32 number, struct proto_msg *m);

#endif
