/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdmaemu-replay: plays a trace. `rdmaemu replay` makes the fabric and starts it. It starts
 * itself once per program of the trace, by `rdmaemu run` on the program's node.
 */
#include "traces/replay/run.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int rp_complain(const char *text)
{
	fprintf(stderr, "rdmaemu: replay: %s\n", text);
	return 2;
}

static bool arg_number(const char *text, long max, long *v)
{
	char *end;

	errno = 0;
	*v = strtol(text, &end, 10);
	return !errno && end != text && !*end && *v >= 0 && *v <= max;
}

/* Parses "0,3": programs to play one after the other; "": none. */
static bool arg_indexes(struct rp_args *a, const char *list)
{
	long v;
	char *end;

	a->as = true;
	for (a->n_as = 0; *list; list = end + (*end == ',')) {
		v = strtol(list, &end, 10);
		if (end == list || (*end && *end != ',') || v < 0 || v >= VT_MAX_PROGS ||
		    a->n_as == VT_MAX_PROGS)
			return false;
		a->nth[a->n_as++] = (uint32_t)v;
	}
	return true;
}

/* Whether all options are present that playing against a live program needs. */
static bool args_are_whole(const struct rp_args *a)
{
	return a->run && a->trace && (a->n_as || a->real) &&
	       (!a->real || (a->keep && a->episode && a->name && a->request));
}

static int args_parse(struct rp_args *a, int argc, char **argv)
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
		{ "unexpected", required_argument, NULL, 'u' },
		{ "name", required_argument, NULL, 'n' },
		{ "request", required_argument, NULL, 'q' },
		{ "real", required_argument, NULL, 'R' },
		{ "keep", required_argument, NULL, 'k' },
		{ "episode", required_argument, NULL, 'e' },
		{ "node", required_argument, NULL, 'N' },
		{ "live-node", required_argument, NULL, 'L' },
		{ "live-first", no_argument, NULL, 'F' },
		{ "devices", no_argument, NULL, 'D' },
		{ "capabilities", no_argument, NULL, 'C' },
		{ 0 },
	};
	long v;
	int c;

	*a = (struct rp_args){ .timeout = RP_TIMEOUT * 1000000000ULL, .part = -1, .share = -1 };
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
				return rp_complain("--pace: expected recorded or fast");
			break;
		case 't':
			if (!arg_number(optarg, 86400, &v) || !v)
				return rp_complain("--timeout: expected seconds, 1 to 86400");
			a->timeout = (uint64_t)v * 1000000000u;
			break;
		case 'P':
			if (!arg_number(optarg, VT_MAX_PROGS, &a->part))
				return rp_complain("--part: expected the index of a program");
			break;
		case 's':
			if (!arg_number(optarg, INT_MAX, &v))
				return rp_complain("--share: expected a descriptor");
			a->share = (int)v;
			break;
		case 'a':
			if (!arg_indexes(a, optarg))
				return rp_complain("--as: expected indexes of programs");
			break;
		case 'l':
			a->trace = optarg;
			break;
		case 'i':
			a->ignore = optarg;
			break;
		case 'u':
			a->unexpected = optarg;
			break;
		case 'n':
			a->name = optarg;
			break;
		case 'q':
			a->request = optarg;
			break;
		case 'R':
			a->real = optarg;
			break;
		case 'k':
			a->keep = optarg;
			break;
		case 'e':
			a->episode = optarg;
			break;
		case 'N':
			a->node = optarg;
			break;
		case 'L':
			a->live_node = optarg;
			break;
		case 'F':
			a->live_first = true;
			break;
		case 'D':
			a->devices = true;
			break;
		case 'C':
			a->capabilities = true;
			break;
		default:
			return 2;
		}
	}
	a->live = argv + optind + 1;
	if (argc - optind < 1 || (argc - optind > 1) != a->as || (a->as && !args_are_whole(a)) ||
	    (a->part >= 0 && a->share < 0) || (a->run && !a->fabric))
		return rp_complain(
			"usage: rdmaemu-replay [--pace recorded|fast] [--timeout SECONDS] [--json] "
			"[--run RDMAEMU --fabric NAME] DIR");
	a->dir = argv[optind];
	return 0;
}

