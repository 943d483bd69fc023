/* SPDX-License-Identifier: MIT */
/*
 * Values that a reader takes without a lock, and tries again if they changed meanwhile:
 * emulator/clock.c with fabric/core/clock.c, and the keys of libshim/memory/shadow.c, as they are.
 */
#include "emulator/limits.h"
#include "fabric/core/fabric.h"
#include "libshim/memory/shadow.h"
#include "tests/litmus/model.h"

#include <pthread.h>
#include <time.h>

/* The writer takes 6; a reader takes 5 for one attempt. */
#define STEPS 6u

/* --- the clock --- */

#define REAL	   1000u
#define FABRIC	   5000u
#define FABRIC_NEW 9000u
#define REAL_LATER 1010u

static struct hca hca;
static struct fabric fabric;
static u64 now;

/* Real time does not move: the times that a reader may see are few. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){ .tv_nsec = REAL };
	return 0;
}

static void clock_init(void)
{
	fabric.hca = &hca;
	fabric.clients.list = NULL;
	hca.clock =
		(struct hca_clock){ .own = 1, .real = REAL, .fabric = FABRIC, .ppm = CLOCK_PPM };
	now = 0;
}

static void clock_double(void)
{
	fabric_clock_set(&fabric, 2 * CLOCK_PPM, FABRIC_NEW);
}

static void clock_read(void)
{
	now = hca_clock_at_own(&hca.clock, REAL_LATER);
}

static bool is_time_of_one_setting(void)
{
	return now == FABRIC + 10 || now == FABRIC_NEW + 20;
}

/* --- keys --- */

#define LKEY (7u << 8 | 1)
#define PD   3u

static u64 shadow[8192];
static struct mr_known known;
static bool is_known;

/* The chunk of the table that shadow.c asks for, at the same address in each execution. */
void *model_calloc(size_t n, size_t size)
{
	return n * size <= sizeof(shadow) ? shadow : NULL;
}

/* There is one writer; an execution that is left would keep the lock. */
int pthread_mutex_lock(pthread_mutex_t *lock)
{
	(void)lock;
	return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	(void)lock;
	return 0;
}

void shim_valgrind_exclude(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

static void keys_init(void)
{
	shim_mr_shadow_set(LKEY, PD, 1, 0x1000, 0x1000, 0x100);
	is_known = false;
}

static void keys_change(void)
{
	shim_mr_shadow_set(LKEY + 1, PD + 1, 2, 0x2000, 0x2000, 0x200);
}

static void keys_read(void)
{
	is_known = shim_mr_shadow_get(LKEY, &known);
}

static bool is_one_region(void)
{
	u64 nth = known.key - LKEY + 1;

	return !is_known ||
	       (known.pd == PD + nth - 1 && known.access == nth && known.addr == nth * 0x1000 &&
		known.iova == known.addr && known.len == nth * 0x100);
}

static const struct litmus_test clock_test = {
	"a reader of the clock sees one setting, while it changes",
	clock_init,
	{ clock_double, clock_read },
	is_time_of_one_setting,
};

static const struct litmus_test keys_test = {
	"a reader of a key sees one region, or none, while it changes",
	keys_init,
	{ keys_change, keys_read },
	is_one_region,
};

int main(void)
{
	bool good = litmus_run_bounded(&clock_test, STEPS);

	return !(litmus_run(&keys_test) && good);
}
