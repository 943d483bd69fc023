/* SPDX-License-Identifier: MIT */
/**
 * DOC: async-signal-safe requests to the fabric process, by programs that need not be clients.
 *
 * Each uses a connection of its own and takes no lock, so that it may come from a signal handler or
 * after vfork().
 */
#ifndef LIBSHIM_INTERPOSE_RPC_SIGNAL_H
#define LIBSHIM_INTERPOSE_RPC_SIGNAL_H

#include "fabric/proto/proto.h"

/* --- rpc_signal.c --- */

/** rpc_signal_open() - connect. Return: descriptor, for sys_close(), or -errno. */
int rpc_signal_open(void);
/**
 * rpc_signal_call() - send @m, receive the reply into it. Return: whether it came without error.
 */
bool rpc_signal_call(int fd, struct proto_msg *m);
/** rpc_signal_set_node() - @m asks about the node of this program. */
void rpc_signal_set_node(struct proto_msg *m);
/**
 * rpc_signal_get_dev() - get device @number of this node into @m->dev. Return: whether it exists.
 */
bool rpc_signal_get_dev(int fd, u32 number, struct proto_msg *m);

#endif
