/* SPDX-License-Identifier: MIT */
/** DOC: the command's side of the fabric: connect to it, and start it if it is not running. */
#ifndef FABRIC_CLI_CONTROL_H
#define FABRIC_CLI_CONTROL_H

#include "fabric/proto/control_call.h"
#include "fabric/common/opts.h"
#include "fabric/proto/state_dir.h"

/**
 * ctl_start() - connect to the fabric, and start it if it is not running.
 * @flags: PROTO_F_STAY, PROTO_F_KEEP
 * @run: number of the caller's run; 0: none
 * @m: receives the answer to PROTO_LEASE
 *
 * Takes a lease for the calling process. A fabric that has served its programs leaves, and another
 * one is started: see server/leases.c. Safe against any number of other processes that do the
 * same, and against a fabric that is leaving.
 * Return: the connected socket, or -1 after one line on stderr.
 */
int ctl_start(const struct opts *o, const struct fabric_paths *p, u32 flags, u32 run,
	      struct proto_msg *m);
/**
 * spawn_fabric() - start the fabric process and wait until its socket is ready.
 * @lock: descriptor of the fabric's lock, held; the new process shares it until it is ready
 * @why: receives a line on failure
 * Return: 0 or -1.
 */
int spawn_fabric(const struct opts *o, const struct fabric_paths *p, bool stay, int lock, char *why,
		 size_t size);

#endif
