/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command's side of the fabric's socket: connect, ask, start a fabric that is missing.
 */
#ifndef FABRIC_CTL_H
#define FABRIC_CTL_H

#include "fabric/opts.h"
#include "fabric/proto.h"
#include "fabric/statedir.h"

/* How long a command waits for an answer before it says that the fabric process is stuck. */
#define CTL_TIMEOUT_S 10

/** ctl_connect() - connect to a fabric's socket. Return: descriptor (close-on-exec) or -errno. */
int ctl_connect(const char *path);
/**
 * ctl_call() - send @m and receive the answer into it.
 * @fd: receives the descriptor that came with it, or -1; may be NULL
 * Return: the answer's ret; -EPIPE when the fabric hung up; -ETIMEDOUT; -errno.
 */
int ctl_call(int sock, struct proto_msg *m, int *fd);
/** ctl_call_fd() - likewise, descriptor @give goes with the question; it stays the caller's. */
int ctl_call_fd(int sock, struct proto_msg *m, int give);
/**
 * ctl_start() - be connected to the fabric, which is started if it is not running.
 * @stay: it shall not leave when its last program has gone
 * @m: receives the answer to PROTO_LEASE
 *
 * Takes a lease for the calling process. Safe against any number of others that do the same, and
 * against a fabric that is just leaving.
 * Return: the connected socket, or -1 after one line on stderr.
 */
int ctl_start(const struct opts *o, const struct fabric_paths *p, bool stay, struct proto_msg *m);
/**
 * spawn_fabric() - start the fabric process and wait until its socket is ready.
 * @lock: descriptor of the fabric's lock, held; the new process shares it until it is ready
 * @why: receives a line on failure
 * Return: 0 or -1.
 */
int spawn_fabric(const struct opts *o, const struct fabric_paths *p, bool stay, int lock, char *why,
		 size_t size);

#endif
