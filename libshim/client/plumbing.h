/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files under shim.h share among themselves: descriptors, requests, fork.
 */
#ifndef LIBSHIM_CLIENT_PLUMBING_H
#define LIBSHIM_CLIENT_PLUMBING_H

#include "libshim/client/shim.h"

/* --- rpc.c --------------------------------------------------------------------------------- */

#define RPC_MAX_FDS 4

/** rpc_open() - connect to the fabric's socket at @path. Return: 0 or -errno. */
int rpc_open(const char *path);
void rpc_close(void);
/**
 * rpc_call() - send request @m, with descriptor @send_fd unless it is negative, and wait for the
 * reply in @m. Any thread, also with the token held: the fabric process answers without it.
 * @fds: takes up to @max received descriptors, close-on-exec and out of the program's way
 * Return: number of received descriptors, or -errno, the fabric's own answer included.
 */
int rpc_call(struct proto_msg *m, int send_fd, int *fds, int max);
/** fd_high() - move a descriptor where programs do not expect low numbers. Return: its number. */
int fd_high(int fd);
/** map_shared() - map @size bytes of a memfd that has them. Return: NULL when that fails. */
void *map_shared(int fd, u64 size);

/* --- fork.c -------------------------------------------------------------------------------- */

/** fork_watch() - from now on, children of fork() start anew. Idempotent; connect lock held. */
int fork_watch(void);

/* What fork.c calls: locks are taken before the fork, and the child drops what is its parent's. */
void client_lock(void);
void client_unlock(void);
void client_forked(void);
void rpc_lock(void);
void rpc_unlock(void);
void rpc_forked(void);
void segheap_lock(void);
void segheap_unlock(void);
void segheap_forked(void);
void chan_forked(void);
void command_forked(void);
/** host_near() - as struct engine.near, for a new client: itself. */
const u64 *host_near(void);
void host_forked(void);
void helper_forked(void);
void watch_forked(void);

/* --- seg_heap.c ----------------------------------------------------------------------------- */

/** segheap_init() - set up the heap, unless an earlier connection did. Return: 0 or -ENOMEM. */
int segheap_init(void);

/* --- chan.c -------------------------------------------------------------------------------- */

/** chan_notify() - make the fd of one of our own channels readable. */
void chan_notify(u32 chan);

/* --- command.c ----------------------------------------------------------------------------- */

/** command_wake() - the fabric has gone: wake who waits for an answer. */
void command_wake(void);

/* --- helper.c ------------------------------------------------------------------------------ */

/** helper_keep() - take over the descriptor of the own segment. */
void helper_keep(int seg_fd);
/** helper_open() - let the fabric process ring this process's helper. Return: eventfd or -errno. */
int helper_open(void);
/** helper_serve() - the eventfd is readable: do the copy that was asked for. */
void helper_serve(int fd);
/** helper_settle() - wait for the copy that the helper may be making right now. */
void helper_settle(void);

#endif
