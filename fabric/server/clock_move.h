/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu clock`: the fabric's clock shown, stopped and moved ahead by hand. See clock_move.c. */
#ifndef FABRIC_SERVER_CLOCK_MOVE_H
#define FABRIC_SERVER_CLOCK_MOVE_H

#include "fabric/core/fabric.h"

/** struct clock_move - the clock on its way ahead, by hand. */
struct clock_move {
	u64 to; /* fabric time; 0: it is not moved */
	struct conn *conn; /* who has asked and waits; NULL: it has closed */
	u64 since; /* real time at which the clock got where it is */
	u32 passes; /* of the engine since then */
};

/** fabric_clock_request() - PROTO_CLOCK. Return: 0, -EINPROGRESS: answered later; -errno. */
int fabric_clock_request(struct fabric *f, struct conn *c, struct proto_msg *m);
/** fabric_clock_work() - move it ahead if that was asked for. Return: real time to come back at, or NEVER. */
u64 fabric_clock_work(struct fabric *f);
/** fabric_clock_conn_closed() - a connection is closed. */
void fabric_clock_conn_closed(struct fabric *f, const struct conn *c);

#endif
