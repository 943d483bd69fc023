/* SPDX-License-Identifier: MIT */
/**
 * DOC: clock_gettime() of a device's PTP hardware clock.
 *
 * A program opens /dev/ptpN and makes a clock of the descriptor: its complement, shifted left by
 * three bits, with the mark CLOCKFD (clock_gettime(2), "Dynamic clocks"). The node of an emulated
 * device is a plain file (fabric/nodes/sysfs.c), and the kernel refuses the clock with EINVAL. It
 * is known by the descriptor's file, so that copies of the descriptor and those of a parent process
 * serve as well. Its time is CLOCK_REALTIME, as if phc2sys(8) kept the clock synchronised.
 *
 * Other clocks pay one comparison.
 *
 * Sanitizers' runtimes ask for the time while they start, when they cannot serve what dlsym()
 * allocates. So the library's constructor looks up the next definition. Until then the kernel gives
 * the time.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/path.h"

#include "fabric/proto/env.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CLOCKFD	     3
#define CLOCKFD_MASK 7

HOOK(int, clock_gettime, clockid_t clock, struct timespec *now);

static void *next; /* NULL: not looked up yet */

void clock_gettime_look_up(void)
{
	next_symbol_resolve(&next, "clock_gettime");
}

static inline int clock_gettime_next(clockid_t clock, struct timespec *now)
{
	void *fn = load_acquire(&next);

	return likely(fn) ? ((__typeof__(&hook_clock_gettime))fn)(clock, now)
			  : (int)syscall(SYS_clock_gettime, clock, now);
}

/* Whether @fd is open on the node of an emulated device's clock. */
static bool is_ptp_node(int fd)
{
	static const char dir[] = "/dev/" PROTO_PTP_NAME;
	char link[32], to[PATH_MAX];
	const char *name;
	int saved = errno;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, to, sizeof(to) - 1);
	errno = saved;
	if (n < 0)
		return false;
	to[n] = '\0';
	name = strrchr(to, '/');
	if (!name || name - to < 4)
		return false;
	name -= 4;
	if (strncmp(name, dir, sizeof(dir) - 1) != 0)
		return false;
	name += sizeof(dir) - 1;
	return name[strspn(name, "0123456789")] == '\0';
}

static __attribute__((noinline)) int clock_gettime_of_fd(clockid_t clock, struct timespec *now)
{
	size_t len;

	if (path_root(&len) && is_ptp_node(~(clock >> 3)))
		clock = CLOCK_REALTIME;
	return clock_gettime_next(clock, now);
}

int hook_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (unlikely(clock < 0 && (clock & CLOCKFD_MASK) == CLOCKFD))
		return clock_gettime_of_fd(clock, now);
	return clock_gettime_next(clock, now);
}
