/* SPDX-License-Identifier: MIT */
/**
 * DOC: signals of the program that come while a thread is stopped.
 *
 * They stay blocked until the handler of LEND_SIGNAL returns. One that was sent to the process may
 * be any thread's that does not block it. So a thread that finds one takes it, and sends it to
 * itself: then no other thread's call ends.
 */
#include "libshim/lend/call.h"

#ifdef __x86_64__

#include "libshim/interpose/syscall.h"
#include "libshim/lend/threads.h"

#include <string.h>

/* struct sigaction of the kernel */
struct action {
	u64 handler;
	u64 flags;
	u64 restorer;
	u64 mask;
};

/* libc's own: no program waits for them. */
#define LIBC_SIGNALS (BIT64(32 - 1) | BIT64(33 - 1))

/* The signals that are pending, and that the program does not block. */
static u64 signals_due(const ucontext_t *uc)
{
	u64 pending = 0, blocked;

	memcpy(&blocked, &uc->uc_sigmask, sizeof(blocked));
	if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)))
		return 0;
	return pending & ~blocked & ~LIBC_SIGNALS & ~BIT64(LEND_SIGNAL - 1);
}

/* Make a pending signal this thread's. Return: false: another thread has it. */
static bool signal_take(int sig)
{
	const struct timespec now = { 0 };
	u64 set = BIT64(sig - 1);
	siginfo_t info;

	if (SYS_RET(syscall(SYS_rt_sigtimedwait, &set, &info, &now, sizeof(set))) != sig)
		return false;
	(void)syscall(SYS_rt_tgsigqueueinfo, sys_getpid(), syscall(SYS_gettid), sig, &info);
	return true;
}

bool signal_is_due(const ucontext_t *uc, bool *restarts)
{
	u64 due = signals_due(uc);
	struct action act;
	int sig;

	for (; due; due &= due - 1) {
		sig = __builtin_ctzll(due) + 1;
		/* A signal that the program ignores ends no call. */
		if (syscall(SYS_rt_sigaction, sig, NULL, &act, sizeof(act.mask)) ||
		    act.handler == (uintptr_t)SIG_DFL || act.handler == (uintptr_t)SIG_IGN)
			continue;
		*restarts = act.flags & SA_RESTART;
		if (signal_take(sig))
			return true;
	}
	return false;
}

#endif
