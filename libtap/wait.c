/* SPDX-License-Identifier: MIT */
/*
 * Waits of the program for descriptors, by poll(2) and epoll_wait(2): most programs wait so for the
 * channels of events, and read the event later. Only waits without a timeout are shown, as others
 * end by themselves.
 *
 * Threads that have made no call of the API pass: among them are those of the library below.
 */
#include "libshim/interpose/interpose.h"
#include "libtap/process.h"

#include <poll.h>
#include <sys/epoll.h>

HOOK(int, poll, struct pollfd *fds, nfds_t n, int timeout);
HOOK(int, ppoll, struct pollfd *fds, nfds_t n, const struct timespec *timeout,
     const sigset_t *mask);
HOOK(int, epoll_wait, int epfd, struct epoll_event *events, int max, int timeout);
HOOK(int, epoll_pwait, int epfd, struct epoll_event *events, int max, int timeout,
     const sigset_t *mask);

static __typeof__(&hook_poll) wait_next_poll(void)
{
	return libc_next(poll);
}

static __typeof__(&hook_ppoll) wait_next_ppoll(void)
{
	return libc_next(ppoll);
}

static __typeof__(&hook_epoll_wait) wait_next_epoll_wait(void)
{
	return libc_next(epoll_wait);
}

static __typeof__(&hook_epoll_pwait) wait_next_epoll_pwait(void)
{
	return libc_next(epoll_pwait);
}

/* A handler of a signal may wait, and must not call dlsym(). */
static __attribute__((constructor)) void wait_look_up(void)
{
	wait_next_poll();
	wait_next_ppoll();
	wait_next_epoll_wait();
	wait_next_epoll_pwait();
}

static inline __attribute__((always_inline)) void wait_show(const struct pollfd *fds, size_t n)
{
	int saved = errno;

	if (tap_thread.epoch != load_acquire(&tap.live) || !tap_enter())
		return;
	TAP_EACH(wait, fds, n);
	tap_leave();
	errno = saved;
}

int hook_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (timeout < 0)
		wait_show(fds, n);
	return wait_next_poll()(fds, n, timeout);
}

int hook_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	if (!timeout)
		wait_show(fds, n);
	return wait_next_ppoll()(fds, n, timeout, mask);
}

int hook_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	const struct pollfd fd = { .fd = epfd };

	if (timeout < 0)
		wait_show(&fd, 1);
	return wait_next_epoll_wait()(epfd, events, max, timeout);
}

int hook_epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		     const sigset_t *mask)
{
	const struct pollfd fd = { .fd = epfd };

	if (timeout < 0)
		wait_show(&fd, 1);
	return wait_next_epoll_pwait()(epfd, events, max, timeout, mask);
}
