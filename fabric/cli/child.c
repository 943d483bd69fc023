/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu run` as its program's parent.
 *
 * Theory of operation
 * -------------------
 * All signals are blocked here and taken one by one with sigwaitinfo(), so nothing happens between
 * two of them. Signals of a process's own mistakes (SIGSEGV and the like) are not blocked.
 *
 * - A signal that a process has sent is passed on to the child.
 * - A signal from the kernel (^C, ^Z, hang-up) went to the whole process group: the child has it.
 * - The child gets the mask and dispositions that this process was started with.
 * - A pipe that closes on exec tells whether exec succeeded.
 * - Between two signals a watch may look at what the child does.
 * - A child that goes on after SIGTERM, or another request to end, is overdue after a second.
 */
#include "fabric/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OVERDUE_MS 1000u

/** struct wait - what happens while the child runs. @asked_ms: to end, by the clock; 0: not */
struct wait {
	struct child_watch *w;
	void (*overdue)(void);
	u64 asked_ms;
};

/** struct before - mask and dispositions of this process at its start, which the child gets. */
struct before {
	sigset_t mask;
	struct sigaction chld;
};

static void child_block_signals(sigset_t *set, struct before *b)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	size_t i;

	sigfillset(set);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(set, own[i]);
	/* With SIGCHLD ignored, waitpid() would not find the child. */
	sigaction(SIGCHLD, &dfl, &b->chld);
	sigprocmask(SIG_BLOCK, set, &b->mask);
}

static void __attribute__((noreturn))
child_exec(char **argv, const struct before *b, pid_t parent, int tell)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent died before the prctl(). */
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigaction(SIGCHLD, &b->chld, NULL);
	sigprocmask(SIG_SETMASK, &b->mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	/* If this fails, no process is left that could report it. */
	_exit(write(tell, &err, sizeof(err)) == sizeof(err) ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Pass on a signal that a process has sent. */
static void child_forward_signal(pid_t child, const siginfo_t *si)
{
	if (si->si_code == SI_QUEUE)
		sigqueue(child, si->si_signo, si->si_value);
	else if (si->si_code <= 0 || si->si_signo == SIGCONT)
		kill(child, si->si_signo);
}

/* The child has changed its state. Return: whether it has ended. */
static bool child_has_ended(pid_t child, int *status)
{
	while (waitpid(child, status, WNOHANG | WUNTRACED) == child) {
		if (!WIFSTOPPED(*status))
			return true;
		/*
		 * Job control: the shell sees this process stopped, as it would see the program
		 * itself. A process that sends SIGSTOP to the program alone (a pause rule, a
		 * debugger) continues it itself and knows nothing of this process.
		 */
		if (WSTOPSIG(*status) != SIGSTOP)
			raise(SIGSTOP);
	}
	return false;
}

static u64 child_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000 + (u64)now.tv_nsec / 1000000;
}

static bool signal_asks_to_end(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT;
}

/* The child goes on. */
static void wait_look(struct wait *wait)
{
	if (wait->w)
		wait->w->look(wait->w);
	if (!wait->asked_ms || child_clock_ms() - wait->asked_ms < OVERDUE_MS)
		return;
	wait->overdue();
	wait->overdue = NULL;
	wait->asked_ms = 0;
}

/* Take the next signal. Return: false: none came, and something was done meanwhile. */
static bool child_next_signal(const sigset_t *set, siginfo_t *si, struct wait *wait)
{
	u32 ms = wait->w ? wait->w->pause_ms : OVERDUE_MS;
	const struct timespec pause = { .tv_sec = ms / 1000,
					.tv_nsec = (long)(ms % 1000) * 1000000 };

	if (!wait->w && !wait->asked_ms)
		return sigwaitinfo(set, si) >= 0;
	if (sigtimedwait(set, si, &pause) >= 0)
		return true;
	if (errno == EAGAIN)
		wait_look(wait);
	return false;
}

static void child_wait_end(pid_t child, const sigset_t *set, struct wait *wait, int *status)
{
	siginfo_t si;

	for (;;) {
		if (!child_next_signal(set, &si, wait))
			continue;
		if (wait->overdue && !wait->asked_ms && signal_asks_to_end(si.si_signo))
			wait->asked_ms = child_clock_ms();
		if (si.si_signo != SIGCHLD || si.si_code <= 0)
			child_forward_signal(child, &si);
		if (si.si_signo == SIGCHLD && child_has_ended(child, status))
			return;
	}
}

/* The result of exec: 0 or -errno. */
static int child_exec_result(int fd)
{
	int err = 0;
	ssize_t n;

	do
		n = read(fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(fd);
	return n == sizeof(err) ? -err : 0;
}

int child_run(char **argv, struct child_watch *w, void (*overdue)(void), int *status)
{
	struct wait wait = { .w = w, .overdue = overdue };
	pid_t parent = getpid(), child;
	struct before b;
	sigset_t set;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	child_block_signals(&set, &b);
	child = fork();
	if (!child)
		child_exec(argv, &b, parent, fds[1]);
	err = child < 0 ? errno : 0;
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return -err;
	}
	err = child_exec_result(fds[0]);
	if (err)
		waitpid(child, status, 0);
	else
		child_wait_end(child, &set, &wait, status);
	return err;
}

void child_exit_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;
	int sig;

	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	/* The program itself has dumped its core, if it was allowed to. */
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	exit(128 + sig);
}
