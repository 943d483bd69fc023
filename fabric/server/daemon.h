/* SPDX-License-Identifier: MIT */
/**
 * DOC: the entry of the fabric process; fabric/cli/spawn.c prepares what it finds.
 */
#ifndef FABRIC_SERVER_DAEMON_H
#define FABRIC_SERVER_DAEMON_H

#include "fabric/common/opts.h"

/**
 * daemon_main() - run the fabric process. @o: its settings; without a linger it stays until it is
 * stopped.
 */
int daemon_main(const struct opts *o);

#endif
