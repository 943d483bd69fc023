/* SPDX-License-Identifier: MIT */
/**
 * DOC: fabric time, whose parameters the fabric process writes.
 *
 * Fabric time begins with the fabric, at what real time is then, so that fabric.started is a moment of both.
 * Processes, sockets and the engine's token go by real time (proto/real_time.h), all that the model does goes by
 * fabric time; the loop sleeps until the earlier of the two. Moving it by hand is server/clock_move.c's.
 */
#ifndef FABRIC_CORE_CLOCK_H
#define FABRIC_CORE_CLOCK_H

#include "emulator/types.h"

struct client;
struct fabric;
struct opts;

/** struct fabric_clock - settings of the clock; the clock itself is in HCA memory, struct hca_clock. */
struct fabric_clock {
	u32 ppm; /* speed while it runs, in millionths of real time */
	u32 ppm_start; /* speed that the fabric was started with */
	bool manual_start; /* the fabric was started with a clock that is moved by hand */
};

/** fabric_ns() - fabric time: emulator/clock.h. */
u64 fabric_ns(const struct fabric *f);
/** fabric_real_at() - real time at which fabric time will be @at, or NEVER. */
u64 fabric_real_at(const struct fabric *f, u64 at);
/** fabric_clock_start() - HCA memory exists: set the clock as the settings say. */
void fabric_clock_start(struct fabric *f, const struct opts *o);
/** fabric_clock_publish() - copy the clock into a new client's segment. */
void fabric_clock_publish(struct fabric *f, struct client *cl);
/** fabric_clock_set() - from now on the clock runs at @ppm, and its time is @at or later. */
void fabric_clock_set(struct fabric *f, u64 ppm, u64 at);

#endif
