/* SPDX-License-Identifier: MIT */
/**
 * DOC: what lending may cost a program that has not asked for it.
 *
 * Lent memory pays when it is used often after it was registered, which nobody knows in advance. So
 * the CPU time that exchanges take is bounded: to what nobody notices at a program's start, and to
 * a share of the time since then. A program that registers other memory for each transfer soon
 * has nothing lent.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#include "libshim/interpose/syscall.h"

#include <time.h>

#define REGION_BYTES (4u << 20) /* more would take longer than the program's start */
#define FREE_NS	     20000000u
#define SHARE	     100u /* 1 of so many ns */

static u64 spent_ns;
static u64 first_ns; /* when the first region was registered */

u64 lent_cost_begin(void)
{
	struct timespec ts;

	/* A system call, for nothing if the program lends whatever it costs. */
	if (lend_is_asked() || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void lent_cost_end(u64 begin)
{
	spent_ns += lent_cost_begin() - begin;
}

bool lent_cost_is_bearable(u64 bytes)
{
	u64 now = sys_now();

	if (!first_ns)
		first_ns = now;
	return lend_is_asked() ||
	       (bytes <= REGION_BYTES && spent_ns < FREE_NS + (now - first_ns) / SHARE);
}

void lent_cost_forget(void)
{
	spent_ns = first_ns = 0;
}
