/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdmaemu-replay: plays a trace. `rdmaemu replay` makes the fabric and starts it. It starts
 * itself once per program of the trace, by `rdmaemu run` on the program's node.
 */
#include "traces/replay/play.h"
#include "traces/replay/policy.h"
#include "traces/replay/poll.h"
#include "traces/replay/run.h"
#include "traces/replay/world.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/** enum arg_kind - how the value of an option is read. */
enum arg_kind {
	ARG_TEXT,
	ARG_FLAG,
	ARG_SECONDS, /* stored as ns */
	ARG_PROGRAM, /* index of a program */
	ARG_FD,
	ARG_PACE,
	ARG_PROGRAMS, /* list of indexes */
};

#define ARG_OPT(name, kind, member)                                                                \
	{                                                                                          \
		name, ARG_##kind, offsetof(struct rp_args, member)                                 \
	}

/** struct arg_opt - an option, and where struct rp_args has its value. */
static const struct arg_opt {
	const char *name;
	enum arg_kind kind;
	size_t off;
} arg_opts[] = {
	ARG_OPT("run", TEXT, run),
	ARG_OPT("fabric", TEXT, fabric),
	ARG_OPT("pace", PACE, pace),
	ARG_OPT("json", FLAG, json),
	ARG_OPT("timeout", SECONDS, timeout),
	ARG_OPT("part", PROGRAM, part),
	ARG_OPT("share", FD, share),
	ARG_OPT("as", PROGRAMS, as),
	ARG_OPT("live", TEXT, trace),
	ARG_OPT("ignore", TEXT, ignore),
	ARG_OPT("unexpected", TEXT, unexpected),
	ARG_OPT("name", TEXT, name),
	ARG_OPT("request", TEXT, request),
	ARG_OPT("real", TEXT, real),
	ARG_OPT("keep", TEXT, keep),
	ARG_OPT("episode", TEXT, episode),
	ARG_OPT("node", TEXT, node),
	ARG_OPT("live-node", TEXT, live_node),
	ARG_OPT("live-first", FLAG, live_first),
	ARG_OPT("devices", FLAG, devices),
	ARG_OPT("capabilities", FLAG, capabilities),
};

#define ARG_OPTS (sizeof(arg_opts) / sizeof(arg_opts[0]))

/* Returns NULL, or what was expected. */
static const char *arg_read(struct rp_args *a, const struct arg_opt *o, const char *text)
{
	void *to = (char *)a + o->off;
	long v;

	switch (o->kind) {
	case ARG_TEXT:
		*(const char **)to = text;
		return NULL;
	case ARG_FLAG:
		*(bool *)to = true;
		return NULL;
	case ARG_SECONDS:
		if (!arg_number(text, 86400, &v) || !v)
			return "expected seconds, 1 to 86400";
		*(uint64_t *)to = (uint64_t)v * 1000000000u;
		return NULL;
	case ARG_PROGRAM:
		return arg_number(text, VT_MAX_PROGS, to) ? NULL
							  : "expected the index of a program";
	case ARG_FD:
		if (!arg_number(text, INT_MAX, &v))
			return "expected a descriptor";
		*(int *)to = (int)v;
		return NULL;
	case ARG_PACE:
		*(bool *)to = !strcmp(text, "recorded");
		return *(bool *)to || !strcmp(text, "fast") ? NULL : "expected recorded or fast";
	case ARG_PROGRAMS:
		return arg_indexes(a, text) ? NULL : "expected indexes of programs";
	}
	return NULL;
}

/* Returns 0, or 2 after a line on stderr. */
static int args_parse_options(struct rp_args *a, int argc, char **argv)
{
	struct option options[ARG_OPTS + 1] = { 0 };
	const char *expected;
	char text[128];
	int c, i;

	for (i = 0; i < (int)ARG_OPTS; i++) {
		options[i].name = arg_opts[i].name;
		options[i].has_arg = arg_opts[i].kind == ARG_FLAG ? no_argument : required_argument;
	}
	while ((c = getopt_long(argc, argv, "", options, &i)) != -1) {
		if (c)
			return 2;
		expected = arg_read(a, &arg_opts[i], optarg);
		if (!expected)
			continue;
		snprintf(text, sizeof(text), "--%s: %s", arg_opts[i].name, expected);
		return rp_complain(text);
	}
	return 0;
}

static int args_parse(struct rp_args *a, int argc, char **argv)
{
	*a = (struct rp_args){ .timeout = RP_TIMEOUT * 1000000000ULL, .part = -1, .share = -1 };
	if (args_parse_options(a, argc, argv))
		return 2;
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
	rp_result_show(a, w->share->players, &sum, why, 0);
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
