/* SPDX-License-Identifier: MIT */
/**
 * DOC: see wait.h.
 *
 * A stop ends a wait in the kernel, and the handler makes the thread begin it again (call.h). The
 * arguments of poll(2) and epoll_wait(2) do not tell how much of the time is over. So wrappers note
 * when a wait ends, per thread. A signal handler of the program may wait as well meanwhile.
 *
 * Sleeps need only a place where the kernel stores the rest of their time. It is never the
 * program's, which is written to only if the sleep has ended early.
 */
#include "libshim/lend/wait.h"

#include "libshim/interpose/interpose.h"
#include "libshim/interpose/syscall.h"
#include "libshim/lend/threads.h"

#include <sys/epoll.h>

#define NS_PER_MS 1000000u

HOOK_AS(int, timed_poll, "poll", struct pollfd *fds, nfds_t n, int timeout);
HOOK_AS(int, timed_poll_chk, "__poll_chk", struct pollfd *fds, nfds_t n, int timeout, size_t size);
HOOK_AS(int, timed_epoll_wait, "epoll_wait", int epfd, struct epoll_event *events, int max,
	int timeout);
HOOK_AS(int, timed_epoll_pwait, "epoll_pwait", int epfd, struct epoll_event *events, int max,
	int timeout, const sigset_t *mask);

HOOK_AS(int, timed_nanosleep, "nanosleep", const struct timespec *time, struct timespec *rest);
HOOK_AS(int, timed_clock_nanosleep, "clock_nanosleep", clockid_t clock, int flags,
	const struct timespec *time, struct timespec *rest);
HOOK_AS(int, timed_usleep, "usleep", useconds_t us);

/** struct timed_wait - the wait of a thread. @end: 0: none, or one without a limit */
struct timed_wait {
	u64 object;
	u64 end;
	s32 timeout_ms;
};

static __thread struct timed_wait wait_now __attribute__((tls_model("initial-exec")));

/* Return: what wait_end() is called with. */
static struct timed_wait wait_begin(u64 object, s32 timeout_ms)
{
	struct timed_wait before = wait_now;

	store_relaxed(&wait_now.end, 0);
	if (timeout_ms <= 0 || !lend_can_stop())
		return before;
	wait_now.object = object;
	wait_now.timeout_ms = timeout_ms;
	store_relaxed(&wait_now.end, sys_now() + (u64)(u32)timeout_ms * NS_PER_MS);
	return before;
}

static void wait_end(const struct timed_wait *before)
{
	store_relaxed(&wait_now.end, 0);
	wait_now.object = before->object;
	wait_now.timeout_ms = before->timeout_ms;
	store_relaxed(&wait_now.end, before->end);
}

s32 lend_wait_rest(u64 object, s32 timeout_ms)
{
	struct timed_wait *w = &wait_now;
	u64 now, rest_ms;

	if (!w->end || w->object != object || w->timeout_ms != timeout_ms)
		return timeout_ms;
	now = sys_now();
	/* Never early. */
	rest_ms = now < w->end ? (w->end - now + NS_PER_MS - 1) / NS_PER_MS : 0;
	w->timeout_ms = (s32)min_u64(rest_ms, (u64)(u32)timeout_ms);
	return w->timeout_ms;
}

/*
 * The thread may be cancelled in these calls, and @wait_now stays what it is. A jump out of a
 * handler leaves it, too: the next wait has other arguments, or sets it anew.
 */
int timed_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct timed_wait before = wait_begin((uintptr_t)fds, timeout);
	int ret = next_of_hook(timed_poll, "poll")(fds, n, timeout);

	wait_end(&before);
	return ret;
}

/* poll() of programs that are built with _FORTIFY_SOURCE. */
int timed_poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	struct timed_wait before = wait_begin((uintptr_t)fds, timeout);
	int ret = next_of_hook(timed_poll_chk, "__poll_chk")(fds, n, timeout, size);

	wait_end(&before);
	return ret;
}

int timed_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	struct timed_wait before = wait_begin((u64)(u32)epfd, timeout);
	int ret = next_of_hook(timed_epoll_wait, "epoll_wait")(epfd, events, max, timeout);

	wait_end(&before);
	return ret;
}

int timed_epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		      const sigset_t *mask)
{
	struct timed_wait before = wait_begin((u64)(u32)epfd, timeout);
	int ret = next_of_hook(timed_epoll_pwait, "epoll_pwait")(epfd, events, max, timeout, mask);

	wait_end(&before);
	return ret;
}

int timed_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			  struct timespec *rest)
{
	struct timespec left = { 0 };
	int ret = next_of_hook(timed_clock_nanosleep, "clock_nanosleep")(clock, flags, time, &left);

	if (ret == EINTR && rest && !(flags & TIMER_ABSTIME))
		*rest = left;
	return ret;
}

int timed_nanosleep(const struct timespec *time, struct timespec *rest)
{
	struct timespec left = { 0 };
	int ret = next_of_hook(timed_nanosleep, "nanosleep")(time, &left);

	if (ret && errno == EINTR && rest)
		*rest = left;
	return ret;
}

int timed_usleep(useconds_t us)
{
	const struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };

	return timed_nanosleep(&time, NULL);
}
