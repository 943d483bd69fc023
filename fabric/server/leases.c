/* SPDX-License-Identifier: MIT */
/**
 * DOC: leases.
 *
 * A run never sees what earlier runs have left. Two rules ensure that:
 *
 * 1. A fabric that `rdmaemu run` has started, and that has no program any more, refuses the lease
 *    of the next run and leaves. The run then starts a fabric with no rules, an empty journal, and
 *    all counters at their first values. A fabric of `fabric start` stays, and so does one that a
 *    command has changed while it had no program: that change is meant for the next run. A fabric
 *    that is joined with others stays as well: they would lose its node for a moment.
 * 2. On a fabric that stays, the rules of a run's scenario end with the run: when its process has
 *    ended, and all programs that it has started. Runs that name the same scenario share its rules,
 *    which end with the last of these runs.
 */
#include "fabric/server/leases.h"
#include "fabric/fault/table.h"
#include "fabric/nodes/nodes.h"
#include "fabric/server/conns.h"
#include "fabric/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool fabric_has_program(const struct fabric *f)
{
	return f->server->leases.n || f->clients.n > f->clients.n_dead;
}

/* Whether the next run needs another fabric. */
static bool fabric_is_stale(const struct fabric *f)
{
	const struct idle *l = &f->server->idle;

	return f->leaving || (l->used && !l->keep && !l->set_up && !f->join && !f->roce &&
			      l->ns != NEVER && !fabric_has_program(f));
}

void lease_note_setup(struct fabric *f, const struct proto_msg *m)
{
	switch (m->op) {
	case PROTO_CLOCK:
		if (m->clock.what == PROTO_CLOCK_SHOW)
			return;
		break;
	case PROTO_PORT:
	case PROTO_FAULT_ADD:
	case PROTO_FAULT_REMOVE:
	case PROTO_FAULT_CLEAR:
	case PROTO_CAPTURE_START:
	case PROTO_INJECT_FRAME:
		break;
	default:
		return;
	}
	if (!fabric_has_program(f))
		f->server->idle.set_up = true;
}

/* --- the end of a run ------------------------------------------------------------------------- */

static bool run_has_client(const struct fabric *f, u32 run)
{
	const struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->dead && f->hca->client[cl->id].run == run)
			return true;
	return false;
}

static bool lease_has_ended(const struct fabric *f, const struct lease *l)
{
	return l->exited && !(l->run && run_has_client(f, l->run));
}

static bool scenario_is_in_use(const struct fabric *f, u64 scenario)
{
	const struct lease *l;

	for (l = f->server->leases.list; l; l = l->next)
		if (!l->dead && l->scenario == scenario)
			return true;
	return false;
}

void leases_end_runs(struct fabric *f)
{
	struct lease *l;

	for (l = f->server->leases.list; l; l = l->next) {
		if (l->dead || !lease_has_ended(f, l))
			continue;
		l->dead = true;
		f->conns.has_dead = true;
		if (l->scenario && !scenario_is_in_use(f, l->scenario))
			fault_scenario_end(f, l->scenario);
	}
}

/* The process of a lease has ended. */
static void lease_end_process(struct fabric *f, struct lease *l)
{
	struct conn *c;

	for (c = f->conns.list; c; c = c->next)
		if (c->lease == l) {
			l->scenario = c->scenario;
			c->lease = NULL;
		}
	l->exited = true;
	f->server->leases.n--;
	leases_end_runs(f);
	idle_update(f);
}

static void lease_on_exit(struct fabric *f, struct watch *w, u32 events)
{
	(void)events;
	loop_watch_close(w);
	lease_end_process(f, container_of(w, struct lease, w));
}

void lease_conn_closed(struct fabric *f, struct conn *c)
{
	struct lease *l = c->lease;

	if (!l)
		return;
	if (c->hold) {
		lease_end_process(f, l);
		return;
	}
	l->scenario = c->scenario;
	c->lease = NULL;
}

