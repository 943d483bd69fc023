/* SPDX-License-Identifier: MIT */
/*
 * A preloaded gettimeofday(2) for perftest. perftest calibrates its clock before each size of
 * messages: for 0.2 s it calls gettimeofday() in a loop, on both sides, and so takes the CPU from
 * all other tests that run at the time. This one sleeps in that loop; the time that it returns is
 * the true one.
 *
 * perftest notes the start of an interval in one variable and polls for its end with another, and
 * between the former and the loop nothing may take time. So a call sleeps only when it follows at
 * once upon a call for the same variable.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#define LOOP_NS 20000 /* a caller that comes back within this time polls */
#define NAP_NS	100000 /* as long as perftest's shortest interval */

static long long monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv,
							void *restrict tz)
{
	static __thread const struct timeval *last;
	static __thread long long last_ns;
	static int (*real)(struct timeval *, void *);
	int ret;

	if (!real)
		real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
	if (tv == last && monotonic_ns() - last_ns < LOOP_NS)
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	ret = real(tv, tz);
	last = tv;
	last_ns = monotonic_ns();
	return ret;
}
