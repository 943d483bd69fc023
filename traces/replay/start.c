/* SPDX-License-Identifier: MIT */
/*
 * Starts the processes of a replay as children of rdmaemu-replay, by `rdmaemu run` or `rdmaemu
 * record`.
 */
#include "traces/replay/run.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_ENV  "RDMAEMU_RECORD_PART" /* read by the recorder */
#define WORDS_MAX 64u

/** struct argv_words - a command under construction. */
struct argv_words {
	const char *argv[WORDS_MAX];
	size_t n;
};

static void argv_add(struct argv_words *w, const char *word)
{
	if (w->n < WORDS_MAX - 1)
		w->argv[w->n++] = word;
}

static void argv_add_option(struct argv_words *w, const char *flag, const char *value)
{
	if (!value)
		return;
	argv_add(w, flag);
	argv_add(w, value);
}

/* @record: record it in the trace of the live program */
static void argv_add_run(struct argv_words *w, const struct rp_args *a, const char *node,
			 bool record)
{
	argv_add(w, a->run);
	argv_add(w, record ? "record" : "run");
	if (record)
		argv_add_option(w, "--out", a->trace);
	argv_add_option(w, "--fabric", a->fabric);
	argv_add_option(w, "--node", node);
	argv_add(w, "--");
}

static void __attribute__((noreturn)) start_fail(int error)
{
	_exit(rp_complain(strerror(error)));
}

static void __attribute__((noreturn)) start_exec(const char *const argv[])
{
	execv(argv[0], (char **)argv);
	fprintf(stderr, "rdmaemu: replay: %s: %s\n", argv[0], strerror(errno));
	_exit(2);
}

/* Lines for the file "program" of a recorded process; see fabric/cli/replay/episodes.h. */
static void start_set_part(const struct rp_args *a, bool live)
{
	char *text;

	if (!a->trace)
		return;
	if (asprintf(&text, "episode %s\nrequest %s\n%s%s%s", a->episode ? a->episode : "0",
		     a->request ? a->request : "", live ? "" : "as ", live ? "" : a->name,
		     live ? "" : "\n") < 0 ||
	    setenv(PART_ENV, text, 1))
		start_fail(ENOMEM);
	free(text);
}

static void start_exec_part(const struct rp_args *a, const struct rp_world *w, uint32_t nth, int fd)
{
	const char *node = vt_info_get(&w->dir.prog[nth].about, "node");
	char self[PATH_MAX], index[16], share[16], timeout[24];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct argv_words words = { .n = 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (len < 0)
		start_fail(errno);
	self[len] = '\0';
	snprintf(index, sizeof(index), "%u", nth);
	snprintf(share, sizeof(share), "%d", fd);
	snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)(a->timeout / 1000000000u));
	if (a->real)
		start_set_part(a, false);
	if (a->run)
		argv_add_run(&words, a, node && strcmp(node, "-") != 0 ? node : NULL, a->real);
	argv_add(&words, self);
	argv_add_option(&words, "--part", index);
	argv_add_option(&words, "--share", share);
	argv_add_option(&words, "--timeout", timeout);
	argv_add_option(&words, "--pace", a->pace ? "recorded" : "fast");
	argv_add_option(&words, "--live", a->trace);
	argv_add_option(&words, "--ignore", a->ignore);
	argv_add_option(&words, "--unexpected", a->unexpected);
	if (!a->run)
		argv_add(&words, "--devices");
	if (a->capabilities)
		argv_add(&words, "--capabilities");
	argv_add(&words, "--");
	argv_add(&words, a->dir);
	start_exec(words.argv);
}

/* With --json only the result goes to standard output; output of other programs goes to stderr. */
static void start_redirect_stdout(const struct rp_args *a)
{
	if (a->json && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(rp_complain(strerror(errno)));
}

static void start_exec_live(const struct rp_args *a)
{
	struct argv_words words = { .n = 0 };
	const char **argv;
	size_t count = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	start_redirect_stdout(a);
	start_set_part(a, true);
	argv_add_run(&words, a, a->live_node, true);
	while (a->live[count])
		count++;
	argv = calloc(words.n + count + 1, sizeof(*argv));
	if (!argv)
		start_fail(ENOMEM);
	memcpy(argv, words.argv, words.n * sizeof(*argv));
	memcpy(argv + words.n, a->live, count * sizeof(*argv));
	start_exec(argv);
}

static void start_exec_real(const struct rp_args *a)
{
	struct argv_words words = { .n = 0 };
	char *line;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	start_redirect_stdout(a);
	start_set_part(a, false);
	if (asprintf(&line, "exec %s", a->real) < 0)
		start_fail(ENOMEM);
	argv_add_run(&words, a, a->node, true);
	argv_add(&words, "/bin/sh");
	argv_add_option(&words, "-c", line);
	start_exec(words.argv);
}

/* Flushes first, so that buffered output is written once. */
static pid_t start_fork(void)
{
	fflush(NULL);
	return fork();
}

pid_t rp_start_part(const struct rp_args *a, const struct rp_world *w, uint32_t nth, int fd)
{
	pid_t pid = start_fork();

	if (!pid)
		start_exec_part(a, w, nth, fd);
	return pid;
}

pid_t rp_start_live(const struct rp_args *a)
{
	pid_t pid = start_fork();

	if (!pid)
		start_exec_live(a);
	return pid;
}

pid_t rp_start_real(const struct rp_args *a)
{
	pid_t pid = start_fork();

	if (!pid)
		start_exec_real(a);
	return pid;
}

int rp_run_command(const struct rp_args *a, const char *const tool[])
{
	struct argv_words words = { .n = 0 };
	int status;
	pid_t pid;

	argv_add(&words, a->run);
	argv_add(&words, tool[0]);
	argv_add(&words, tool[1]);
	argv_add_option(&words, "--fabric", a->fabric);
	argv_add(&words, tool[2]);
	pid = start_fork();
	if (!pid) {
		start_redirect_stdout(a);
		start_exec(words.argv);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int rp_wait(pid_t pid, uint64_t timeout)
{
	uint64_t since = vt_now();
	unsigned int rest = 0;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (vt_now() - since > timeout)
			return -1;
		rp_wait_step(&rest);
	}
	return status;
}

void rp_program_ended(struct rp_world *w, uint32_t nth, int status)
{
	struct rp_slot *slot = rp_slots_of(w, nth);
	uint32_t none = 0;

	rp_slot_advance(slot, RP_DONE);
	if (!status || !__atomic_compare_exchange_n(&w->share->failed, &none, 1, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	if (WIFSIGNALED(status))
		snprintf(w->share->why, sizeof(w->share->why),
			 "p%u: its replay was ended by signal %d (%s)", w->dir.prog[nth].num,
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(w->share->why, sizeof(w->share->why),
			 "p%u: its replay could not be started (status %d)", w->dir.prog[nth].num,
			 WEXITSTATUS(status));
	__atomic_store_n(&w->share->failed, 2, __ATOMIC_SEQ_CST);
	rp_slots_wake_all(w);
}
