/* SPDX-License-Identifier: MIT */
/**
 * DOC: fabric time from real time and back: see clock.h.
 */
#include "emulator/clock.h"
#include "emulator/backoff.h"

#define NAPS   50000u
#define NAP_NS 50000u

/*
 * The writer is changing the clock, and may have lost its CPU half way: the values are
 * inconsistent. A reader waits only once for a writer that died half way: its fabric is gone.
 */
static bool wait_written(u32 seq, u32 tries)
{
	static u32 dead; /* of the seq that it left */

	if (tries >= REST_SPINS && load_relaxed(&dead) == seq && seq & 1)
		return false;
	if (tries < REST_SPINS + NAPS) {
		backoff_wait(tries, NAP_NS);
		return true;
	}
	store_relaxed(&dead, seq);
	return false;
}

static u64 clock_scale(u64 ns, u64 times, u64 by)
{
	unsigned __int128 v = (unsigned __int128)ns * times / by;

	return v > ~0ULL ? ~0ULL : (u64)v;
}

u64 hca_clock_at_own(const struct hca_clock *c, u64 real)
{
	u64 from, fabric, ppm;
	u32 seq, i = 0;

	do {
		seq = load_acquire(&c->seq);
		from = load_relaxed(&c->real);
		fabric = load_relaxed(&c->fabric);
		ppm = load_relaxed(&c->ppm);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (((seq & 1) || load_relaxed(&c->seq) != seq) && wait_written(seq, i++));
	/* Real time may have been taken before the clock was changed. */
	return real <= from ? fabric : fabric + clock_scale(real - from, ppm, CLOCK_PPM);
}

u64 hca_clock_real_at(const struct hca_clock *c, u64 fabric, u64 real)
{
	u64 wait;

	if (!c->own || fabric == ~0ULL)
		return fabric;
	if (fabric <= c->fabric)
		return min_u64(c->real, real);
	if (!c->ppm)
		return ~0ULL;
	wait = clock_scale(fabric - c->fabric, CLOCK_PPM, c->ppm);
	/* Rounded up: by then it has come. */
	return wait >= ~0ULL - c->real ? ~0ULL : c->real + wait + 1;
}

u64 hca_clock_span(const struct hca_clock *c, u64 real)
{
	return c->own ? clock_scale(real, c->ppm, CLOCK_PPM) : real;
}