/*
 * Whether a program belongs to an episode with several parts. Requests were held back between the
 * parts (live_session.c). The order of calls does not show that, so a plain replay would refuse all
 * parts but one.
 */
static bool program_needs_live(const struct rp_world *w, uint32_t nth)
{
	const char *episode = vt_info_get(&w->dir.prog[nth].about, "episode"), *other;
	uint32_t i, parts = 0;

	for (i = 0; episode && i < w->dir.n_progs; i++) {
		other = vt_info_get(&w->dir.prog[i].about, "episode");
		parts += other && !strcmp(other, episode) &&
			 vt_info_get(&w->dir.prog[i].about, "as");
	}
	return parts > 1;
}

/* A program that is not played counts as ended. */
static void program_leave_out(struct rp_world *w, uint32_t nth)
{
	uint32_t t;

	for (t = 0; t <= w->dir.prog[nth].n_threads; t++)
		rp_slots_of(w, nth)[t].next_end = RP_DONE;
}

static int rp_play_all(const struct rp_args *a, struct rp_world *w)
{
	int fd = memfd_create("rdmaemu-replay", 0), status;
	struct rp_count sum = { 0 };
	pid_t pid[VT_MAX_PROGS] = { 0 }, end;
	const char *why;
	uint32_t i, left;

	if (fd < 0 || ftruncate(fd, (off_t)w->share_size) || rp_world_map(w, fd, true))
		return rp_complain(strerror(errno));
	for (i = 0, left = 0; i < w->dir.n_progs; i++) {
		if (program_needs_live(w, i))
			program_leave_out(w, i);
		else
			left++;
	}
	w->share->players = left;
	for (i = 0; i < w->dir.n_progs; i++) {
		pid[i] = program_needs_live(w, i) ? 0 : rp_start_part(a, w, i, fd);
		if (pid[i] < 0)
			rp_program_ended(w, i, 2 << 8);
	}
	while (left) {
		end = waitpid(-1, &status, 0);
		if (end < 0 && errno == EINTR)
			continue;
		if (end < 0)
			break;
		for (i = 0; i < w->dir.n_progs; i++) {
			if (pid[i] == end) {
				rp_program_ended(w, i, status);
				left--;
			}
		}
	}
	why = rp_result_divergence(w);
	if (why && __atomic_load_n(&w->share->unfit, __ATOMIC_SEQ_CST))
		return rp_complain(why);
	rp_result_add(&sum, w);
	result_show(a, w->share->players, &sum, why, 0);
	return why != NULL;
}

int main(int argc, char **argv)
{
	static struct rp_world w;
	struct vt_error err;
	struct rp_args a;
	uint32_t i;
	char *list;
	int ret;

	if (args_parse(&a, argc, argv))
		return 2;
	if ((!a.as || a.n_as || a.part >= 0) && rp_world_open(&w, a.dir, &err))
		return rp_complain(err.text);
	w.live = a.trace;
	w.on_devices = a.devices;
	w.capabilities = a.capabilities;
	if (a.ignore && (!(list = strdup(a.ignore)) || !rp_policy_ignore(&w, list)))
		return rp_complain("--ignore: expected " RP_FIELDS);
	if (a.unexpected && !rp_policy_set(&w, a.unexpected))
		return rp_complain("--unexpected: expected fail, wait or ignore");
	for (i = 0; i < a.n_as; i++)
		if (a.nth[i] >= w.dir.n_progs)
			return rp_complain("--as: expected indexes of programs of the trace");
	if (a.part < 0) {
		ret = a.as ? rp_live_session(&a, &w) : rp_play_all(&a, &w);
		return fflush(stdout) || ferror(stdout)
			       ? rp_complain("standard output: it could not be written")
			       : ret;
	}
	if ((uint32_t)a.part >= w.dir.n_progs || rp_world_map(&w, a.share, false))
		return rp_complain("not started by rdmaemu-replay");
	return rp_play_program(&w, (uint32_t)a.part, a.pace, a.timeout);
}
