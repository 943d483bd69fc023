/* SPDX-License-Identifier: MIT */
/**
 * DOC: the entry of the fabric process; fabric/cli/spawn.c prepares what it finds.
 */
#ifndef FABRIC_SERVER_DAEMON_H
#define FABRIC_SERVER_DAEMON_H

#include "fabric/common/daemon_start.h"
#include "fabric/common/opts.h"

struct fabric;
/** starter_report_ready() - the starter may go on. Once. @but: what its user should know, or NULL */
void starter_report_ready(struct fabric *f, const char *but);
/** starter_report_failure() - the starter is told why there is no fabric. */
void starter_report_failure(struct fabric *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** daemon_main() - be the fabric process. @o: its settings; stays when no linger was given. */
int daemon_main(const struct opts *o);

#endif
