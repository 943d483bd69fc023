/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu doctor`: what the kernel allows, and its price. See fabric/cli/doctor/doctor.h. */
#include "fabric/cli/doctor/doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5000

/* --- namespaces and seccomp ----------------------------------------------------------------- */

static void check_namespaces(struct doctor *d)
{
	static const char *const kinds[] = { "user", "pid", "net", "mnt", "ipc" };
	char text[256] = "", path[32], link[64];
	size_t i, at = 0;
	ssize_t n;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", link);
	}
	if (at)
		doctor_report(d, DOCTOR_OK, "namespaces", NULL, "%s", text);
	else
		doctor_report(d, DOCTOR_NOTE, "namespaces", "mount /proc", "/proc is not readable");
}

/* The number after a word at the beginning of a line of /proc/self/status, or -1. */
static int proc_status_number(const char *word)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int value = -1;

	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, strlen(word)))
			value = atoi(line + strlen(word));
	if (f)
		fclose(f);
	return value;
}

/** struct needed_call - a system call of programs or of the fabric process. */
struct needed_call {
	const char *name;
	long (*call)(void);
};

static long try_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static long try_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static long try_timerfd(void)
{
	return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
}

static long try_getrandom(void)
{
	char c;

	return syscall(SYS_getrandom, &c, 1, 0);
}

static long try_futex(void)
{
	u32 word = 0;

	return syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
}

static long try_pidfd(void)
{
	return syscall(SYS_pidfd_open, getpid(), 0);
}

static const struct needed_call calls[] = {
	{ "eventfd2", try_eventfd },
	{ "epoll_create1", try_epoll },
	{ "timerfd_create", try_timerfd },
	{ "getrandom", try_getrandom },
	{ "futex", try_futex },
};

/* Whether a call works, in a process of its own, which seccomp may kill. */
static bool call_works(long (*call)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(call() < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void check_calls(struct doctor *d)
{
	static const char *const modes[] = { "off", "strict", "a filter" };
	int mode = proc_status_number("Seccomp:"), no_new = proc_status_number("NoNewPrivs:");
	u32 failed = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (call_works(calls[i].call))
			continue;
		doctor_report(d, DOCTOR_FAIL, "seccomp", "allow it in the seccomp profile",
			      "%s(2) does not work", calls[i].name);
		failed++;
	}
	if (!call_works(try_pidfd))
		doctor_report(d, DOCTOR_NOTE, "seccomp", "allow it in the seccomp profile",
			      "pidfd_open(2) does not work: rules cannot kill or stop programs");
	if (!failed)
		doctor_report(d, DOCTOR_OK, "seccomp", NULL,
			      "%s, no_new_privs %d: what the fabric needs is allowed",
			      mode >= 0 && mode <= 2 ? modes[mode] : "unknown", no_new);
}

/* --- copies between processes --------------------------------------------------------------- */

/** struct reach - a child whose memory this process reads, as programs do. */
struct reach {
	pid_t pid;
	int pipe[2];
	u64 word;
};

static bool reach_start(struct reach *r)
{
	char c = 0;
	bool ready;
	int tell[2];

	if (pipe(r->pipe))
		return false;
	if (pipe(tell)) {
		close(r->pipe[0]);
		close(r->pipe[1]);
		return false;
	}
	r->pid = fork();
	if (!r->pid) {
		r->word = ~r->word;
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		close(r->pipe[1]);
		/* Until the parent has done its reads, or has died. */
		_exit(write(tell[1], "r", 1) != 1 || read(r->pipe[0], &c, 1) < 0);
	}
	close(tell[1]);
	ready = r->pid > 0 && read(tell[0], &c, 1) == 1;
	close(tell[0]);
	return ready;
}

static void reach_end(struct reach *r)
{
	close(r->pipe[0]);
	close(r->pipe[1]);
	if (r->pid > 0)
		waitpid(r->pid, NULL, 0);
}

static long reach_read(const struct reach *r, u64 *word)
{
	struct iovec to = { word, sizeof(*word) };
	struct iovec from = { (void *)(uintptr_t)&r->word, sizeof(r->word) };

	return syscall(SYS_process_vm_readv, r->pid, &to, 1UL, &from, 1UL, 0UL);
}

static double ns_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) * 1e9 + (double)(now.tv_nsec - start->tv_nsec);
}

/* The shortest of some rounds, in ns: the machine may be busy. */
static double syscall_measure_ns(const struct reach *r)
{
	double best = 1e12, ns;
	struct timespec start;
	u64 word;
	int i, k;

	for (k = 0; k < 5; k++) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (i = 0; i < ROUNDS / 5; i++) {
			if (r)
				reach_read(r, &word);
			else
				syscall(SYS_getppid);
		}
		ns = ns_since(&start) / (ROUNDS / 5.0);
		best = ns < best ? ns : best;
	}
	return best;
}

static void check_reach(struct doctor *d)
{
	struct reach r = { .word = 0x0123456789abcdef };
	u64 got = 0, want = ~r.word;
	char scope[16] = "";
	long n = -1;

	doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	errno = 0;
	if (reach_start(&r))
		n = reach_read(&r, &got);
	if (n == sizeof(got) && got == want)
		doctor_report(d, DOCTOR_OK, "copies", NULL,
			      "process_vm_readv(2) works, one takes %.0f ns; ptrace_scope %s",
			      syscall_measure_ns(&r), scope[0] ? scope : "none");
	else
		doctor_report(
			d, DOCTOR_NOTE, "copies",
			"allow process_vm_readv and process_vm_writev in the seccomp profile; "
			"kernel.yama.ptrace_scope 0 or 1; or --cap-add SYS_PTRACE",
			"process_vm_readv(2): %s, ptrace_scope %s: a thread of each program "
			"copies instead, which is slower",
			strerror(errno), scope[0] ? scope : "none");
	reach_end(&r);
}

static void check_price(struct doctor *d)
{
	char line[128] = "unknown";
	bool pti;

	doctor_read_line("/sys/devices/system/cpu/vulnerabilities/meltdown", line, sizeof(line));
	pti = strstr(line, "PTI");
	doctor_report(d, pti ? DOCTOR_NOTE : DOCTOR_OK, "kernel",
		      pti ? "boot with pti=off where all users are trusted" : NULL,
		      "a system call takes %.0f ns; Meltdown: %s%s", syscall_measure_ns(NULL), line,
		      pti ? ": page-table isolation makes each copy to another process dearer"
			  : "");
}

/* docs/guide/troubleshooting.md: Linux 6.18 with one scheduler group per session. */
static void check_scheduler(struct doctor *d)
{
	char line[16] = "";
	struct utsname u;

	if (!uname(&u) && !strncmp(u.release, "6.18", 4) &&
	    doctor_read_line("/proc/sys/kernel/sched_autogroup_enabled", line, sizeof(line)) &&
	    line[0] == '1')
		doctor_report(d, DOCTOR_NOTE, "scheduler",
			      "sysctl kernel.sched_autogroup_enabled=0",
			      "Linux 6.18 with scheduler groups: programs may stand for 30 s");
}

void doctor_check_kernel(struct doctor *d)
{
	check_namespaces(d);
	check_calls(d);
	check_reach(d);
	check_price(d);
	check_scheduler(d);
}
