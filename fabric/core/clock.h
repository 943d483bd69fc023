/* SPDX-License-Identifier: MIT */
/**
 * DOC: fabric time, whose parameters the fabric process writes.
 *
 * Fabric time begins with the fabric, with the value of real time, so fabric.started is a moment of
 * both. Processes, sockets and the engine's token go by real time (proto/real_time.h), the model by
 * fabric time; the loop sleeps until the earlier deadline of the two. server/clock_move.c moves
 * fabric time by hand.
 */
#ifndef FABRIC_CORE_CLOCK_H
#define FABRIC_CORE_CLOCK_H

#include "emulator/types.h"

struct client;
struct fabric;
struct opts;

/**
 * struct fabric_clock - settings of the clock. The clock itself is struct hca_clock, in HCA memory.
 */
struct fabric_clock {
	u32 ppm; /* speed while it runs, in millionths of real time */
	u32 ppm_start; /* speed that the fabric was started with */
	bool manual_start; /* the fabric was started with a clock that is moved by hand */
};

/** fabric_ns() - fabric time: emulator/clock.h. */
u64 fabric_ns(const struct fabric *f);
/** fabric_wall() - the time of devices' real-time clocks: hca_clock_wall(). */
u64 fabric_wall(const struct fabric *f);
/** fabric_real_at() - real time at which fabric time will be @at, or NEVER. */
u64 fabric_real_at(const struct fabric *f, u64 at);
/** fabric_clock_start() - set the clock as the settings say. HCA memory exists. */
void fabric_clock_start(struct fabric *f, const struct opts *o);
/** fabric_clock_publish() - copy the clock into a new client's segment. */
void fabric_clock_publish(struct fabric *f, struct client *cl);
/** fabric_clock_set() - from now on the clock runs at @ppm, and its time is @at or later. */
void fabric_clock_set(struct fabric *f, u64 ppm, u64 at);

#endif
