/* SPDX-License-Identifier: MIT */
/**
 * DOC: whether a fabric that was already running is what a command asks for.
 *
 * Options that describe a fabric take effect when it starts. A command that meets a running fabric
 * and is given one of them must not ignore it: either the fabric was started with the same, or the
 * command says so and fails.
 */
#include "fabric/cli/control.h"
#include "fabric/common/nodes.h"

#include <stdio.h>

static bool opts_are_given(const struct opts *o, enum opt_id id)
{
	return o->level[id] >= LEVEL_ENV;
}

/* The first option that the fabric was started with another value of, or OPT_COUNT. */
static enum opt_id running_find_other(const struct opts *o, const struct proto_given *g)
{
	struct proto_given mine = { 0 };
	struct subnets subnets;

	opts_given(o, &mine);
	subnets_default(&subnets);
	if (opts_are_given(o, OPT_SEED) && mine.seed != g->seed)
		return OPT_SEED;
	if (opts_are_given(o, OPT_FIRST_MR) && mine.first_mr != g->first_mr)
		return OPT_FIRST_MR;
	if (opts_are_given(o, OPT_SUBNET) && subnets_parse(&subnets, o->subnet) &&
	    subnets_hash(&subnets) != g->subnets)
		return OPT_SUBNET;
	if (opts_are_given(o, OPT_NAME) && strcmp(o->name, g->name) != 0)
		return OPT_NAME;
	if (opts_are_given(o, OPT_LISTEN) && mine.listen != g->listen)
		return OPT_LISTEN;
	if (opts_are_given(o, OPT_JOIN) && mine.join != g->join)
		return OPT_JOIN;
	if (opts_are_given(o, OPT_ROCE) && mine.roce != g->roce)
		return OPT_ROCE;
	if (opts_are_given(o, OPT_ROCE_PEERS) && mine.roce_peers != g->roce_peers)
		return OPT_ROCE_PEERS;
	if (opts_are_given(o, OPT_TOKEN_FILE) && mine.token_file != g->token_file)
		return OPT_TOKEN_FILE;
	if (opts_are_given(o, OPT_PLAINTEXT) && mine.plaintext != g->plaintext)
		return OPT_PLAINTEXT;
	return OPT_COUNT;
}

static int running_check_given(const struct opts *o, const struct proto_given *g)
{
	enum opt_id other = running_find_other(o, g);

	if (other != OPT_COUNT)
		return print_error("fabric %s was not started with this --%s; stop it first, or "
				   "choose another --fabric",
				   o->fabric, opts_def(other)->name);
	if (o->level[OPT_LINGER] == LEVEL_FLAG && g->stays)
		return print_error("fabric %s stays until it is stopped, whatever --linger says",
				   o->fabric);
	return 0;
}

static int running_check_clock(const struct opts *o, const struct proto_msg *m)
{
	if (opts_are_given(o, OPT_TIME_SCALE) && o->ppm != m->lease.ppm)
		return print_error("fabric %s was started with another --time-scale; choose "
				   "another --fabric, or see 'rdmaemu clock run'",
				   o->fabric);
	if (opts_are_given(o, OPT_CLOCK) && o->manual != m->lease.manual)
		return print_error("fabric %s was started with another --clock; choose another "
				   "--fabric, or see 'rdmaemu clock'",
				   o->fabric);
	return 0;
}

static int running_check_chaos(const struct opts *o, const struct proto_msg *m)
{
	if (!opts_are_given(o, OPT_CHAOS))
		return 0;
	if (!m->lease.chaos)
		return print_error("fabric %s is running without chaos; choose another --fabric",
				   o->fabric);
	if (!o->chaos_random && o->chaos_seed != m->lease.chaos_seed)
		return print_error(
			"fabric %s is running with chaos of seed %llu; choose another --fabric",
			o->fabric, (unsigned long long)m->lease.chaos_seed);
	return 0;
}

int ctl_check_running(const struct opts *o, u64 profile, u64 topology, const struct proto_msg *m)
{
	if (opts_are_given(o, OPT_ISOLATED) && o->isolated && !(m->flags & PROTO_F_ISOLATED))
		return print_error(
			"fabric %s is running and is not isolated; choose another --fabric",
			o->fabric);
	if (opts_are_given(o, OPT_PROFILE) && profile != m->lease.profile)
		return print_error(
			"fabric %s is running with another profile; choose another --fabric",
			o->fabric);
	if (running_check_clock(o, m) || running_check_chaos(o, m))
		return -1;
	if (topology && topology != m->lease.topology)
		return print_error(
			"fabric %s is running with another topology; choose another --fabric",
			o->fabric);
	return running_check_given(o, &m->lease.given);
}
