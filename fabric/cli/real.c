/* SPDX-License-Identifier: MIT */
/**
 * DOC: see fabric/cli/real.h.
 *
 * On real devices the emulator has no part in what a program does, so nothing is preloaded and
 * nothing is set: the program finds what it would find without rdmaemu. There are exceptions: where
 * devices are named, the tap hides the others (libtap/users/device_mask.c); it answers for vendors'
 * libraries, unless they are allowed all (libtap/direct/); and a run with fault rules, --explain,
 * --junit, --tap or --report has a fabric without devices, which holds the rules and
 * the journal. The tap asks it about calls that rules name, and tells it what fails
 * (libtap/users/faults.c).
 *
 * Other options cannot be honoured, and are refused. Two kinds differ:
 *
 * - Options that describe a fabric have no meaning without one. With --real=auto they are for the
 *   case that the emulator is used.
 * - Options by which the run itself would differ (a node, a capture, another clock) are refused in
 *   either case, and from a variable or the settings file, too: a run without the faults that it
 *   was meant to have proves nothing. Within another `rdmaemu run` those of the outer run are in
 *   force.
 */
#include "fabric/cli/real.h"
#include "fabric/cli/program_check.h"
#include "fabric/cli/real_devices.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/record.h"
#include "fabric/cli/verbs.h"
#include "fabric/proto/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REAL_ENV	"RDMAEMU_REAL"
#define REAL_DIRECT_ENV "RDMAEMU_REAL_DIRECT"

#define REAL_CHANGES_RUN                                                                           \
	(OPT_BIT(OPT_NODE) | OPT_BIT(OPT_SCENARIO) | OPT_BIT(OPT_DRY_RUN) |                        \
	 OPT_BIT(OPT_MUST_FIRE) | OPT_BIT(OPT_TIME_SCALE) | OPT_BIT(OPT_CLOCK) |                   \
	 OPT_BIT(OPT_CHAOS) | OPT_BIT(OPT_WIRE) | VERB_CAPTURE)
#define REAL_DESCRIBES_FABRIC                                                                      \
	((VERB_NEW_FABRIC | OPT_BIT(OPT_FABRIC) | OPT_BIT(OPT_FRESH) | OPT_BIT(OPT_CONTROL)) &     \
	 ~REAL_CHANGES_RUN)

/*
 * Options with which a run has a fabric, as with --explain. Those of the second kind are for an
 * emulated one, too.
 */
#define REAL_RULE_OPTIONS   (OPT_BIT(OPT_SCENARIO) | OPT_BIT(OPT_DRY_RUN) | OPT_BIT(OPT_MUST_FIRE))
#define REAL_FABRIC_OPTIONS (OPT_BIT(OPT_FABRIC) | OPT_BIT(OPT_FRESH))
/* Options that such a run takes. */
#define REAL_WITH_FABRIC                                                                           \
	(REAL_RULE_OPTIONS | REAL_FABRIC_OPTIONS | OPT_BIT(OPT_SEED) | OPT_BIT(OPT_LINGER))

#define REAL_FABRIC "real" /* its name, unless --fabric gives another */

/* The setting that requests real devices, for messages. */
static const char *real_source(const struct opts *o)
{
	return o->level[OPT_REAL] == LEVEL_FLAG ? "--real" : REAL_ENV;
}

static int real_print_conflict(const struct opts *o, const char *verb, enum opt_id id)
{
	const struct opt_def *def = opts_def(id);

	if (o->level[id] == LEVEL_FLAG)
		return print_error("%s: --%s: expected a fabric, which there is none of with %s",
				   verb, def->name, real_source(o));
	return print_error("%s: %s: expected a fabric, which there is none of with %s", verb,
			   o->level[id] == LEVEL_ENV ? def->env : def->name, real_source(o));
}

/* The lowest level at which an option counts by which the run would differ. */
static enum opt_level real_min_level(void)
{
	return getenv(PROTO_ENV) ? LEVEL_FLAG : LEVEL_FILE;
}

