// SPDX-License-Identifier: MIT
/**
 * DOC: `rdmaemu replay`: a fresh fabric like the recorded one, rdmaemu-replay on it, and its end.
 */
#include "fabric/atend.h"
#include "fabric/child.h"
#include "fabric/cli.h"
#include "fabric/nodes.h"
#include "fabric/scenario.h"
#include "traces/vtrace_read.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLAY "rdmaemu-replay"

static int beside(const char *name, char path[PATH_MAX], char self[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return trouble("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, name) >= PATH_MAX ||
	    access(path, X_OK))
		return trouble("%s: %s", path, strerror(errno));
	return 0;
}

/* A file of the trace that has a setting, unless one was given. */
static int from_file(struct opts *o, enum opt_id id, char to[PATH_MAX], const char *dir,
		     const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (o->level[id] == LEVEL_FLAG)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX)
		return trouble("%s: path too long", dir);
	if (stat(path, &st)) {
		if (id != OPT_PROFILE)
			to[0] = '\0';
		return 0;
	}
	snprintf(to, PATH_MAX, "%s", path);
	o->level[id] = LEVEL_FLAG;
	return 0;
}

/* Settings of the recorded fabric. Flags win, variables and files of now do not. */
static int recorded(struct opts *o, const char *dir, const struct vt_dir *d)
{
	const char *seed = vt_thing(&d->about, "seed"), *profile = vt_thing(&d->about, "profile"),
		   *chaos = vt_thing(&d->about, "chaos"), *subnet = vt_thing(&d->about, "subnet"),
		   *isolated = vt_thing(&d->about, "isolated");

	if (seed && o->level[OPT_SEED] != LEVEL_FLAG && !parse_number(seed, ~0ULL, &o->seed))
		return trouble("%s/trace: seed '%s': expected a number of at most 64 bits", dir,
			       seed);
	if (profile && *profile && o->level[OPT_PROFILE] != LEVEL_FLAG)
		snprintf(o->profile, sizeof(o->profile), "%s", profile);
	if (chaos && o->level[OPT_CHAOS] != LEVEL_FLAG && strcmp(chaos, "no") != 0) {
		if (!parse_number(chaos, ~0ULL, &o->chaos_seed))
			return trouble("%s/trace: chaos '%s': expected a number of at most 64 bits",
				       dir, chaos);
		o->chaos = true;
	}
	if (subnet && *subnet && o->level[OPT_SUBNET] != LEVEL_FLAG)
		snprintf(o->subnet, sizeof(o->subnet), "%s", subnet);
	if (isolated && o->level[OPT_ISOLATED] != LEVEL_FLAG)
		o->isolated = !strcmp(isolated, "yes");
	return from_file(o, OPT_PROFILE, o->profile, dir, "profile.conf") ||
	       from_file(o, OPT_SCENARIO, o->scenario, dir, "scenario.txt") ||
	       from_file(o, OPT_TOPOLOGY, o->topology, dir, "topology.txt");
}

/* Addresses are given to nodes as they are made: in the order of the record. */
static int make_nodes(const struct vt_dir *d, char *self, char *fabric)
{
	char *argv[] = { self, "run", "--fabric", fabric, "--node", NULL, "--", "true", NULL };
	const char *node;
	int status = 0;
	u32 i;

	for (i = 0; i < d->n_progs && !status; i++) {
		node = vt_thing(&d->prog[i].about, "node");
		if (!node || !strcmp(node, "-") || !strcmp(node, "node0"))
			continue;
		argv[5] = (char *)node;
		if (child_run(argv, &status))
			status = -1;
	}
	return status ? trouble("replay: the trace's nodes cannot be made") : 0;
}

/* @as: index of the program that is played, against @live; -1: all are. */
static int play(const struct opts *o, char *replay, char *self, char *fabric, char *dir, int as,
		char **live, int *status)
{
	char timeout[24], index[16], trace[PATH_MAX + 8];
	char *argv[256];
	int n = 0, ret;

	snprintf(timeout, sizeof(timeout), "%u", o->timeout);
	argv[n++] = replay;
	argv[n++] = "--timeout";
	argv[n++] = timeout;
	argv[n++] = "--pace";
	argv[n++] = o->pace ? "recorded" : "fast";
	if (o->json)
		argv[n++] = "--json";
	if (fabric) {
		argv[n++] = "--run";
		argv[n++] = self;
		argv[n++] = "--fabric";
		argv[n++] = fabric;
	}
	if (as >= 0) {
		snprintf(index, sizeof(index), "%d", as);
		snprintf(trace, sizeof(trace), "%s/live", o->dir);
		argv[n++] = "--as";
		argv[n++] = index;
		argv[n++] = "--live";
		argv[n++] = trace;
	}
	if (o->ignore[0]) {
		argv[n++] = "--ignore";
		argv[n++] = (char *)o->ignore;
	}
	argv[n++] = "--";
	argv[n++] = dir;
	while (as >= 0 && *live && n < (int)ARRAY_SIZE(argv) - 1)
		argv[n++] = *live++;
	if (as >= 0 && *live)
		return trouble("replay: expected a command of at most %zu words",
			       ARRAY_SIZE(argv) - 24);
	argv[n] = NULL;
	ret = child_run(argv, status);
	return ret ? trouble("%s: %s", replay, strerror(-ret)) : 0;
}

