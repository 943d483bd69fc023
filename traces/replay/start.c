/* SPDX-License-Identifier: MIT */
/* The processes of a replay: each starts as a child of rdmaemu-replay, by `rdmaemu run` or `rdmaemu record`. */
#include "traces/replay/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_ENV  "RDMAEMU_RECORD_PART" /* of the recorder */
#define WORDS_MAX 64u

/** struct words - a command that is put together. */
struct words {
	const char *argv[WORDS_MAX];
	size_t n;
};

static void put(struct words *w, const char *word)
{
	if (w->n < WORDS_MAX - 1)
		w->argv[w->n++] = word;
}

static void put_two(struct words *w, const char *flag, const char *value)
{
	if (!value)
		return;
	put(w, flag);
	put(w, value);
}

/* @record: it gets a part of the trace of the live program */
static void put_run(struct words *w, const struct args *a, const char *node, bool record)
{
	put(w, a->run);
	put(w, record ? "record" : "run");
	if (record)
		put_two(w, "--out", a->trace);
	put_two(w, "--fabric", a->fabric);
	put_two(w, "--node", node);
	put(w, "--");
}

static void __attribute__((noreturn)) fail(int error)
{
	_exit(complain(strerror(error)));
}

static void __attribute__((noreturn)) become(const char *const argv[])
{
	execv(argv[0], (char **)argv);
	fprintf(stderr, "rdmaemu: replay: %s: %s\n", argv[0], strerror(errno));
	_exit(2);
}

/* What the file "program" of those says that are recorded; see fabric/cli/episodes.h. */
static void say_part(const struct args *a, bool live)
{
	char *text;

	if (!a->trace)
		return;
	if (asprintf(&text, "episode %s\nrequest %s\n%s%s%s", a->episode ? a->episode : "0",
		     a->request ? a->request : "", live ? "" : "as ", live ? "" : a->name,
		     live ? "" : "\n") < 0 ||
	    setenv(PART_ENV, text, 1))
		fail(ENOMEM);
	free(text);
}

static void part(const struct args *a, const struct rp_world *w, uint32_t nth, int fd)
{
	const char *node = vt_thing(&w->dir.prog[nth].about, "node");
	char self[PATH_MAX], index[16], share[16], timeout[24];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct words words = { .n = 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (len < 0)
		fail(errno);
	self[len] = '\0';
	snprintf(index, sizeof(index), "%u", nth);
	snprintf(share, sizeof(share), "%d", fd);
	snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)(a->timeout / 1000000000u));
	if (a->real)
		say_part(a, false);
	if (a->run)
		put_run(&words, a, node && strcmp(node, "-") != 0 ? node : NULL, a->real);
	put(&words, self);
	put_two(&words, "--part", index);
	put_two(&words, "--share", share);
	put_two(&words, "--timeout", timeout);
	put_two(&words, "--pace", a->pace ? "recorded" : "fast");
	put_two(&words, "--live", a->trace);
	put_two(&words, "--ignore", a->ignore);
	put_two(&words, "--unexpected", a->unexpected);
	if (!a->run)
		put(&words, "--devices");
	if (a->capabilities)
		put(&words, "--capabilities");
	put(&words, "--");
	put(&words, a->dir);
	become(words.argv);
}

/* With --json standard output is the result's alone; what others print goes to stderr. */
static void leave_stdout(const struct args *a)
{
	if (a->json && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(complain(strerror(errno)));
}

static void live(const struct args *a)
{
	struct words words = { .n = 0 };
	const char **argv;
	size_t count = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	leave_stdout(a);
	say_part(a, true);
	put_run(&words, a, a->live_node, true);
	while (a->live[count])
		count++;
	argv = calloc(words.n + count + 1, sizeof(*argv));
	if (!argv)
		fail(ENOMEM);
	memcpy(argv, words.argv, words.n * sizeof(*argv));
	memcpy(argv + words.n, a->live, count * sizeof(*argv));
	become(argv);
}

static void real(const struct args *a)
{
	struct words words = { .n = 0 };
	char *line;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	leave_stdout(a);
	say_part(a, false);
	if (asprintf(&line, "exec %s", a->real) < 0)
		fail(ENOMEM);
	put_run(&words, a, a->node, true);
	put(&words, "/bin/sh");
	put_two(&words, "-c", line);
	become(words.argv);
}

/* fork(2); what stdio holds is written once. */
static pid_t child(void)
{
	fflush(NULL);
	return fork();
}

pid_t start_part(const struct args *a, const struct rp_world *w, uint32_t nth, int fd)
{
	pid_t pid = child();

	if (!pid)
		part(a, w, nth, fd);
	return pid;
}

pid_t start_live(const struct args *a)
{
	pid_t pid = child();

	if (!pid)
		live(a);
	return pid;
}

pid_t start_real(const struct args *a)
{
	pid_t pid = child();

	if (!pid)
		real(a);
	return pid;
}

int start_tool(const struct args *a, const char *const tool[])
{
	struct words words = { .n = 0 };
	int status;
	pid_t pid;

	put(&words, a->run);
	put(&words, tool[0]);
	put(&words, tool[1]);
	put_two(&words, "--fabric", a->fabric);
	put(&words, tool[2]);
	pid = child();
	if (!pid) {
		leave_stdout(a);
		become(words.argv);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int await(pid_t pid, uint64_t timeout)
{
	uint64_t since = vt_now();
	unsigned int rest = 0;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (vt_now() - since > timeout)
			return -1;
		rp_rest(&rest);
	}
	return status;
}

void gone(struct rp_world *w, uint32_t nth, int status)
{
	struct rp_slot *slot = rp_slots_of(w, nth);
	uint32_t none = 0;

	rp_slot_at(slot, RP_DONE);
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
	rp_wake_all(w);
}
