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
/** ctl_check_files() - check the files that the options name. Return: 0, or -1 after one line. */
int ctl_check_files(const struct opts *o);
/**
 * ctl_check_running() - check that a fabric is what the options ask for.
 * @profile, @topology: hashes of those that the options name
 * @m: answer to PROTO_LEASE
 * Return: 0, or -1 after one line on stderr.
 */
int ctl_check_running(const struct opts *o, u64 profile, u64 topology, const struct proto_msg *m);
/**
 * spawn_fabric() - start the fabric process and wait until its socket is ready.
 * @lock: descriptor of the fabric's lock, held; the new process shares it until it is ready
 * @why: receives a line on failure, or is empty: the process died
 * Return: 0 or -1.
 */
int spawn_fabric(const struct opts *o, const struct fabric_paths *p, bool stay, int lock, char *why,
		 size_t size);

#endif
