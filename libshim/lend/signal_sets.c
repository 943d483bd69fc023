/* SPDX-License-Identifier: MIT */
/**
 * DOC: functions of libc that get a set of signals: LEND_SIGNAL is never in it.
 *
 * Programs fill a set, block it, and wait for all that is in it by sigwait() or signalfd(). If they
 * blocked LEND_SIGNAL, their threads could not be stopped. If they waited for it, they would get a
 * signal that nobody has sent to them. libc protects its own signals in the same way.
 *
 * The kernel shows a pending signal to poll(2) of a signalfd() before it runs the handler, so the
 * set must not have it in any thread, asleep or not.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/syscall.h"
#include "libshim/lend/threads.h"

#include <string.h>
#include <sys/signalfd.h>

HOOK(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *old);
HOOK(int, sigprocmask, int how, const sigset_t *set, sigset_t *old);
HOOK(int, sigwait, const sigset_t *set, int *sig);
HOOK(int, sigwaitinfo, const sigset_t *set, siginfo_t *info);
HOOK(int, sigtimedwait, const sigset_t *set, siginfo_t *info, const struct timespec *limit);
HOOK(int, signalfd, int fd, const sigset_t *set, int flags);

/* A system call, as in libc: signal handlers call this, too. Return: 0 or -errno. */
static int signal_mask(int how, const sigset_t *set, sigset_t *old)
{
	const u64 libc_own = BIT64(32 - 1) | BIT64(33 - 1);
	u64 mask = 0;

	if (set)
		memcpy(&mask, set, sizeof(mask));
	if (set && how != SIG_UNBLOCK) {
		mask &= ~libc_own;
		if (lend_can_stop())
			mask &= ~BIT64(LEND_SIGNAL - 1);
	}
	return (int)SYS_RET(
		syscall(SYS_rt_sigprocmask, (long)how, set ? &mask : NULL, old, sizeof(mask)));
}

int hook_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int saved = errno, ret = signal_mask(how, set, old);

	errno = saved;
	return -ret;
}

int hook_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return signal_mask(how, set, old) ? -1 : 0;
}

/* Return: @set, or @copy: the same without LEND_SIGNAL. */
static const sigset_t *set_without_signal(const sigset_t *set, sigset_t *copy)
{
	if (!set || !lend_can_stop())
		return set;
	*copy = *set;
	sigdelset(copy, LEND_SIGNAL);
	return copy;
}

int hook_sigwait(const sigset_t *set, int *sig)
{
	sigset_t copy;

	return libc_next(sigwait)(set_without_signal(set, &copy), sig);
}

int hook_sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	sigset_t copy;

	return libc_next(sigwaitinfo)(set_without_signal(set, &copy), info);
}

int hook_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	sigset_t copy;

	return libc_next(sigtimedwait)(set_without_signal(set, &copy), info, limit);
}

int hook_signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;

	return libc_next(signalfd)(fd, set_without_signal(set, &copy), flags);
}