/* Whether an option of a set is given at this level or a higher one. */
static bool real_is_given(const struct opts *o, opt_set set, enum opt_level level)
{
	int id;

	for (id = 0; id < OPT_COUNT; id++)
		if ((set & OPT_BIT(id)) && o->level[id] >= level)
			return true;
	return false;
}

/* Whether the run prints its journal at its end. */
static bool real_prints_journal(const struct opts *o)
{
	return o->explain || o->junit[0] || o->tap[0] || o->report[0];
}

bool real_keeps_requests(const struct opts *o)
{
	return real_prints_journal(o) || !o->scenario[0];
}

/* Whether the options ask for a fabric: for rules, or for a journal. */
static bool real_wants_fabric(const struct opts *o)
{
	return real_prints_journal(o) || real_is_given(o, REAL_RULE_OPTIONS, real_min_level()) ||
	       (o->real == REAL_YES && real_is_given(o, REAL_FABRIC_OPTIONS, LEVEL_FLAG));
}

/*
 * @taken: options that the run takes
 * @found: real devices were found for --real=auto. Return: 0, or -1 after one line on stderr.
 */
static int real_check_options(const struct opts *o, const char *verb, opt_set taken, bool found)
{
	int id;

	for (id = 0; id < OPT_COUNT; id++) {
		if (taken & OPT_BIT(id))
			continue;
		if ((REAL_CHANGES_RUN & OPT_BIT(id)) && o->level[id] >= real_min_level())
			return real_print_conflict(o, verb, (enum opt_id)id);
		if ((REAL_DESCRIBES_FABRIC & OPT_BIT(id)) && !found && o->level[id] == LEVEL_FLAG)
			return real_print_conflict(o, verb, (enum opt_id)id);
	}
	return 0;
}

static int real_choose_emulator(struct opts *o)
{
	o->real = REAL_NO;
	if (getenv(REAL_ENV) && setenv(REAL_ENV, "no", 1))
		return print_error("environment: %s", strerror(errno));
	return 0;
}

/*
 * The fabric of a run on real devices has only the settings that are about rules. Those of the
 * environment and of the settings file that describe emulated devices are for other runs. Within a
 * run on emulated devices only flags are about this run.
 */
static void real_choose_fabric(struct opts *o)
{
	const enum opt_level min = real_min_level();
	static struct opts all;

	all = *o;
	opts_init(o);
	o->real = REAL_RULES;
	o->explain = all.explain;
	memcpy(o->check, all.check, sizeof(o->check));
	o->check_exit = all.check_exit;
	memcpy(o->check_suppress, all.check_suppress, sizeof(o->check_suppress));
	memcpy(o->check_json, all.check_json, sizeof(o->check_json));
	memcpy(o->check_sarif, all.check_sarif, sizeof(o->check_sarif));
	o->gen_suppressions = all.gen_suppressions;
	memcpy(o->junit, all.junit, sizeof(o->junit));
	memcpy(o->tap, all.tap, sizeof(o->tap));
	memcpy(o->report, all.report, sizeof(o->report));
	o->dry_run = all.dry_run;
	o->fresh = all.fresh;
	o->linger_ms = all.linger_ms;
	o->level[OPT_LINGER] = all.level[OPT_LINGER];
	o->seed = all.seed;
	o->level[OPT_SEED] = all.level[OPT_SEED];
	if (all.level[OPT_SCENARIO] >= min)
		memcpy(o->scenario, all.scenario, sizeof(o->scenario));
	if (all.level[OPT_MUST_FIRE] >= min)
		o->must_fire = all.must_fire;
	if (all.fresh || all.level[OPT_FABRIC] >= min)
		memcpy(o->fabric, all.fabric, sizeof(o->fabric));
	else
		snprintf(o->fabric, sizeof(o->fabric), REAL_FABRIC);
}

/* Whether the tap has something to do without a fabric. */
static bool real_needs_tap(const struct opts *o)
{
	return o->real_names[0] || (o->real_direct[0] && strcmp(o->real_direct, "allow") != 0);
}

