/* SPDX-License-Identifier: MIT */
/**
 * DOC: measurements between this process and a peer that it forks, each on a CPU of its own.
 *
 * The two are pinned on the first two CPUs that this process may use; with a single CPU nothing is
 * pinned. A peer that dies would leave the other waiting: LIMIT_S ends both.
 */
#ifndef TESTS_BENCH_TWO_SIDES_H
#define TESTS_BENCH_TWO_SIDES_H

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 120

static int cpu[2];
static int cpus;

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/** report() - one member of the JSON object. */
static inline void report(const char *name, double value)
{
	printf(",\n\t\"%s\": %.3f", name, value);
}

static inline void pin(int side)
{
	cpu_set_t set;

	if (cpus < 2)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu[side], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/** sides_begin() - find the CPUs, take the first, and begin the JSON object. */
static inline void sides_begin(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && cpus < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[cpus++] = i;
	alarm(LIMIT_S);
	pin(0);
	if (cpus < 2)
		printf("{\n\t\"cpus\": [%d]", cpu[0]);
	else
		printf("{\n\t\"cpus\": [%d, %d]", cpu[0], cpu[1]);
}

/** sides_end() - end the JSON object. Return: the exit status. */
static inline int sides_end(void)
{
	printf("\n}\n");
	return fflush(stdout) ? 1 : 0;
}

/** peer_start() - a child on the second CPU that runs @fn and ends. */
static inline pid_t peer_start(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIMIT_S);
	pin(1);
	fn();
	_exit(0);
}

static inline void peer_end(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (status) {
		fprintf(stderr, "limits: the peer ended with status %#x\n", (unsigned int)status);
		exit(1);
	}
}

#endif
