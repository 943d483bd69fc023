/* SPDX-License-Identifier: MIT */
/*
 * Faults of memory whose rights a user of the tap has taken away. A handler for SIGSEGV stands
 * before the program's own, which gets all other faults, as if it was the only one: sigaction(2)
 * and its siblings are wrapped from then on.
 *
 * - A fault in a call of the API is the library's: the device of an emulator copies by the
 *   program's addresses. So is one of a thread that the library has made.
 * - The user may give the rights back while a thread is about to fault: then the mapping allows the
 *   access by now.
 *
 * The kernel kills a thread that faults with the signal blocked, so programs do not block it.
 *
 * A user may want to know when the instruction has passed that had faulted: the CPU then raises
 * SIGTRAP after it. A handler for that one stands before the program's own, too.
 */
#include "libtap/memory_use.h"
#include "libtap/process.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

TAP_HOOK(int, sigaction, int sig, const struct sigaction *act, struct sigaction *old);
TAP_HOOK(int, __sigaction, int sig, const struct sigaction *act, struct sigaction *old);
TAP_HOOK(sighandler_t, signal, int sig, sighandler_t handler);
TAP_HOOK(sighandler_t, bsd_signal, int sig, sighandler_t handler);
TAP_HOOK(sighandler_t, sysv_signal, int sig, sighandler_t handler);
TAP_HOOK(sighandler_t, __sysv_signal, int sig, sighandler_t handler);
TAP_HOOK(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *old);
TAP_HOOK(int, sigprocmask, int how, const sigset_t *set, sigset_t *old);

#define FAULT_FRAMES 24

#define FAULT_TRAP_FLAG 0x100 /* of EFLAGS: raise SIGTRAP after the next instruction */

/* struct fault_signal - @state: 0: no handler yet, 1: it is being installed, 2: it is there */
struct fault_signal {
	u32 state;
	struct sigaction program;
};

/*
 * struct fault_thread - @steps: one instruction; @blocked: SIGTRAP was
 * @held: a SIGTRAP of the program has come meanwhile, which is blocked: @info
 */
struct fault_thread {
	bool steps;
	bool blocked;
	bool held;
	siginfo_t info;
};

static bool is_expected;
static struct fault_signal fault_segv, fault_trap;
static __thread struct fault_thread fault_thread __attribute__((tls_model("initial-exec")));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- whose fault it is --- */

static bool fault_is_write(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return uc->uc_mcontext.gregs[REG_ERR] & 2;
#elif defined(__aarch64__)
	const struct _aarch64_ctx *head = (const void *)uc->uc_mcontext.__reserved;

	for (; head->magic; head = (const void *)((const u8 *)head + head->size))
		if (head->magic == ESR_MAGIC)
			return ((const struct esr_context *)(const void *)head)->esr >> 6 & 1;
	return true;
#else
	return true;
#endif
}

static void *fault_place(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (void *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)(uintptr_t)uc->uc_mcontext.pc;
#else
	return NULL;
#endif
}

/* Whether a thread that has made no call of the API runs code of a library below. */
static bool fault_is_below(void)
{
	static const char *const libs[] = { "librdmaemu", "libibverbs", "librdmacm", "-rdmav" };
	void *frame[FAULT_FRAMES];
	int n = backtrace(frame, ARRAY_SIZE(frame)), i;
	Dl_info info;
	size_t k;

	/* The first frames are those of the handler, in the tap itself. */
	for (i = 3; i < n; i++)
		for (k = 0; dladdr(frame[i], &info) && k < ARRAY_SIZE(libs); k++)
			if (info.dli_fname && strstr(info.dli_fname, libs[k]))
				return true;
	return false;
}

static bool fault_is_of_library(void)
{
	if (tap_thread.depth)
		return true;
	return tap_thread.epoch != tap.epoch && fault_is_below();
}

/* Whether the mapping allows the access by now. */
static bool fault_has_passed(u64 addr, bool write)
{
	struct tap_mapping v;

	return tap_memory_find(addr, &v) && (write ? v.write : v.read);
}

/* --- single instructions --- */

bool tap_fault_can_step(void)
{
#if defined(__x86_64__)
	return load_relaxed(&fault_trap.state) == 2;
#else
	return false;
#endif
}

/* The kernel kills a thread that steps with SIGTRAP blocked. */
static void fault_step(ucontext_t *uc)
{
#if defined(__x86_64__)
	if (fault_thread.steps)
		return;
	fault_thread.steps = true;
	fault_thread.blocked = sigismember(&uc->uc_sigmask, SIGTRAP) == 1;
	sigdelset(&uc->uc_sigmask, SIGTRAP);
	uc->uc_mcontext.gregs[REG_EFL] |= FAULT_TRAP_FLAG;
#else
	(void)uc;
#endif
}

static void fault_end_step(ucontext_t *uc)
{
	u32 i;

	fault_thread.steps = false;
	if (fault_thread.blocked)
		sigaddset(&uc->uc_sigmask, SIGTRAP);
	/* It stays pending until the program unblocks it. */
	if (fault_thread.held)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGTRAP,
			&fault_thread.info);
	fault_thread.held = false;
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_EFL] &= ~FAULT_TRAP_FLAG;
#endif
	for (i = 0; i < tap.n; i++)
		if (tap.on[i]->stepped)
			tap.on[i]->stepped();
}

/* --- faults --- */

