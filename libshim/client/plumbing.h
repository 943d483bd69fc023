/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files under shim.h share among themselves: descriptors, requests, fork.
 */
#ifndef LIBSHIM_CLIENT_PLUMBING_H
#define LIBSHIM_CLIENT_PLUMBING_H

#include "libshim/client/shim.h"

/* --- rpc.c --------------------------------------------------------------------------------- */

#define RPC_MAX_FDS 4

/** shim_rpc_open() - connect to the fabric's socket at @path. Return: 0 or -errno. */
int shim_rpc_open(const char *path);
void shim_rpc_close(void);
/**
 * shim_rpc_call() - send request @m, with descriptor @send_fd unless it is negative, and wait for the
 * reply in @m. Any thread, also with the token held: the fabric process answers without it.
 * @fds: takes up to @max received descriptors, close-on-exec and out of the program's way
 * Return: number of received descriptors, or -errno, the fabric's own answer included.
 */
int shim_rpc_call(struct proto_msg *m, int send_fd, int *fds, int max);
/** shim_fd_high() - move a descriptor where programs do not expect low numbers. Return: its number. */
int shim_fd_high(int fd);
/** shim_map_shared() - map @size bytes of a memfd that has them. Return: NULL when that fails. */
void *shim_map_shared(int fd, u64 size);

/* --- fork.c -------------------------------------------------------------------------------- */

/** shim_fork_watch() - from now on, children of fork() start anew. Idempotent; connect lock held. */
int shim_fork_watch(void);

/* What fork.c calls: locks are taken before the fork, and the child drops what is its parent's. */
void shim_client_lock(void);
void shim_client_unlock(void);
void shim_client_forked(void);
void shim_rpc_lock(void);
void shim_rpc_unlock(void);
void shim_rpc_forked(void);
void shim_seg_heap_lock(void);
void shim_seg_heap_unlock(void);
void shim_seg_heap_forked(void);
void shim_chan_forked(void);
void shim_cmd_forked(void);
/** shim_host_near() - as struct engine.near, for a new client: itself. */
const u64 *shim_host_near(void);
void shim_host_forked(void);
void shim_helper_forked(void);
void shim_watch_forked(void);

/* --- seg_heap.c ----------------------------------------------------------------------------- */

/** shim_seg_heap_init() - set up the heap, unless an earlier connection did. Return: 0 or -ENOMEM. */
int shim_seg_heap_init(void);

/* --- chan.c -------------------------------------------------------------------------------- */

/** shim_chan_notify() - make the fd of one of our own channels readable. */
void shim_chan_notify(u32 chan);

/* --- command.c ----------------------------------------------------------------------------- */

/** shim_cmd_wake() - the fabric has gone: wake who waits for an answer. */
void shim_cmd_wake(void);

/* --- helper.c ------------------------------------------------------------------------------ */

/** shim_helper_keep() - take over the descriptor of the own segment. */
void shim_helper_keep(int seg_fd);
/** shim_helper_open() - let the fabric process ring this process's helper. Return: eventfd or -errno. */
int shim_helper_open(void);
/** shim_helper_serve() - the eventfd is readable: do the copy that was asked for. */
void shim_helper_serve(int fd);
/** shim_helper_settle() - wait for the copy that the helper may be making right now. */
void shim_helper_settle(void);

#endif
