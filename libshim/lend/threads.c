/* SPDX-License-Identifier: MIT */
/**
 * DOC: see threads.h.
 *
 * The caller first looks whether all threads can be stopped. Then it lists them, signals those that
 * are new, and waits until each has entered the handler. It is done when a list shows only threads
 * that have stopped: these start no others. The kernel may leave one out of a list during which
 * another ends, so the next list has to show the same.
 *
 * An attempt that ends at the look has disturbed nobody, and call.h does not count it as a stop. If
 * it did, a thread in a wait with a time limit could keep every later attempt from success.
 *
 * @stop_word is odd while threads are to wait. Each stop has a number of its own, so that a thread
 * that was too late for one stop, or slow to leave it, takes no part in the next.
 */
#include "libshim/lend/threads.h"

#include "libshim/lend/range.h"
#include "libshim/lend/region.h"

#ifdef __x86_64__

#include "libshim/interpose/syscall.h"
#include "libshim/lend/call.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS  256u
#define STOP_NS	     50000000u
#define STOP_CPU_NS  1000000000u /* if all that is missing is a CPU for the threads */
#define BRIEF_NS     10000000u /* the same where the program has not asked for lent memory */
#define BRIEF_CPU_NS 100000000u
#define SCAN_NS	     1000000u
#define STATUS_TEXT  4096
#define THREAD_SIZE  2368u /* of libc's description of a thread, which has its rseq(2) area */
#define BACKOFF	     20u /* times as long as an attempt in vain took there is no other */
#define MAX_PAUSE_NS 1000000000u
#define MAX_DOUBLED  20u

/**
 * struct stopped_thread - a thread that was signalled.
 * @stopped: @stop_word when it entered the handler; one of an earlier stop may come late
 */
struct stopped_thread {
	s32 tid;
	u32 stopped;
	u64 variables; /* its thread pointer */
	struct thread_call call;
};

static struct stopped_thread threads[MAX_THREADS];
static u32 n_threads;
static u32 n_stopped; /* a futex */
static u32 stop_word; /* a futex */
static bool others_stopped;
static bool is_brief;
static bool some_sleep; /* although they were signalled */

/**
 * struct stop_attempts - what has become of attempts.
 * @in_vain: so many of the last ones
 * @refuse_until: there is no other one before
 */
static struct stop_attempts {
	u32 in_vain;
	u64 refuse_until;
} brief_attempts, other_attempts;

static s32 thread_self(void)
{
	return (s32)syscall(SYS_gettid);
}

static struct stopped_thread *thread_find(s32 tid)
{
	u32 i, n = load_acquire(&n_threads);