/* Return: whether the instruction may run again. */
static bool fault_take(const siginfo_t *info, ucontext_t *uc)
{
	struct tap_fault f = {
		.addr = (u64)(uintptr_t)info->si_addr,
		.write = fault_is_write(uc),
		.place = fault_place(uc),
	};
	u32 i;

	if (info->si_code != SEGV_ACCERR)
		return false;
	f.library = fault_is_of_library();
	for (i = 0; i < tap.n; i++)
		if (tap.on[i]->fault && tap.on[i]->fault(&f)) {
			if (f.step)
				fault_step(uc);
			return true;
		}
	return fault_has_passed(f.addr, f.write);
}

/* --- the handler --- */

static __typeof__(&tap_hook_sigaction) fault_next_sigaction(void)
{
	return tap_next(sigaction);
}

static void fault_default(int sig)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	/* A fault comes again. A signal that was sent comes by this. */
	fault_next_sigaction()(sig, &act, NULL);
	syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

static void fault_pass(int sig, siginfo_t *info, void *uc, const struct sigaction *act)
{
	if (act->sa_flags & SA_SIGINFO)
		act->sa_sigaction(sig, info, uc);
	else if (act->sa_handler == SIG_DFL || (act->sa_handler == SIG_IGN && info->si_code > 0))
		fault_default(sig);
	else if (act->sa_handler != SIG_IGN)
		act->sa_handler(sig);
}

/* A system call: libc's name leads to a wrapper. */
static void fault_mask_change(int how, const sigset_t *set)
{
	syscall(SYS_rt_sigprocmask, (long)how, set, NULL, sizeof(u64));
}

/* Runs the program's own handler, as the kernel would. */
static void fault_run_program(struct fault_signal *of, int sig, siginfo_t *info, void *context)
{
	struct sigaction act = of->program;
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, sig);
	if (act.sa_flags & SA_RESETHAND)
		of->program.sa_handler = SIG_DFL;
	/* The kernel has blocked the signal itself. */
	fault_mask_change(SIG_BLOCK, &act.sa_mask);
	if (act.sa_flags & SA_NODEFER)
		fault_mask_change(SIG_UNBLOCK, &own);
	fault_pass(sig, info, context, &act);
}

static void fault_handler(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	bool taken = fault_take(info, context);

	errno = saved;
	if (!taken)
		fault_run_program(&fault_segv, sig, info, context);
}

static void fault_trap_handler(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (fault_thread.steps && info->si_code == TRAP_TRACE) {
		fault_end_step(context);
	} else if (fault_thread.steps && fault_thread.blocked) {
		fault_thread.held = true;
		fault_thread.info = *info;
	} else {
		fault_run_program(&fault_trap, sig, info, context);
	}
	errno = saved;
}

static bool fault_install(struct fault_signal *of, int sig,
			  void (*handler)(int sig, siginfo_t *info, void *context))
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (likely(load_acquire(&of->state)))
		return load_relaxed(&of->state) == 2;
	pthread_mutex_lock(&lock);
	if (!of->state) {
		store_release(&of->state, 1);
		if (!fault_next_sigaction()(sig, &act, &of->program))
			store_release(&of->state, 2);
	}
	pthread_mutex_unlock(&lock);
	return load_relaxed(&of->state) == 2;
}

bool tap_fault_start(void)
{
	return fault_install(&fault_segv, SIGSEGV, fault_handler);
}

bool tap_fault_start_steps(void)
{
	return fault_install(&fault_trap, SIGTRAP, fault_trap_handler);
}

/* --- the program's own handler --- */

/* Return: NULL: the program's handler is the kernel's affair. */
static struct fault_signal *fault_find_signal(int sig)
{
	struct fault_signal *of = NULL;

	if (sig == SIGSEGV)
		of = &fault_segv;
	else if (sig == SIGTRAP)
		of = &fault_trap;
	return of && load_acquire(&of->state) == 2 ? of : NULL;
}

int tap_hook_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct fault_signal *of = fault_find_signal(sig);
	struct sigaction was;

	if (!of)
		return fault_next_sigaction()(sig, act, old);
	was = of->program;
	if (act)
		of->program = *act;
	if (old)
		*old = was;
	return 0;
}

int tap_hook___sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return tap_hook_sigaction(sig, act, old);
}

static sighandler_t fault_set(struct fault_signal *of, sighandler_t handler, int flags)
{
	struct sigaction was = of->program;

	of->program = (struct sigaction){ .sa_handler = handler, .sa_flags = flags };
	return was.sa_handler;
}

sighandler_t tap_hook_signal(int sig, sighandler_t handler)
{
	struct fault_signal *of = fault_find_signal(sig);

	return of ? fault_set(of, handler, SA_RESTART) : tap_next(signal)(sig, handler);
}

sighandler_t tap_hook_bsd_signal(int sig, sighandler_t handler)
{
	return tap_hook_signal(sig, handler);
}

sighandler_t tap_hook___sysv_signal(int sig, sighandler_t handler)
{
	struct fault_signal *of = fault_find_signal(sig);

	if (!of)
		return tap_next(__sysv_signal)(sig, handler);
	return fault_set(of, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

sighandler_t tap_hook_sysv_signal(int sig, sighandler_t handler)
{
	return tap_hook___sysv_signal(sig, handler);
}

/* --- masks --- */

/* Return: the set that may be blocked: @set, or a copy in @copy without the signal. */
static const sigset_t *fault_mask(int how, const sigset_t *set, sigset_t *copy)
{
	if (likely(!is_expected) || !set || how == SIG_UNBLOCK)
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	return copy;
}

int tap_hook_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return tap_next(pthread_sigmask)(how, fault_mask(how, set, &copy), old);
}

int tap_hook_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	return tap_next(sigprocmask)(how, fault_mask(how, set, &copy), old);
}

void tap_fault_expect(void)
{
	sigset_t set;

	is_expected = true;
	fault_next_sigaction();
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	fault_mask_change(SIG_UNBLOCK, &set);
}
