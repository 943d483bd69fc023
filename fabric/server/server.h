/* SPDX-License-Identifier: MIT */
/** DOC: the state of the fabric process that only server/ knows. */
#ifndef FABRIC_SERVER_SERVER_H
#define FABRIC_SERVER_SERVER_H

#include "emulator/yield.h"
#include "fabric/common/opts.h"
#include "fabric/core/fabric.h"
#include "fabric/server/clock_move.h"
#include "fabric/server/conns.h"
#include "fabric/server/helper.h"
#include "fabric/server/idle.h"
#include "fabric/server/leases.h"
#include "fabric/server/work.h"

/** struct server - state of server/. All times are real time. */
struct server {
	const struct opts *opts; /* that the fabric was started with */
	struct watch listen;
	struct watch signals;
	int alive; /* the lock of fabric_paths.alive */
	int spare_fd; /* closed for a moment when no other descriptor is available */
	u32 n_cpus;
	struct crowd crowd; /* whether other processes keep the CPUs busy */
	struct leases leases;
	struct idle idle;
	struct work work;
	struct clock_move move;
	struct xfer xfer[MAX_XFERS];
};

/* --- loop.c --- */

/** server_listen() - bind the socket and watch it. Return: 0 or -errno. */
int server_listen(struct fabric *f);
/** server_loop() - serve until it is time to leave; then the lock is held. */
void server_loop(struct fabric *f);

#endif