void leases_free_dead(struct fabric *f)
{
	struct lease **lp = &f->server->leases.list, *l;

	while ((l = *lp)) {
		if (!l->dead) {
			lp = &l->next;
			continue;
		}
		*lp = l->next;
		free(l);
	}
}

/* --- the request ------------------------------------------------------------------------------ */

static void lease_answer(const struct fabric *f, struct proto_msg *m)
{
	m->flags = f->isolated ? PROTO_F_ISOLATED : 0;
	m->lease.profile = profile_hash(&f->profile);
	m->lease.topology = f->nodes->topology;
	m->lease.ppm = f->clock.ppm_start;
	m->lease.manual = f->clock.manual_start;
	m->lease.chaos = f->hca->chaos;
	m->lease.chaos_seed = f->hca->chaos_seed;
	m->lease.faults = f->faults->n;
	opts_given(f->server->opts, &m->lease.given);
	m->lease.given.subnets = subnets_hash(&f->nodes->subnets);
	snprintf(m->lease.given.name, sizeof(m->lease.given.name), "%.*s", NODE_NAME_MAX,
		 f->node_name);
}

/* A fabric that stays does so for later runs as well; only `fabric start` changes that. */
static void lease_set_linger(struct fabric *f, struct proto_msg *m, u32 asked)
{
	struct idle *idle = &f->server->idle;

	if (asked & PROTO_F_STAY)
		idle->ns = NEVER;
	else if (m->lease.linger_ms && (idle->ns != NEVER || (asked & PROTO_F_KEEP)))
		idle->ns = (m->lease.linger_ms - 1) * NSEC_PER_MSEC;
	m->lease.given.stays = idle->ns == NEVER;
}

/* A lease of the process at the other end of @c. Return: 0 or -errno. */
static int lease_add(struct fabric *f, struct conn *c, struct proto_msg *m, u32 asked)
{
	struct lease *l;
	int fd, ret = 0;

	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->w.fd = -1;
	l->run = m->lease.run;
	l->pid = c->cred.pid;
	l->node = (s32)m->lease.number;
	l->control = c->control;
	l->grants = asked & PROTO_F_CONTROL;
	fd = conn_pidfd(c);
	if (fd < 0) {
		m->flags |= PROTO_F_HOLD;
		c->hold = true;
	} else {
		ret = loop_watch_add(f, &l->w, fd, lease_on_exit);
	}
	if (ret) {
		free(l);
		close(fd);
		return ret;
	}
	c->lease = l;
	l->next = f->server->leases.list;
	f->server->leases.list = l;
	f->server->leases.n++;
	return 0;
}

int lease_request(struct fabric *f, struct conn *c, struct proto_msg *m)
{
	struct idle *idle = &f->server->idle;
	u32 asked = m->flags;
	int ret;

	if ((asked & PROTO_F_CONTROL) && !c->control)
		return -EACCES;
	/* A program may run further programs, but not make the fabric stay. */
	if (!c->control) {
		asked &= ~(u32)(PROTO_F_STAY | PROTO_F_KEEP);
		m->lease.linger_ms = 0;
	}
	if (f->server->leases.n >= MAX_LEASES || c->lease)
		return -EUSERS;
	if (fabric_is_stale(f)) {
		f->leaving = true;
		return -ESTALE;
	}
	if (!!(asked & PROTO_F_REAL) != f->real)
		return -EMEDIUMTYPE;
	m->lease.node[sizeof(m->lease.node) - 1] = '\0';
	ret = control_check_node(f, c, m->lease.node);
	if (ret)
		return ret;
	ret = fabric_node_use(f, m->lease.node);
	if (ret < 0)
		return ret;
	m->lease.number = (u32)ret;
	ret = node_socket_make(f, m->lease.number);
	if (ret)
		return ret;
	lease_answer(f, m);
	ret = lease_add(f, c, m, asked);
	if (ret)
		return ret;
	idle->set_up = false;
	idle->keep |= asked & PROTO_F_KEEP;
	lease_set_linger(f, m, asked);
	idle_update(f);
	return 0;
}