static int stop(char *self, char *fabric)
{
	char *argv[] = { self, "fabric", "stop", "--fabric", fabric, NULL };
	int status, ret;

	ret = child_run(argv, &status);
	return ret || status ? trouble("replay: fabric %s does not stop", fabric) : 0;
}

static int start(struct opts *o, const struct fabric_paths *p)
{
	struct scenario s;
	struct proto_msg m;
	int sock;

	if (scenario_load(&s, o))
		return -1;
	/* The lease is this process's: the fabric goes when it is killed. */
	sock = ctl_start(o, p, false, &m);
	return sock < 0 || scenario_add(&s, sock, o, NULL, NULL) ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/*
 * A directory of state for this replay alone: GUIDs, and so addresses, follow from the fabric's name and its user, and
 * a fabric of that name may be running.
 */
static int own_place(struct opts *o, const struct fabric_paths *p, const struct vt_dir *d,
		     struct fabric_paths *fresh)
{
	const char *name = vt_thing(&d->about, "fabric"), *uid = vt_thing(&d->about, "uid");

	if (name && !node_name_ok(name))
		return trouble("%s/trace: fabric '%s': expected " NAME_EXPECTED, d->path, name);
	if (o->level[OPT_FABRIC] != LEVEL_FLAG)
		snprintf(o->fabric, sizeof(o->fabric), "%s", name ? name : "default");
	if (uid && setenv(NODES_UID_ENV, uid, 1))
		return trouble("environment: %s", strerror(errno));
	if (snprintf(o->dir, sizeof(o->dir), "%s/replay-XXXXXX", p->dir) >= PATH_MAX ||
	    !mkdtemp(o->dir))
		return trouble("%s: %s", o->dir, strerror(errno));
	if (setenv("RDMAEMU_DIR", o->dir, 1))
		return trouble("environment: %s", strerror(errno));
	return paths_of(fresh, o->dir, o->fabric);
}

static int on_fabric(struct opts *o, const struct fabric_paths *p, const struct vt_dir *d,
		     char *replay, char *self, char *dir, int as, char **live)
{
	static struct fabric_paths fresh;
	int status = 0, ret;

	if (setenv(AT_END_SILENT_ENV, "1", 1))
		return trouble("environment: %s", strerror(errno)), EXIT_USAGE;
	if (own_place(o, p, d, &fresh))
		return EXIT_USAGE;
	ret = recorded(o, dir, d) || start(o, &fresh);
	if (!ret) {
		ret = make_nodes(d, self, o->fabric) ||
		      play(o, replay, self, o->fabric, dir, as, live, &status);
		ret |= stop(self, o->fabric);
	}
	nftw(o->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (ret)
		return EXIT_USAGE;
	child_leave(status);
}

/* The program of the trace that --as names: by name, or as p1. Return: its index, or -1 after a line on stderr. */
static int find_program(const struct vt_dir *d, const char *which)
{
	const char *name;
	char nth[16];
	int found = -1;
	u32 i;

	for (i = 0; i < d->n_progs; i++) {
		snprintf(nth, sizeof(nth), "p%u", d->prog[i].num);
		if (!strcmp(nth, which))
			return (int)i;
		name = vt_thing(&d->prog[i].about, "name");
		if (!name || strcmp(name, which) != 0)
			continue;
		if (found >= 0)
			return trouble("replay: --as '%s': expected one of several of that name: "
				       "p1, p2 ...",
				       which);
		found = (int)i;
	}
	return found >= 0 ? found
			  : trouble("replay: --as '%s': expected a program of %s", which, d->path);
}

int verb_replay(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	char replay[PATH_MAX], self[PATH_MAX];
	static struct vt_dir d;
	struct vt_error err;
	int status, as = -1;

	if (o->as[0] && argc < 2) {
		trouble("replay: --as: expected a live program behind '%s --'", argv[0]);
		return EXIT_USAGE;
	}
	if (!o->as[0] && argc != 1) {
		trouble("replay: expected one trace directory; see 'rdmaemu replay --help'");
		return EXIT_USAGE;
	}
	if (vt_open(&d, argv[0], &err)) {
		trouble("%s", err.text);
		return EXIT_USAGE;
	}
	if (o->as[0])
		as = find_program(&d, o->as);
	if ((o->as[0] && as < 0) || beside(REPLAY, replay, self))
		return EXIT_USAGE;
	if (o->real && as >= 0) {
		trouble("replay: --as: expected to be on a fabric, not --real");
		return EXIT_USAGE;
	}
	if (!o->real)
		return on_fabric(o, p, &d, replay, self, argv[0], as, argv + 1);
	if (play(o, replay, self, NULL, argv[0], -1, NULL, &status))
		return EXIT_USAGE;
	child_leave(status);
}
