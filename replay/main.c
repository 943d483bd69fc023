// SPDX-License-Identifier: MIT
/**
 * DOC: rdmaemu-replay: play a trace. `rdmaemu replay` makes the fabric and starts it; it starts itself once per program
 * of the trace, there by `rdmaemu run` on the program's node.
 */
#include "replay/replay.h"

#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct args {
	const char *dir;
	const char *run; /* rdmaemu; NULL: on the devices that there are */
	const char *fabric;
	bool pace;
	bool json;
	uint64_t timeout;
	long as; /* index of the program that is played, against a live other one; -1: all are */
	char **live; /* what is live: its command */
	const char *trace; /* and where its trace is written */
	const char *ignore; /* fields */
	long part; /* index of the program to play; -1: all, by processes of their own */
	int share;
};

static int complain(const char *text)
{
	fprintf(stderr, "rdmaemu: replay: %s\n", text);
	return 2;
}

static bool number(const char *text, long max, long *v)
{
	char *end;

	errno = 0;
	*v = strtol(text, &end, 10);
	return !errno && end != text && !*end && *v >= 0 && *v <= max;
}

static int parse(struct args *a, int argc, char **argv)
{
	static const struct option options[] = {
		{ "run", required_argument, NULL, 'r' },
		{ "fabric", required_argument, NULL, 'f' },
		{ "pace", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "timeout", required_argument, NULL, 't' },
		{ "part", required_argument, NULL, 'P' },
		{ "share", required_argument, NULL, 's' },
		{ "as", required_argument, NULL, 'a' },
		{ "live", required_argument, NULL, 'l' },
		{ "ignore", required_argument, NULL, 'i' },
		{ 0 },
	};
	long v;
	int c;

	*a = (struct args){
		.timeout = RP_TIMEOUT * 1000000000ULL, .part = -1, .share = -1, .as = -1
	};
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			a->run = optarg;
			break;
		case 'f':
			a->fabric = optarg;
			break;
		case 'j':
			a->json = true;
			break;
		case 'p':
			a->pace = !strcmp(optarg, "recorded");
			if (!a->pace && strcmp(optarg, "fast") != 0)
				return complain("--pace: expected recorded or fast");
			break;
		case 't':
			if (!number(optarg, 86400, &v) || !v)
				return complain("--timeout: expected seconds, 1 to 86400");
			a->timeout = (uint64_t)v * 1000000000u;
			break;
		case 'P':
			if (!number(optarg, VT_MAX_PROGS, &a->part))
				return complain("--part: expected the index of a program");
			break;
		case 's':
			if (!number(optarg, INT_MAX, &v))
				return complain("--share: expected a descriptor");
			a->share = (int)v;
			break;
		case 'a':
			if (!number(optarg, VT_MAX_PROGS, &a->as))
				return complain("--as: expected the index of a program");
			break;
		case 'l':
			a->trace = optarg;
			break;
		case 'i':
			a->ignore = optarg;
			break;
		default:
			return 2;
		}
	}
	a->live = argv + optind + 1;
	if (argc - optind < 1 || (argc - optind > 1) != (a->as >= 0 && a->part < 0) ||
	    (a->as >= 0 && !a->trace) || (a->part >= 0 && a->share < 0) || (a->run && !a->fabric))
		return complain(
			"usage: rdmaemu-replay [--pace recorded|fast] [--timeout SECONDS] [--json] "
			"[--run RDMAEMU --fabric NAME] DIR");
	a->dir = argv[optind];
	return 0;
}

static void become(const struct args *a, const struct rp_world *w, uint32_t nth, int fd)
{
	const char *node = vt_thing(&w->dir.prog[nth].about, "node");
	char self[PATH_MAX], part[16], share[16], timeout[24];
	const char *argv[32];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (len < 0)
		_exit(complain(strerror(errno)));
	self[len] = '\0';
	snprintf(part, sizeof(part), "%u", nth);
	snprintf(share, sizeof(share), "%d", fd);
	snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)(a->timeout / 1000000000u));
	if (a->run) {
		argv[n++] = a->run;
		argv[n++] = "run";
		argv[n++] = "--fabric";
		argv[n++] = a->fabric;
		if (node && strcmp(node, "-") != 0) {
			argv[n++] = "--node";
			argv[n++] = node;
		}
		argv[n++] = "--";
	}
	argv[n++] = self;
	argv[n++] = "--part";
	argv[n++] = part;
	argv[n++] = "--share";
	argv[n++] = share;
	argv[n++] = "--timeout";
	argv[n++] = timeout;
	argv[n++] = "--pace";
	argv[n++] = a->pace ? "recorded" : "fast";
	if (a->trace) {
		argv[n++] = "--live";
		argv[n++] = a->trace;
	}
	if (a->ignore) {
		argv[n++] = "--ignore";
		argv[n++] = a->ignore;
	}
	argv[n++] = "--";
	argv[n++] = a->dir;
	argv[n] = NULL;
	execv(argv[0], (char **)argv);
	fprintf(stderr, "rdmaemu: replay: %s: %s\n", argv[0], strerror(errno));
	_exit(2);
}

