/* SPDX-License-Identifier: MIT */
/**
 * DOC: the entry of the fabric process; fabric/cli/spawn.c prepares what it finds.
 */
#ifndef FABRIC_SERVER_DAEMON_H
#define FABRIC_SERVER_DAEMON_H

#include "fabric/common/opts.h"

/* Not for users: what `rdmaemu` is called with to be the fabric process. */
#define DAEMON_VERB "fabric-process"

/** Descriptors that the fabric process starts with, beside 0, 1 (/dev/null) and 2 (its log). */
enum daemon_fd {
	DAEMON_FD_READY = 3, /* pipe to the starter: DAEMON_READY, or why not */
	DAEMON_FD_LOCK = 4, /* shared hold of the lock, closed when ready */
	DAEMON_FD_END,
};

#define DAEMON_READY '\n'
#define DAEMON_BUT   '+' /* before DAEMON_READY: a line that the starter is to print */

struct fabric;
/** starter_report_ready() - the starter may go on. Once. @but: what its user should know, or NULL */
void starter_report_ready(struct fabric *f, const char *but);
/** starter_report_failure() - the starter is told why there is no fabric. */
void starter_report_failure(struct fabric *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** daemon_main() - be the fabric process. @o: its settings; stays when no linger was given. */
int daemon_main(const struct opts *o);

#endif
