/* SPDX-License-Identifier: MIT */
/**
 * DOC: starting the fabric process, free of everything its starter has.
 *
 * It outlives the program that happened to start it and keeps nothing of it: it has a session of
 * its own, init as its parent, no inherited descriptors, no terminal, no directory, default
 * signals, all CPUs, and a command line of its own (so that killing programs by name does not hit
 * it).
 */
#include "fabric/cli/control.h"
#include "fabric/common/daemon_start.h"
#include "fabric/common/descriptors.h"
#include "fabric/common/profile.h"
#include "fabric/proto/finding.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Report to the waiting starter what went wrong. */
static void __attribute__((noreturn)) spawn_fail(int ready, const char *what)
{
	dprintf(ready, "cannot start: %s: %s", what, strerror(errno));
	_exit(1);
}

static void spawn_reset_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &sa, NULL); /* fails for SIGKILL and SIGSTOP */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Reset limits and CPU affinity that were meant for the program. Failures do not matter. */
static void spawn_reset_limits(void)
{
	static const int limits[] = { RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE,
				      RLIMIT_DATA };
	struct rlimit r;
	cpu_set_t all;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (!getrlimit((unsigned)limits[i], &r) && r.rlim_cur != r.rlim_max) {
			r.rlim_cur = r.rlim_max;
			setrlimit((unsigned)limits[i], &r);
		}
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

/* Set descriptors: 0 and 1 to /dev/null, 2 to the log, then those of enum daemon_fd. */
static void spawn_set_fds(const char *log, int ready, int lock)
{
	int null, err;

	/* Move them above the numbers that are assigned below. */
	ready = fcntl(ready, F_DUPFD, DAEMON_FD_END);
	lock = fcntl(lock, F_DUPFD, DAEMON_FD_END);
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		spawn_fail(ready, "/dev/null");
	err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (err < 0)
		spawn_fail(ready, log);
	err = fcntl(err, F_DUPFD, DAEMON_FD_END);
	null = fcntl(null, F_DUPFD, DAEMON_FD_END);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0 ||
	    dup2(ready, DAEMON_FD_READY) < 0 || dup2(lock, DAEMON_FD_LOCK) < 0)
		spawn_fail(ready, "descriptors");
	descriptors_close_from(DAEMON_FD_END);
}

static int spawn_add_flag(char **argv, int n, char *flag, size_t size, const char *name,
			  const char *value)
{
	if (!value[0])
		return n;
	snprintf(flag, size, "%s%s", name, value);
	argv[n] = flag;
	return n + 1;
}

static void spawn_exec(const struct opts *o, const struct fabric_paths *p, const char *profile_path,
		       const char *topology_path, const char *token_file, bool stay)
{
	char fabric[64], dir[PATH_MAX + 16], linger[32], seed[48];
	char profile[PATH_MAX + 16], subnet[sizeof(o->subnet) + 16];
	static char topology[PATH_MAX + 16], token[PATH_MAX + 16];
	static char listen[sizeof(o->listen) + 16], join[PATH_MAX + 16], name[64];
	static char roce[sizeof(o->roce) + 16], peers[sizeof(o->roce_peers) + 16];
	static char scale[48], chaos[48], first[32];
	char *argv[32];
	int n = 0;

	snprintf(fabric, sizeof(fabric), "--fabric=%s", o->fabric);
	snprintf(dir, sizeof(dir), "--dir=%s", p->dir);
	snprintf(linger, sizeof(linger), "--linger=%u", o->linger_ms);
	snprintf(seed, sizeof(seed), "--seed=%llu", (unsigned long long)o->seed);
	snprintf(profile, sizeof(profile), "--profile=%s", profile_path);
	argv[n++] = "rdmaemu";
	argv[n++] = DAEMON_VERB;
	argv[n++] = fabric;
	argv[n++] = dir;
	argv[n++] = seed;
	argv[n++] = profile;
	snprintf(subnet, sizeof(subnet), "--subnet=%s", o->subnet);
	if (o->subnet[0])
		argv[n++] = subnet;
	snprintf(topology, sizeof(topology), "--topology=%s", topology_path);
	if (topology_path[0])
		argv[n++] = topology;
	if (o->isolated)
		argv[n++] = "--isolated";
	if (o->real == REAL_RULES)
		argv[n++] = "--real";
	n = spawn_add_flag(argv, n, listen, sizeof(listen), "--listen=", o->listen);
	n = spawn_add_flag(argv, n, join, sizeof(join), "--join=", o->join);
	n = spawn_add_flag(argv, n, roce, sizeof(roce), "--roce=", o->roce);
	n = spawn_add_flag(argv, n, peers, sizeof(peers), "--roce-peers=", o->roce_peers);
	n = spawn_add_flag(argv, n, token, sizeof(token), "--token-file=", token_file);
	if (o->plaintext)
		argv[n++] = "--plaintext";
	n = spawn_add_flag(argv, n, name, sizeof(name), "--name=", o->name);
	snprintf(scale, sizeof(scale), "--time-scale=%u.%06u", o->ppm / CLOCK_PPM,
		 o->ppm % CLOCK_PPM);
	if (o->ppm != CLOCK_PPM)
		argv[n++] = scale;
	if (o->manual)
		argv[n++] = "--clock=manual";
	snprintf(chaos, sizeof(chaos), "--chaos=%llu", (unsigned long long)o->chaos_seed);
	if (o->chaos)
		argv[n++] = chaos;
	snprintf(first, sizeof(first), "--first-mr=%u", o->first_mr);
	if (o->first_mr)
		argv[n++] = first;
	if (!stay)
		argv[n++] = linger;
	argv[n] = NULL;
	execv("/proc/self/exe", argv);
}

