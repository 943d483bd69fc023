/* SPDX-License-Identifier: MIT */
/**
 * DOC: requests to the fabric process, and the descriptors that its replies carry.
 */
#ifndef LIBSHIM_CLIENT_RPC_H
#define LIBSHIM_CLIENT_RPC_H

#include "fabric/proto/proto.h"

#define RPC_MAX_FDS 4

/* --- rpc.c --- */

/** shim_rpc_open() - connect to the fabric's socket at @path. Return: 0 or -errno. */
int shim_rpc_open(const char *path);
void shim_rpc_close(void);
/**
 * shim_rpc_call() - send request @m and receive the reply into it.
 * @send_fd: descriptor to send along, unless negative
 * @fds: takes up to @max received descriptors, close-on-exec and with high numbers
 *
 * May be called by any thread, also with the token held: the fabric process replies without it.
 * Return: number of received descriptors, or -errno, which may be the fabric process's own reply.
 */
int shim_rpc_call(struct proto_msg *m, int send_fd, int *fds, int max);
/**
 * shim_map_shared() - map @size bytes of memfd @fd. Return: NULL if that fails or it is shorter.
 */
void *shim_map_shared(int fd, u64 size);

/* Around fork(). */
void shim_rpc_lock(void);
void shim_rpc_unlock(void);
void shim_rpc_forked(void);

#endif
