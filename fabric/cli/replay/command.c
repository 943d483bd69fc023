/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu replay`: a fresh fabric like the recorded one, rdmaemu-replay on it, and its end.
 */
#include "fabric/cli/run_report.h"
#include "fabric/cli/child.h"
#include "fabric/cli/cli.h"
#include "fabric/common/nodes.h"
#include "fabric/cli/replay/live.h"
#include "fabric/cli/real.h"
#include "fabric/cli/replay/state_dir.h"
#include "fabric/cli/scenario.h"
#include "fabric/common/parse.h"
#include "traces/vtrace/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLAY "rdmaemu-replay"

static int replay_find_player(const char *name, char path[PATH_MAX], char self[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return print_error("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, name) >= PATH_MAX ||
	    access(path, X_OK))
		return print_error("%s: %s", path, strerror(errno));
	return 0;
}

/*
 * Take a setting from a file of the trace, if it exists and no option gives the setting. The first
 * of several wins.
 */
static int replay_setting_file(struct opts *o, enum opt_id id, char to[PATH_MAX], const char *dir,
			       const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (o->level[id] == LEVEL_FLAG)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX)
		return print_error("%s: path too long", dir);
	if (stat(path, &st)) {
		if (id != OPT_PROFILE)
			to[0] = '\0';
		return 0;
	}
	snprintf(to, PATH_MAX, "%s", path);
	o->level[id] = LEVEL_FLAG;
	return 0;
}

/*
 * Forget settings of the environment and the settings file that no option of a replay can give: its
 * fabric is alone, and its clock runs.
 */
static void replay_reset_settings(struct opts *o)
{
	static const enum opt_id ids[] = { OPT_LISTEN,	  OPT_JOIN,  OPT_TOKEN_FILE,
					   OPT_PLAINTEXT, OPT_NAME,  OPT_TIME_SCALE,
					   OPT_CLOCK,	  OPT_CHAOS, OPT_ROCE,
					   OPT_ROCE_PEERS };
	size_t i;

	o->listen[0] = o->join[0] = o->token_file[0] = o->name[0] = o->roce[0] = o->roce_peers[0] =
		'\0';
	o->manual = false;
	if (o->level[OPT_CHAOS] != LEVEL_FLAG)
		o->chaos = o->chaos_random = false;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		if (o->level[ids[i]] != LEVEL_FLAG)
			o->level[ids[i]] = LEVEL_DEFAULT;
}

/*
 * Take the settings of the recorded fabric. Options win; the environment and the settings file do
 * not.
 */
static int replay_load_settings(struct opts *o, const char *dir, const struct vt_dir *d)
{
	const char *seed = vt_info_get(&d->about, "seed"),
		   *profile = vt_info_get(&d->about, "profile"),
		   *chaos = vt_info_get(&d->about, "chaos"),
		   *subnet = vt_info_get(&d->about, "subnet"),
		   *isolated = vt_info_get(&d->about, "isolated"),
		   *scale = vt_info_get(&d->about, "time-scale");

	replay_reset_settings(o);
	o->ppm = CLOCK_PPM;
	if (scale && !parse_scale(scale, &o->ppm))
		return print_error("%s/trace: time-scale '%s': expected " PARSE_SCALE_EXPECTED, dir,
				   scale);
	if (seed && o->level[OPT_SEED] != LEVEL_FLAG && !parse_number(seed, ~0ULL, &o->seed))
		return print_error("%s/trace: seed '%s': expected a number of at most 64 bits", dir,
				   seed);
	if (profile && *profile && o->level[OPT_PROFILE] != LEVEL_FLAG)
		snprintf(o->profile, sizeof(o->profile), "%s", profile);
	if (chaos && o->level[OPT_CHAOS] != LEVEL_FLAG && strcmp(chaos, "no") != 0) {
		if (!parse_number(chaos, ~0ULL, &o->chaos_seed))
			return print_error(
				"%s/trace: chaos '%s': expected a number of at most 64 bits", dir,
				chaos);
		o->chaos = true;
	}
	if (subnet && *subnet && o->level[OPT_SUBNET] != LEVEL_FLAG)
		snprintf(o->subnet, sizeof(o->subnet), "%s", subnet);
	if (isolated && o->level[OPT_ISOLATED] != LEVEL_FLAG)
		o->isolated = !strcmp(isolated, "yes");
	return replay_setting_file(o, OPT_PROFILE, o->profile, dir, "profile.conf") ||
	       replay_setting_file(o, OPT_PROFILE, o->profile, dir, "profile") ||
	       replay_setting_file(o, OPT_SCENARIO, o->scenario, dir, "scenario.txt") ||
	       replay_setting_file(o, OPT_TOPOLOGY, o->topology, dir, "topology.txt");
}

/* The first program on a node makes it. */
static int replay_make_node(const char *node, char *self, char *fabric)
{
	char *argv[] = {
		self, "run", "--fabric", fabric, "--node", (char *)node, "--", "true", NULL
	};
	int status;

	return child_run(argv, NULL, NULL, &status) || status
		       ? print_error("replay: node %s cannot be made", node)
		       : 0;
}

/* The number of a program's node; older traces do not have it. */
static u64 replay_node_number(const struct vt_program *p)
{
	const char *text = vt_info_get(&p->about, "node-number");
	u64 number;

	return text && parse_number(text, HCA_MAX_NODES, &number) ? number : 0;
}

/* Make the nodes of a number, in the order of the programs. */
static int replay_make_numbered(const struct vt_dir *d, u64 number, char *self, char *fabric)
{
	const char *node;
	u32 i;

	for (i = 0; i < d->n_progs; i++) {
		node = vt_info_get(&d->prog[i].about, "node");
		if (replay_node_number(&d->prog[i]) == number && node && strcmp(node, "-") != 0 &&
		    strcmp(node, NODE_NAME) != 0 && replay_make_node(node, self, fabric))
			return -1;
	}
	return 0;
}

/*
 * Nodes get their addresses as they are made: in the order of the record, which may not be that of
 * the first calls.
 */
static int replay_make_nodes(const struct vt_dir *d, const struct replay_live *as,
			     const struct opts *o, char *self, char *fabric)
{
	const char *two[2];
	u64 number;
	u32 i;

	for (number = 0; d && number <= HCA_MAX_NODES; number++)
		if (replay_make_numbered(d, number, self, fabric))
			return -1;
	if (!as || d)
		return 0;
	two[o->live_first] = as->e.node;
	two[!o->live_first] = as->e.live_node;
	for (i = 0; i < 2; i++)
		if (two[i][0] && replay_make_node(two[i], self, fabric))
			return -1;
	return 0;
}

/* @fabric: NULL: on the machine's own devices. @as: NULL: play all programs. Return: 0 or -1 */
static int replay_run_player(const struct opts *o, char *replay, char *self, char *fabric,
			     char *dir, struct replay_live *as, int *status)
{
	char *argv[256], **live = as ? as->live : NULL;
	char timeout[24];
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
	if (o->ignore[0]) {
		argv[n++] = "--ignore";
		argv[n++] = (char *)o->ignore;
	}
	if (o->capabilities)
		argv[n++] = "--capabilities";
	if (as)
		n += replay_live_argv(as, o, argv + n, 32);
	argv[n++] = "--";
	argv[n++] = dir;
	while (live && *live && n < (int)ARRAY_SIZE(argv) - 1)
		argv[n++] = *live++;
	if (live && *live)
		return print_error("replay: expected a command of at most %zu words",
				   ARRAY_SIZE(argv) - 48);
	argv[n] = NULL;
	ret = child_run(argv, NULL, NULL, status);
	return ret ? print_error("%s: %s", replay, strerror(-ret)) : 0;
}

static int replay_stop_fabric(char *self, char *fabric)
{
	char *argv[] = { self, "fabric", "stop", "--fabric", fabric, NULL };
	int status, ret;

	ret = child_run(argv, NULL, NULL, &status);
	return ret || status ? print_error("replay: fabric %s does not stop", fabric) : 0;
}

static int replay_start_fabric(struct opts *o, const struct fabric_paths *p)
{
	struct scenario s;
	struct proto_msg m;
	int sock;

	if (scenario_load(&s, o))
		return -1;
	/* This process has the lease: the fabric ends when it is killed. */
	/* The programs that it starts run the fabric's commands. */
	sock = ctl_start(o, p, PROTO_F_CONTROL, 0, &m);
	return sock < 0 || scenario_add(&s, sock, o, 0) ? -1 : 0;
}

/*
 * Make a state directory for this replay alone: GUIDs, and so addresses, follow from the fabric's
 * name and its user, and a fabric of that name may be running.
 */
static int replay_make_state(struct opts *o, const struct fabric_paths *p, const struct vt_dir *d,
			     struct fabric_paths *fresh)
{
	const char *name = d ? vt_info_get(&d->about, "fabric") : NULL;
	const char *uid = d ? vt_info_get(&d->about, "uid") : NULL;

	if (name && !hca_node_name_ok(name))
		return print_error("%s/trace: fabric '%s': expected " NAME_EXPECTED, d->path, name);
	if (d && o->level[OPT_FABRIC] != LEVEL_FLAG)
		snprintf(o->fabric, sizeof(o->fabric), "%s", name ? name : "default");
	if (uid && setenv(NODES_UID_ENV, uid, 1))
		return print_error("environment: %s", strerror(errno));
	if (replay_dir_make(p->dir, o->dir))
		return -1;
	if (setenv("RDMAEMU_DIR", o->dir, 1))
		return print_error("environment: %s", strerror(errno));
	return statedir_paths(fresh, o->dir, o->fabric);
}

/* @d: NULL: there is no trace yet */
static int replay_on_fabric(struct opts *o, const struct fabric_paths *p, const struct vt_dir *d,
			    char *replay, char *self, char *dir, struct replay_live *as)
{
	static struct fabric_paths fresh;
	int status = 0, ret;

	if (setenv(AT_END_SILENT_ENV, "1", 1))
		return print_error("environment: %s", strerror(errno)), EXIT_USAGE;
	if (replay_make_state(o, p, d, &fresh))
		return EXIT_USAGE;
	if (d && as && !o->first_mr)
		o->first_mr = replay_live_first_key(as, d);
	ret = (d && replay_load_settings(o, dir, d)) || (as && replay_live_make_trace(as, o)) ||
	      replay_start_fabric(o, &fresh);
	/*
	 * The settings are final: programs that are started on the fabric must not take others from
	 * the environment.
	 */
	opts_env_clear(OPT_BIT(OPT_DIR) | OPT_BIT(OPT_PAYLOAD));
	if (!ret) {
		ret = replay_make_nodes(d, as, o, self, o->fabric) ||
		      replay_run_player(o, replay, self, o->fabric, dir, as, &status);
		ret |= replay_stop_fabric(self, o->fabric);
	}
	if (as)
		replay_live_close(as);
	replay_remove_tree(o->dir);
	if (ret)
		return EXIT_USAGE;
	child_exit_as(status);
}

/*
 * Check that everything to play was recorded. @as: NULL: all programs. Return: 0, or -1 after one
 * line on stderr
 */
static int replay_check_recorded(const struct vt_dir *d, const struct replay_live *as)
{
	u32 i, n = as ? as->e.n : d->n_progs;
	struct vt_error err;

	for (i = 0; i < n; i++)
		if (vt_program_is_recorded(d, &d->prog[as ? as->e.part[i] : i], &err))
			return print_error("%s", err.text);
	return 0;
}

/* Options that need others. Return: what is wrong, or NULL */
static const char *replay_flags_conflict(const struct opts *o, int argc)
{
	if (!o->as[0] && argc != 1)
		return "expected one trace directory; see 'rdmaemu replay --help'";
	if (o->as[0] && argc < 2)
		return "--as: expected a live program after DIR --";
	if (o->as[0] && o->real)
		return "--as: expected a fabric, not --real";
	if (o->real == REAL_AUTO)
		return "--real: expected yes, no or names of devices, not auto";
	if (!o->as[0] && (o->level[OPT_MODE] || o->unexpected[0] || o->command[0] ||
			  o->level[OPT_NODE] == LEVEL_FLAG || o->live_node[0] || o->live_first))
		return "--mode, --unexpected, --command, --node, --live-node, --live-first: "
		       "expected --as with them";
	return NULL;
}

int verb_replay(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	char replay[PATH_MAX], self[PATH_MAX];
	static struct replay_live as;
	static struct vt_dir d;
	struct vt_error err;
	const char *wrong;
	bool is_new;
	int status;

	/* RDMAEMU_REAL says where programs run, and a trace is one. */
	if (o->level[OPT_REAL] != LEVEL_FLAG) {
		o->real = REAL_NO;
		o->real_names[0] = '\0';
	}
	wrong = replay_flags_conflict(o, argc);
	if (wrong) {
		print_error("replay: %s", wrong);
		return EXIT_USAGE;
	}
	is_new = replay_live_is_new(o, argv[0]);
	if (!is_new && vt_dir_open(&d, argv[0], &err)) {
		print_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (replay_find_player(REPLAY, replay, self))
		return EXIT_USAGE;
	if (o->as[0] && replay_live_open(&as, o, is_new ? NULL : &d, argv[0], argv + 1))
		return EXIT_USAGE;
	if (!is_new && replay_check_recorded(&d, o->as[0] ? &as : NULL))
		return EXIT_USAGE;
	if (!o->real)
		return replay_on_fabric(o, p, is_new ? NULL : &d, replay, self, argv[0],
					o->as[0] ? &as : NULL);
	if (o->real_names[0] && real_choose(o, "replay", true, false))
		return EXIT_USAGE;
	if (replay_run_player(o, replay, self, NULL, argv[0], NULL, &status))
		return EXIT_USAGE;
	child_exit_as(status);
}
