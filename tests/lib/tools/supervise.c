/* SPDX-License-Identifier: MIT */
/*
 * Runs one test for tests/run, ends it after a time limit, and reports the CPU time it took.
 *
 *	supervise SECONDS FILE COMMAND...
 *
 * timeout(1) cannot report the CPU time: most of a test's CPU time is spent by fabric processes,
 * which are daemons, so that no parent waits for them. The supervisor is a subreaper
 * (PR_SET_CHILD_SUBREAPER), so daemons become its children when their parents exit:
 *
 * - it waits for each of them, and RUSAGE_CHILDREN then includes their CPU time;
 * - of those still alive when the test exits it reads the CPU time in /proc.
 *
 * It writes `user+sys in ms` to FILE. Its exit status is the command's: 128 + N when signal N
 * killed the command, 124 when the time limit did, as timeout(1) has it. The supervisor leads a
 * process group of its own, which tests/run kills when the test has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

/* Seconds between SIGTERM and SIGKILL when the time limit is reached. */
#define KILL_AFTER 5

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
	/* The supervisor ignores SIGTERM: it is a member of the group. */
	kill(0, alarms == 1 ? SIGTERM : SIGKILL);
	alarm(KILL_AFTER);
}

/* CPU time in ms of process @pid and its waited-for children, if its parent is this process. */
static long orphan_cpu_ms(const char *pid)
{
	unsigned long user, sys, child_user, child_sys;
	char path[64], line[1024], *end;
	int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	if (!end || sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
			   &parent, &user, &sys, &child_user, &child_sys) != 5)
		return 0;
	if (parent != getpid())
		return 0;
	return (long)(user + sys + child_user + child_sys) * 1000 / sysconf(_SC_CLK_TCK);
}

static long orphans_cpu_ms(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	long sum = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			sum += orphan_cpu_ms(entry->d_name);
	closedir(proc);
	return sum;
}

static long children_cpu_ms(void)
{
	struct rusage usage;
	struct timeval sum;

	getrusage(RUSAGE_CHILDREN, &usage);
	timeradd(&usage.ru_utime, &usage.ru_stime, &sum);
	return sum.tv_sec * 1000 + sum.tv_usec / 1000;
}

static void report_cpu(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	fprintf(f, "%ld\n", children_cpu_ms() + orphans_cpu_ms());
	fclose(f);
}

/* Waits for all children; returns the exit status of the command, @pid. */
static int command_wait(pid_t pid)
{
	int status = 0;
	pid_t got;

	for (;;) {
		got = waitpid(-1, &status, 0);
		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			return 1;
	}
	if (alarms)
		return 124;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct sigaction on = { .sa_handler = on_alarm };
	int status;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: supervise SECONDS FILE COMMAND...\n");
		return 125;
	}
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	signal(SIGTERM, SIG_IGN);
	sigaction(SIGALRM, &on, NULL);
	alarm((unsigned int)atoi(argv[1]));
	status = command_wait(pid);
	alarm(0);
	report_cpu(argv[2]);
	return status;
}