/* The live program, on the node of the recorded one. */
static void become_live(const struct args *a, const struct rp_world *w)
{
	const char *node = NULL, **argv;
	uint32_t i, n = 0, count = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (i = 0; i < w->dir.n_progs && !node; i++)
		if (i != (uint32_t)a->as)
			node = vt_thing(&w->dir.prog[i].about, "node");
	while (a->live[count])
		count++;
	argv = calloc(count + 16, sizeof(*argv));
	if (!argv)
		_exit(complain(strerror(ENOMEM)));
	argv[n++] = a->run;
	argv[n++] = "record";
	argv[n++] = "--out";
	argv[n++] = a->trace;
	argv[n++] = "--fabric";
	argv[n++] = a->fabric;
	if (node && strcmp(node, "-") != 0) {
		argv[n++] = "--node";
		argv[n++] = node;
	}
	argv[n++] = "--";
	memcpy(argv + n, a->live, count * sizeof(*argv));
	execv(argv[0], (char **)argv);
	fprintf(stderr, "rdmaemu: replay: %s: %s\n", argv[0], strerror(errno));
	_exit(2);
}

/* A program has gone, and with it all that it had. */
static void gone(struct rp_world *w, uint32_t nth, int status)
{
	struct rp_slot *slot = w->slot;
	uint32_t i, none = 0;

	for (i = 0; i < nth; i++)
		slot += w->dir.prog[i].n_threads + 1;
	__atomic_store_n(&slot->next_end, RP_DONE, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&w->share->beat, 1, __ATOMIC_SEQ_CST);
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
}

static void print_json(const struct rp_world *w, bool failed)
{
	const struct rp_count *c = &w->share->count;
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "divergence",
			       failed ? json_object_new_string(w->share->why) : NULL);
	json_object_object_add(o, "programs", json_object_new_int64(w->dir.n_progs));
	json_object_object_add(o, "calls", json_object_new_int64((int64_t)c->calls));
	json_object_object_add(o, "work_requests", json_object_new_int64((int64_t)c->wrs));
	json_object_object_add(o, "completions", json_object_new_int64((int64_t)c->wcs));
	json_object_object_add(o, "events", json_object_new_int64((int64_t)c->events));
	json_object_object_add(o, "bytes", json_object_new_int64((int64_t)c->bytes));
	json_object_object_add(o, "memory_regions", json_object_new_int64((int64_t)c->mems));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static int result(const struct args *a, struct rp_world *w)
{
	const struct rp_count *c = &w->share->count;
	bool failed = rp_failed(w);
	unsigned int rest = 0;

	while (failed && __atomic_load_n(&w->share->failed, __ATOMIC_SEQ_CST) != 2 && rest < 10000)
		rp_rest(&rest);
	if (a->json)
		print_json(w, failed);
	else if (failed)
		printf("%s\n", w->share->why);
	else
		printf("%u programs, %llu calls, %llu work requests, %llu completions, %llu memory "
		       "regions: no "
		       "divergence\n",
		       w->dir.n_progs, (unsigned long long)c->calls, (unsigned long long)c->wrs,
		       (unsigned long long)c->wcs, (unsigned long long)c->mems);
	return failed;
}

static struct rp_slot *slots_of(struct rp_world *w, uint32_t prog)
{
	struct rp_slot *slot = w->slot;
	uint32_t i;

	for (i = 0; i < prog; i++)
		slot += w->dir.prog[i].n_threads + 1;
	return slot;
}

/* Whether all of a program's calls that ended by @end have ended here. */
static bool has_come_to(struct rp_world *w, uint32_t prog, uint64_t end)
{
	struct rp_slot *slot = slots_of(w, prog);
	uint32_t i;

	for (i = 0; i <= w->dir.prog[prog].n_threads; i++)
		if (__atomic_load_n(&slot[i].next_end, __ATOMIC_SEQ_CST) <= end)
			return false;
	return true;
}