static void __attribute__((noreturn))
spawn_grandchild(const struct opts *o, const struct fabric_paths *p, bool stay, int ready, int lock)
{
	static const char *const vars[] = {
		"LD_PRELOAD",	 PROTO_ENV,	     PROTO_SYSFS_ENV,	      PROTO_RUN_ENV,
		PROTO_REAL_ENV,	 PROTO_REAL_RUN_ENV, PROTO_REAL_REQUESTS_ENV, "RDMAEMU_RECORD",
		FINDING_DIR_ENV, PROTO_BESIDE_ENV,   PROTO_BESIDE_RUN_ENV
	};
	char profile[PATH_MAX], topology[PATH_MAX] = "", token[PATH_MAX];
	size_t i;

	/* A relative file name is meant from here. */
	if (profile_builtin(o->profile, &i) || !realpath(o->profile, profile))
		snprintf(profile, sizeof(profile), "%s", o->profile);
	if (o->topology[0] && !realpath(o->topology, topology))
		spawn_fail(ready, o->topology);
	if (!o->token_file[0] || !realpath(o->token_file, token))
		snprintf(token, sizeof(token), "%s", o->token_file);
	spawn_set_fds(p->log, ready, lock);
	spawn_reset_signals();
	spawn_reset_limits();
	for (i = 0; i < ARRAY_SIZE(vars); i++)
		unsetenv(vars[i]);
	opts_env_clear(0);
	umask(077);
	if (chdir("/"))
		spawn_fail(DAEMON_FD_READY, "/");
	spawn_exec(o, p, profile, topology, token, stay);
	spawn_fail(DAEMON_FD_READY, "/proc/self/exe");
}

/* The new process sends DAEMON_READY when it is up, else a line that says why it is not. */
static int spawn_await_ready(int fd, char *why, size_t size)
{
	size_t got = 0;
	ssize_t n;
	char *end;

	while (got < size - 1) {
		n = read(fd, why + got, size - 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
		end = memchr(why, DAEMON_READY, got);
		if (!end || (end != why && why[0] != DAEMON_BUT))
			continue;
		*end = '\0';
		if (end != why)
			print_error("%s", why + 1);
		return 0;
	}
	why[got] = '\0';
	return -1;
}

int spawn_fabric(const struct opts *o, const struct fabric_paths *p, bool stay, int lock, char *why,
		 size_t size)
{
	int fds[2], ret;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		snprintf(why, size, "pipe: %s", strerror(errno));
		return -1;
	}
	pid = fork();
	if (pid < 0) {
		snprintf(why, size, "fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	if (!pid) {
		setsid();
		pid = fork();
		if (pid < 0)
			spawn_fail(fds[1], "fork");
		if (!pid)
			spawn_grandchild(o, p, stay, fds[1], lock);
		_exit(0);
	}
	close(fds[1]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	ret = spawn_await_ready(fds[0], why, size);
	close(fds[0]);
	return ret;
}