/* Return: 0, or -1 after one line on stderr. */
static int real_set_env(const struct opts *o)
{
	char tap[PATH_MAX];

	if (real_needs_tap(o)) {
		if (run_find_tap(tap))
			return -1;
		if (run_preload(tap))
			return print_error("environment: %s", strerror(errno));
	}
	if (o->real_direct[0] && setenv(REAL_DIRECT_ENV, o->real_direct, 1))
		return print_error("environment: %s", strerror(errno));
	if (o->real_names[0]) {
		if (setenv(REAL_ENV, o->real_names, 1))
			return print_error("environment: %s", strerror(errno));
	} else if (o->level[OPT_REAL] == LEVEL_FLAG && getenv(REAL_ENV) &&
		   setenv(REAL_ENV, "yes", 1)) {
		/* It may have named devices. */
		return print_error("environment: %s", strerror(errno));
	}
	return 0;
}

/* @fabric: the run has a fabric */
static int real_choose_devices(struct opts *o, bool fabric)
{
	o->real = REAL_YES;
	if (real_set_env(o))
		return -1;
	if (fabric)
		real_choose_fabric(o);
	return 0;
}

static void real_explain(const struct real_devices *d, bool both)
{
	if (d->n)
		fprintf(stderr, "rdmaemu: on real devices: %s%s%s%s\n", d->names,
			both ? "; and on the emulator" : "", d->n_ghosts ? "; " : "", d->ghosts);
	else
		fprintf(stderr, "rdmaemu: on the emulator: no RDMA device: %s\n", d->why_none);
}

static int real_print_none(const struct opts *o, const char *verb, const struct real_devices *d)
{
	return print_error("%s: %s%s%s: no RDMA device: %s", verb, real_source(o),
			   o->real_names[0] ? "=" : "", o->real_names, d->why_none);
}

/*
 * Real and emulated devices. The run has a fabric of emulated devices as one without --real, and
 * its options are about that. The checker would see calls for both as for one.
 */
static int real_choose_both(struct opts *o, const char *verb, struct real_devices *d)
{
	if (o->check[0])
		return print_error("%s: --check: expected one kind of devices, not two with "
				   "--emulate",
				   verb);
	if (o->level[OPT_LEND] == LEVEL_FLAG)
		return print_error("%s: --lend: expected no real devices, which have --emulate "
				   "next to them",
				   verb);
	real_devices_probe(d, o->real_names);
	if (!d->n && o->real != REAL_AUTO)
		return real_print_none(o, verb, d);
	if (o->explain)
		real_explain(d, true);
	o->emulate = d->n;
	if (!d->n)
		return real_choose_emulator(o);
	o->real = REAL_NO;
	return real_set_env(o);
}

int real_choose(struct opts *o, const char *verb, bool must, bool may_have_fabric)
{
	const bool is_auto = o->real == REAL_AUTO;
	const bool fabric = may_have_fabric && real_wants_fabric(o);
	const opt_set taken = fabric ? REAL_WITH_FABRIC : 0;
	static struct real_devices d;

	if (o->real == REAL_NO && o->level[OPT_REAL_DIRECT] == LEVEL_FLAG)
		return print_error("%s: --real-direct: expected --real with it", verb);
	if (o->real == REAL_NO && o->emulate)
		return print_error("%s: --emulate: expected --real with it", verb);
	if (o->real == REAL_NO)
		return real_choose_emulator(o);
	if (o->emulate)
		return real_choose_both(o, verb, &d);
	if (!is_auto && real_check_options(o, verb, taken, false))
		return -1;
	must = (must || o->real_names[0]) && !(fabric && o->dry_run);
	if (!is_auto && !must && !o->explain)
		return real_choose_devices(o, fabric);
	real_devices_probe(&d, o->real_names);
	if (!d.n && !is_auto && must)
		return real_print_none(o, verb, &d);
	if (d.n && is_auto && real_check_options(o, verb, taken, true))
		return -1;
	if (o->explain)
		real_explain(&d, false);
	if (!d.n && is_auto)
		return real_choose_emulator(o);
	return real_choose_devices(o, fabric);
}

int real_run(const struct opts *o, char **argv)
{
	if (real_needs_tap(o) && program_arrange_preload(argv[0]))
		return EXIT_TROUBLE;
	execvp(argv[0], argv);
	return run_print_exec_error(argv[0], errno);
}
