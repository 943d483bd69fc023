/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the command that starts the fabric process hands over to it: fabric/cli/spawn.c
 * prepares it, fabric/server/daemon.c finds it.
 */
#ifndef FABRIC_COMMON_DAEMON_START_H
#define FABRIC_COMMON_DAEMON_START_H

/* Not for users: what `rdmaemu` is called with to be the fabric process. */
#define DAEMON_VERB "fabric-process"

/* Set for a fabric whose journal is not kept: that of `rdmaemu doctor`. */
#define DAEMON_NO_JOURNAL_ENV "RDMAEMU_DOCTOR_PROBE"

/** Descriptors that the fabric process starts with, beside 0, 1 (/dev/null) and 2 (its log). */
enum daemon_fd {
	DAEMON_FD_READY = 3, /* pipe to the starter: DAEMON_READY, or why not */
	DAEMON_FD_LOCK = 4, /* shared hold of the lock, closed when ready */
	DAEMON_FD_END,
};

#define DAEMON_READY '\n'
#define DAEMON_BUT   '+' /* before DAEMON_READY: a line that the starter is to print */

#endif
