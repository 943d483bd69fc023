/* SPDX-License-Identifier: MIT */
/**
 * DOC: what lending may cost a program that has not asked for it.
 *
 * Lent memory pays when it is used often after it was registered, which nobody knows in advance. So
 * the CPU time that exchanges take is bounded: to what nobody notices at a program's start, and to
 * a share of the time since then. A program that registers other memory for each transfer soon
 * has nothing lent. When the time is used up amidst a region, the rest of it stays where it is.
 *
 * The bounds of a region's size, and of all that is lent, are about what follows: each page of a
 * memory file is faulted in by itself, where private memory has huge pages, and a fork copies what
 * is lent.
 */
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#include "libshim/interpose/syscall.h"

#include <time.h>

#define REGION_BYTES (64u << 20)
#define ALL_BYTES    (256u << 20)
#define FREE_NS	     50000000u
#define SHARE	     100u /* 1 of so many ns */

static u64 spent_ns;
static u64 first_ns; /* when the first region was registered */
static u64 began_ns; /* CPU time of this thread when the exchange that is under way began */
static u32 nested;

static u64 cost_cpu_ns(void)
{
	struct timespec ts;

	/* A system call, for nothing if the program lends whatever it costs. */
	if (lend_is_asked() || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void lent_cost_begin(void)
{
	if (!nested++)
		began_ns = cost_cpu_ns();
}

void lent_cost_end(void)
{
	if (!--nested)
		spent_ns += cost_cpu_ns() - began_ns;
}

static bool cost_has_time(u64 spent)
{
	return spent < FREE_NS + (sys_now() - first_ns) / SHARE;
}

static bool cost_has_room(u64 bytes)
{
	u32 i;

	for (i = 0; i < lent_range_count(); i++)
		bytes += lent_range_at(i)->len;
	return bytes <= ALL_BYTES;
}

bool lent_cost_is_bearable(u64 bytes)
{
	if (!first_ns)
		first_ns = sys_now();
	return lend_is_asked() ||
	       (bytes <= REGION_BYTES && cost_has_time(spent_ns) && cost_has_room(bytes));
}

bool lent_cost_may_go_on(void)
{
	return lend_is_asked() || cost_has_time(spent_ns + cost_cpu_ns() - began_ns);
}

void lent_cost_forget(void)
{
	spent_ns = first_ns = 0;
}
