/* SPDX-License-Identifier: MIT */
/**
 * DOC: this process as a client of its fabric: one client of one fabric per process.
 *
 * The files of this folder form layers; each uses only those below it:
 *
 *	connect.c	becomes a client at first use
 *	fork.c		starts anew in a forked child
 *	watch.c		the shim's one thread: notices the fabric process's end, runs the helper
 *	engine_ops.c	what the engine calls in this process (struct engine_ops)
 *	chan.c		event channels
 *	command.c	commands, doorbells, work done for the engine
 *	helper.c	copies of this process's memory on behalf of the fabric process
 *	rpc.c		requests to the fabric process
 *	seg_heap.c	memory for rings in the client's segment
 *	client.c	struct shim_client
 *
 * The wires of RoCE v2 have wire_flow.c, wire_send.c and wire_receive.c, which engine_ops.c and
 * poll_idle.c call. The verbs use call_fault.c, poll_idle.c and write_batch.c directly. The verbs
 * (libshim/verbs) build on these headers and never touch sockets.
 */
#ifndef LIBSHIM_CLIENT_CLIENT_H
#define LIBSHIM_CLIENT_CLIENT_H

#include "emulator/engine.h"
#include "fabric/proto/calls.h"
#include "fabric/proto/proto.h"
#include "fabric/proto/seg_map.h"
#include "libshim/interpose/export.h"

/**
 * struct shim_client - this process as a client of its fabric.
 * @live: connected by this very process (a forked child starts anew)
 * @fatal: the fabric process has ended: verbs that need it fail with EIO, destroying succeeds
 * @clock: the fabric's clock: in HCA memory, or in the own segment when that is not mapped
 * @epoch: number of forks that led to this process. Objects of another epoch were inherited: their
 *	rings are zeroed private memory and their handles belong to the parent, so that they are
 *	freed without a command
 * @seg: the own segment's first mapping: its header. Rings: shim_seg_at()
 * @map: its mappings; the heap's lock
 * @fail_calls: in the own segment; without one a table of zeros, so that calls can always read it
 */
struct shim_client {
	bool live;
	bool fatal;
	bool isolated;
	u32 epoch;
	u32 id;
	u32 gen;
	struct hca *hca; /* NULL when isolated */
	struct seg_hdr *seg;
	struct seg_map map;
	const u64 *fail_calls;
	const struct hca_clock *clock;
	struct engine engine; /* direct mode only */
	struct proto_welcome welcome;
	int sock;
	int kick_fd;
};

/* --- client.c --- */

extern struct shim_client shim SHIM_HIDDEN;

/* Around fork() and while a client is made. */
void shim_client_lock(void);
void shim_client_unlock(void);
/**
 * shim_client_forked() - in a forked child: not connected; the parent's mappings become private.
 */
void shim_client_forked(void);

/* --- connect.c --- */

/**
 * shim_client_connect() - become a client. Idempotent, thread-safe. Return: 0, -errno (-ENOSYS: no
 * fabric).
 */
int shim_client_connect(void);
/** shim_client_start() - the same, and start the watcher thread. Return: 0 or -errno. */
int shim_client_start(void);

/* --- fork.c --- */

/** shim_fork_watch() - have children of fork() start anew. Idempotent; client lock held. */
int shim_fork_watch(void);

/** shim_seg_at() - the address of an offset in the own segment. */
static inline void *shim_seg_at(u64 off)
{
	return (char *)load_acquire(&shim.map.base) + off;
}

#endif