/* A child's end, or -1: it is still there after @timeout ns. */
static int await(pid_t pid, uint64_t timeout)
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

static pid_t start_live(const struct args *a, struct rp_world *w)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		become_live(a, w);
	return pid;
}

/* Who is to be connected with listens first. Returns false: it does not in time. */
static bool live_listens(const struct args *a, struct rp_world *w, pid_t live)
{
	uint64_t since = vt_now();
	unsigned int rest = 0;
	bool needed = false;
	uint32_t i;

	for (i = 0; i < w->dir.n_progs; i++)
		needed |= i != (uint32_t)a->as && rp_called(&w->dir.prog[i], "rdma_listen");
	while (needed && !rp_live_called(a->trace, "rdma_listen")) {
		if (vt_now() - since > a->timeout || kill(live, 0))
			return false;
		rp_rest(&rest);
	}
	return true;
}

/* One recorded program, and a live one in place of the others. */
static int play_as(const struct args *a, struct rp_world *w)
{
	uint32_t i, t, as = (uint32_t)a->as;
	uint64_t listens = rp_called(&w->dir.prog[as], "rdma_listen");
	int fd = memfd_create("rdmaemu-replay", 0), status, ret;
	pid_t live = 0, player;
	unsigned int rest = 0;

	if (fd < 0 || ftruncate(fd, (off_t)w->share_size) || rp_world_map(w, fd, true))
		return complain(strerror(errno));
	w->share->players = 1;
	for (i = 0; i < w->dir.n_progs; i++)
		for (t = 0; i != as && t <= w->dir.prog[i].n_threads; t++)
			slots_of(w, i)[t].next_end = RP_DONE;
	if (!listens) {
		live = start_live(a, w);
		if (live < 0 || !live_listens(a, w, live))
			return complain(
				"the live program does not listen, as the recorded one did");
	}
	fflush(NULL);
	player = fork();
	if (!player)
		become(a, w, as, fd);
	if (player < 0)
		return complain(strerror(errno));
	while (listens && !has_come_to(w, as, listens) && !rp_failed(w) && !kill(player, 0))
		rp_rest(&rest);
	if (listens)
		live = start_live(a, w);
	waitpid(player, &status, 0);
	gone(w, as, status);
	ret = result(a, w);
	status = live > 0 ? await(live, ret ? 0 : a->timeout) : 0;
	if (status < 0) {
		kill(live, SIGTERM);
		status = await(live, 5000000000u);
		if (!ret)
			return complain("the live program goes on after all that was recorded");
	}
	if (ret || !status)
		return ret;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int play_all(const struct args *a, struct rp_world *w)
{
	int fd = memfd_create("rdmaemu-replay", 0), status;
	pid_t pid[VT_MAX_PROGS], end;
	uint32_t i, left;

	if (fd < 0 || ftruncate(fd, (off_t)w->share_size) || rp_world_map(w, fd, true))
		return complain(strerror(errno));
	w->share->players = w->dir.n_progs;
	fflush(NULL);
	for (i = 0; i < w->dir.n_progs; i++) {
		pid[i] = fork();
		if (!pid[i])
			become(a, w, i, fd);
		if (pid[i] < 0)
			gone(w, i, 2 << 8);
	}
	for (left = w->dir.n_progs; left;) {
		end = waitpid(-1, &status, 0);
		if (end < 0 && errno == EINTR)
			continue;
		if (end < 0)
			break;
		for (i = 0; i < w->dir.n_progs; i++) {
			if (pid[i] == end) {
				gone(w, i, status);
				left--;
			}
		}
	}
	return result(a, w);
}

int main(int argc, char **argv)
{
	static struct rp_world w;
	struct vt_error err;
	struct args a;
	char *list;

	if (parse(&a, argc, argv))
		return 2;
	if (rp_world_open(&w, a.dir, &err))
		return complain(err.text);
	w.live = a.trace;
	if (a.ignore && (!(list = strdup(a.ignore)) || !rp_ignore(&w, list)))
		return complain("--ignore: expected " RP_FIELDS);
	if (a.as >= 0 && (uint32_t)a.as >= w.dir.n_progs)
		return complain("--as: expected the index of a program of the trace");
	if (a.part < 0)
		return a.as >= 0 ? play_as(&a, &w) : play_all(&a, &w);
	if ((uint32_t)a.part >= w.dir.n_progs || rp_world_map(&w, a.share, false))
		return complain("not started by rdmaemu-replay");
	return rp_play(&w, (uint32_t)a.part, a.pace, a.timeout);
}
