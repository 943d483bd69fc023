/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric's clock: how fabric time follows real time.
 *
 * Theory of operation
 * -------------------
 * Fabric time is what all of the model goes by: ACK timeouts, RNR waits, connection management,
 * links, timestamps. It is real time (CLOCK_MONOTONIC, ns), unless the fabric was told otherwise:
 * then it runs @ppm millionths as fast from the moment (@real, @fabric) on, or stands (@ppm 0) and
 * is moved by hand.
 *
 * The parameters lie in memory that programs have mapped: HCA memory, and each client's segment for
 * those who have no HCA memory. Only the fabric process writes them (fabric/core/clock.c). A reader
 * takes real time first and then reads @own: while it is 0, nothing more is read. @seq guards the
 * other fields: it is odd while the writer changes them. The writer makes @own or @seq visible
 * before it takes the real time that the new parameters begin with, so that fabric time never goes
 * back for anybody.
 */
#ifndef EMULATOR_CLOCK_H
#define EMULATOR_CLOCK_H

#include "emulator/types.h"

#define CLOCK_PPM     1000000u /* as fast as real time */
#define CLOCK_PPM_MIN 1000u
#define CLOCK_PPM_MAX 1000000000u

/**
 * struct hca_clock - see above. All zero: fabric time is real time.
 * @own: fabric time is given by what follows
 * @real, @fabric: a moment of real time, and what fabric time was then, ns
 * @ppm: fabric ns that pass in 1,000,000 ns; 0: it stands
 * @wall: what CLOCK_REALTIME was ahead of fabric time when the fabric began, ns, modulo 2^64. It
 *	never changes.
 */
struct hca_clock {
	u32 own;
	u32 seq;
	u64 real;
	u64 fabric;
	u64 ppm;
	u64 wall;
};

/** hca_clock_at_own() - fabric time at @real of a clock with @own. Never 0. */
u64 hca_clock_at_own(const struct hca_clock *c, u64 real);

/** hca_clock_at() - fabric time at @real, which was read before this is called. */
static inline u64 hca_clock_at(const struct hca_clock *c, u64 real)
{
	return likely(!load_acquire(&c->own)) ? real : hca_clock_at_own(c, real);
}

/**
 * hca_clock_wall() - the time of devices' real-time clocks, in ns since 1970: CLOCK_REALTIME, as if
 * something kept them synchronised to it, or the fabric's own time, which then needs to be
 * reproducible. @real: real time, read before this is called; @wall: CLOCK_REALTIME
 */
static inline u64 hca_clock_wall(const struct hca_clock *c, u64 real, u64 wall)
{
	return likely(!load_acquire(&c->own)) ? wall : hca_clock_at_own(c, real) + c->wall;
}

/**
 * hca_clock_real_at() - the real time at which fabric time will be @fabric if the clock keeps its
 * rate: @real if that has passed, ~0 if it never comes. @real: now. For the clock's writer.
 */
u64 hca_clock_real_at(const struct hca_clock *c, u64 fabric, u64 real);

/** hca_clock_span() - the fabric time that passes in @real ns. For the clock's writer. */
u64 hca_clock_span(const struct hca_clock *c, u64 real);

#endif
