/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu clock`: show, stop, run and advance the fabric's clock. See clock_move.c. */
#ifndef FABRIC_SERVER_CLOCK_MOVE_H
#define FABRIC_SERVER_CLOCK_MOVE_H

#include "fabric/core/fabric.h"

/** struct clock_move - an advance that is in progress. */
struct clock_move {
	u64 to; /* fabric time; 0: it is not moved */
	struct conn *conn; /* connection that waits for the answer; NULL: it has closed */
	u64 since; /* real time at which the clock was set to its current time */
	u32 passes; /* of the engine since then */
};

/** fabric_clock_request() - PROTO_CLOCK. Return: 0, -EINPROGRESS: answered later; -errno. */
int fabric_clock_request(struct fabric *f, struct conn *c, struct proto_msg *m);
/**
 * fabric_clock_work() - go on with an advance, if there is one.
 * Return: real time to come back at, or NEVER.
 */
u64 fabric_clock_work(struct fabric *f);
/** fabric_clock_conn_closed() - a connection is closed. */
void fabric_clock_conn_closed(struct fabric *f, const struct conn *c);

#endif