	for (i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	return NULL;
}

/*
 * Report that the thread has stopped, and wait. Its stack may lie in the pages that move: nothing
 * is written to it meanwhile, not even the address of a call's return.
 */
static void thread_wait(u32 *stopped, u32 word)
{
	__asm__ volatile("movl %[word], (%[stopped])\n\t"
			 "lock incl (%[n])\n\t"
			 "movl %[futex], %%eax\n\t"
			 "movq %[n], %%rdi\n\t"
			 "movl %[wake], %%esi\n\t"
			 "movl $1, %%edx\n\t"
			 "syscall\n"
			 "1:\tcmpl %[word], (%[stop])\n\t"
			 "jne 2f\n\t"
			 "movl %[futex], %%eax\n\t"
			 "movq %[stop], %%rdi\n\t"
			 "movl %[wait], %%esi\n\t"
			 "movl %[word], %%edx\n\t"
			 "xorl %%r10d, %%r10d\n\t"
			 "syscall\n\t"
			 "jmp 1b\n"
			 "2:"
			 :
			 : [word] "r"(word), [stopped] "r"(stopped), [n] "r"(&n_stopped),
			   [stop] "r"(&stop_word), [futex] "i"(SYS_futex),
			   [wake] "i"(FUTEX_WAKE_PRIVATE), [wait] "i"(FUTEX_WAIT_PRIVATE)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r10", "r11", "cc", "memory");
}

/* All signals are blocked in it, and it may run at any time after a stop, too. */
static void thread_on_signal(int sig, siginfo_t *info, void *context)
{
	u32 word = load_acquire(&stop_word);
	struct stopped_thread *t = word & 1 ? thread_find(thread_self()) : NULL;
	struct thread_call seen = { .place = THREAD_RUNS };
	int saved = errno;

	(void)sig;
	(void)info;
	if (t) {
		seen = t->call;
		t->variables = (uintptr_t)__builtin_thread_pointer();
		thread_wait(&t->stopped, word);
	}
	/* Now, as the time of the stop is over as well. */
	call_restart(context, &seen);
	errno = saved;
}

/* Install the handler. A program that uses the signal itself keeps it. */
static int handler_install(void)
{
	struct sigaction act = { .sa_sigaction = thread_on_signal,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction now;

	if (sigaction(LEND_SIGNAL, NULL, &now))
		return -errno;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == thread_on_signal)
		return 0;
	if (now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL)
		return -EBUSY;
	memset(&act.sa_mask, 0xff, sizeof(act.sa_mask));
	return sigaction(LEND_SIGNAL, &act, NULL) ? -errno : 0;
}

bool lend_signal_is_ours(void)
{
	return lend_can_stop() && !handler_install();
}

/* The number behind @name in a text of /proc; 0: there is none. */
static u64 thread_status_number(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static bool status_has_tracer(const char *text)
{
	return thread_status_number(text, "\nTracerPid:\t", 10) != 0;
}

/*
 * Whether the signal would be delivered to a thread that sleeps, or it is dead, and nobody else
 * would see it.
 */
static bool sleeper_takes_signal(s32 tid)
{
	char text[STATUS_TEXT];

	if (call_file_read(tid, "status", text, sizeof(text)))
		return true;
	if (thread_status_number(text, "\nSigBlk:\t", 16) & BIT64(LEND_SIGNAL - 1))
		return false;
	return !is_brief || !status_has_tracer(text);
}

bool lend_signal_is_shown(void)
{
	char text[STATUS_TEXT];

	return !lend_is_asked() && !call_file_read(thread_self(), "status", text, sizeof(text)) &&
	       status_has_tracer(text);
}

/* Return: -EBUSY if what the thread does cannot be interrupted. */
static int thread_look(s32 tid, struct thread_call *call, u64 now)
{
	int ret = call_read(tid, call);

	if (ret || call->place != THREAD_SLEEPS)
		return ret;
	return call_is_stoppable(call, now) && sleeper_takes_signal(tid) ? 0 : -EBUSY;
}

/* Signal a thread that a list shows for the first time. */
static int thread_signal(s32 tid, u64 now)
{
	struct stopped_thread *t = &threads[n_threads];
	int ret;

	if (n_threads == MAX_THREADS)
		return -EBUSY;
	*t = (struct stopped_thread){ .tid = tid };
	ret = thread_look(tid, &t->call, now);
	if (ret)
		return ret;
	if (t->call.place == THREAD_DEAD)
		t->stopped = stop_word;
	store_release(&n_threads, n_threads + 1);
	if (t->stopped)
		return 0;
	ret = (int)SYS_RET(syscall(SYS_tgkill, sys_getpid(), tid, LEND_SIGNAL));
	return ret == -ESRCH ? 0 : ret;
}

/*
 * Look again at a thread that was signalled, but has not stopped. The first one of a process stays
 * listed when it is dead.
 */
static void thread_look_again(struct stopped_thread *t)
{
	struct thread_call call;

	if (call_read(t->tid, &call))
		return;
	if (call.place == THREAD_DEAD)
		t->stopped = stop_word;
	else if (call.place != THREAD_RUNS)
		some_sleep = true;
}

/*
 * @signal: false: only look
 * Return: 1: the thread has not stopped yet, 0: it has, or is dead, or -errno.
 */
static int thread_check(const char *name, s32 self, u64 now, bool signal)
{
	s32 tid = (s32)strtol(name, NULL, 10);
	struct stopped_thread *t;
	struct thread_call call;
	int ret;

	if (tid <= 0 || tid == self)
		return 0;
	if (!signal) {
		ret = thread_look(tid, &call, now);
		return ret ? ret : 1;
	}
	t = thread_find(tid);
	if (!t) {
		ret = thread_signal(tid, now);
		return ret ? ret : 1;
	}
	if (load_acquire(&t->stopped) == stop_word)
		return 0;
	thread_look_again(t);
	return 1;
}

/* Return: how many of the threads have not stopped yet, or -errno. */
static int threads_list(int dir, s32 self, u64 now, bool signal)
{
	char buf[2048] __attribute__((aligned(8)));
	const struct dirent_raw *d;
	int running = 0, ret;
	ssize_t n, at;

	if (syscall(SYS_lseek, dir, 0L, SEEK_SET))
		return -EIO;
	while ((n = SYS_RET(syscall(SYS_getdents64, dir, buf, sizeof(buf)))) > 0) {
		for (at = 0; at < n; at += d->len) {
			d = (const struct dirent_raw *)(const void *)(buf + at);
			ret = thread_check(d->name, self, now, signal);
			if (ret < 0)
				return ret;
			running += ret;
		}
	}
	return n ? (int)n : running;
}

static u64 stop_limit(void)
{
	if (is_brief)
		return some_sleep ? BRIEF_NS : BRIEF_CPU_NS;
	return some_sleep ? STOP_NS : STOP_CPU_NS;
}

static int threads_stop(int dir, u64 start)
{
	s32 self = thread_self();
	struct stat st;
	u32 stopped;
	int ret;

	/* Before any is disturbed. The directory has two more links than there are threads. */
	if (sys_fstat(dir, &st) || st.st_nlink - 2 > MAX_THREADS)
		return -EBUSY;
	ret = threads_list(dir, self, start, false);
	if (ret <= 0)
		return ret;
	call_note_stop(start);
	do {
		some_sleep = false;
		stopped = load_acquire(&n_stopped);
		ret = threads_list(dir, self, start, true);
		if (!ret)
			ret = threads_list(dir, self, start, true);
		if (ret <= 0)
			return ret;
		sys_futex_wait(&n_stopped, stopped, SCAN_NS, FUTEX_PRIVATE_FLAG);
	} while (sys_now() - start < stop_limit());
	return -EBUSY;
}

/*
 * Bound the time that attempts in vain take. A program whose threads cannot be stopped soon has no
 * more attempts to lend; when it needs its memory back there is one each time.
 */
static void attempts_note(struct stop_attempts *a, bool in_vain, u64 start)
{
	u64 now = sys_now(), pause = BACKOFF * (now - start);

	if (a == &brief_attempts)
		pause = min_u64((now - start) << min_u64(a->in_vain, MAX_DOUBLED), MAX_PAUSE_NS);
	a->in_vain = in_vain ? a->in_vain + 1 : 0;
	a->refuse_until = in_vain ? now + pause : 0;
}

int lend_stop(bool brief)
{
	struct stop_attempts *attempts = brief ? &brief_attempts : &other_attempts;
	u64 start;
	int dir, ret;

	if (lend_is_alone())
		return 0;
	start = sys_now();
	if (start < attempts->refuse_until || !lend_signal_is_ours())
		return -EBUSY;
	/* The look below sees only the tracers of threads that sleep. */
	if (brief && lend_signal_is_shown())
		return -EBUSY;
	is_brief = brief;
	dir = (int)SYS_RET(syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (dir < 0)
		return -EBUSY;
	store_release(&n_threads, 0);
	store_release(&stop_word, stop_word + 1);
	others_stopped = true;
	ret = threads_stop(dir, start);
	sys_close(dir);
	if (ret)
		lend_resume();
	attempts_note(attempts, ret != 0, start);
	return ret ? -EBUSY : 0;
}

void lend_resume(void)
{
	if (!others_stopped)
		return;
	others_stopped = false;
	store_release(&stop_word, stop_word + 1);
	sys_futex_wake(&stop_word, INT_MAX, FUTEX_PRIVATE_FLAG);
}

bool lend_has_stopped(void)
{
	return others_stopped;
}

bool lend_stopped_need(u64 from, u64 to)
{
	u32 i;

	for (i = 0; others_stopped && i < n_threads; i++)
		if (threads[i].variables && threads[i].variables < to &&
		    threads[i].variables + THREAD_SIZE > from)
			return true;
	return false;
}

void lend_threads_forget(void)
{
	brief_attempts = other_attempts = (struct stop_attempts){ 0 };
}

#else

int lend_stop(bool brief)
{
	(void)brief;
	return lend_is_alone() ? 0 : -EBUSY;
}

bool lend_signal_is_ours(void)
{
	return false;
}

bool lend_signal_is_shown(void)
{
	return false;
}

void lend_resume(void)
{
}

bool lend_has_stopped(void)
{
	return false;
}

bool lend_stopped_need(u64 from, u64 to)
{
	(void)from;
	(void)to;
	return false;
}

void lend_threads_forget(void)
{
}

#endif
