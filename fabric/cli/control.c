/* SPDX-License-Identifier: MIT */
/**
 * DOC: the command's side of the fabric's socket.
 *
 * Theory of operation
 * -------------------
 * Many commands may want the same fabric at once, while the fabric may be leaving or may have been
 * killed.
 *
 * 1. A command connects and requests a lease. An answer means that the fabric does not leave before
 *    this process ends.
 * 2. If nothing listens, or the connection ends without an answer, the command takes the fabric's
 *    lock and repeats step 1. Under the lock no fabric starts or leaves, so a fabric that does not
 *    answer now is dead: its socket is removed and a new fabric process started.
 *
 * A leaving fabric takes the same lock before it removes its socket. A fabric that has served its
 * programs refuses the lease and leaves; the command waits until it has left, without the lock.
 */
#include "fabric/cli/control.h"
#include "fabric/cli/cli.h"
#include "fabric/common/profile.h"
#include "fabric/common/state_sweep.h"
#include "fabric/common/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define START_TRIES   100
#define FIRST_TRIES   8
#define FIRST_WAIT_US 1000 /* before the second of them, twice as long before each further one */

/** struct leasing - a lease to take. @leaving: connection to a fabric that leaves first, or -1 */
struct leasing {
	const struct opts *o;
	const struct fabric_paths *p;
	u32 flags;
	u32 run;
	int leaving;
};

/* Connect and take the lease. Return: the socket or -errno. */
static int ctl_take_lease(struct leasing *l, struct proto_msg *m)
{
	int sock = ctl_connect(l->p->sock), ret;

	if (sock < 0)
		return sock;
	memset(m, 0, sizeof(*m));
	m->op = PROTO_LEASE;
	m->flags = l->flags;
	if (l->o->level[OPT_LINGER] == LEVEL_FLAG)
		m->lease.linger_ms = l->o->linger_ms + 1ULL;
	m->lease.run = l->run;
	snprintf(m->lease.node, sizeof(m->lease.node), "%s", l->o->node);
	ret = ctl_call(sock, m, NULL);
	if (!ret)
		return sock;
	if (ret == -ESTALE)
		l->leaving = sock;
	else
		close(sock);
	return ret;
}

/* Wait until a fabric that leaves has left. The lock is not held: it needs that. */
static void ctl_wait_left(struct leasing *l)
{
	struct proto_msg m;

	if (l->leaving < 0)
		return;
	ctl_receive(l->leaving, &m, NULL);
	close(l->leaving);
	l->leaving = -1;
}

static bool ctl_is_gone(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -EPIPE || err == -ESTALE;
}

/*
 * Take the lease of a fabric that was just started. It runs, so its starter does not fail for a
 * moment in which the fabric process has no memory for one more request.
 */
static int ctl_take_first_lease(struct leasing *l, struct proto_msg *m)
{
	int sock, i;

	for (i = 0; (sock = ctl_take_lease(l, m)) == -ENOMEM && i < FIRST_TRIES - 1; i++)
		usleep(FIRST_WAIT_US << i);
	if (sock != -ENOMEM)
		return sock;
	print_error("fabric %s runs, but its process has no memory for this command", l->o->fabric);
	return -ECANCELED;
}

/* Take a lease of the fabric, which is started if it is gone. Lock held. -ECANCELED: it failed. */
static int ctl_start_locked(struct leasing *l, int lock, struct proto_msg *m)
{
	char why[PATH_MAX + 256];
	int sock = ctl_take_lease(l, m);

	if (sock >= 0 || !ctl_is_gone(sock) || sock == -ESTALE)
		return sock;
	unlink(l->p->sock);
	if (spawn_fabric(l->o, l->p, l->flags & PROTO_F_STAY, lock, why, sizeof(why))) {
		/* A process that died without a word may have left one in its log. */
		state_files_remove(l->p, why[0]);
		print_error("fabric %s: %s", l->o->fabric,
			    why[0] ? why : "its process died while it started");
		return -ECANCELED;
	}
	return ctl_take_first_lease(l, m);
}

/* Check that the topology, if there is one, can be read. */
static int ctl_check_topology(const struct opts *o, u64 *hash)
{
	struct topology *t;
	int ret = 0;

	if (!o->topology[0])
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return print_error("%s", strerror(ENOMEM));
	ret = topology_load(t, o->topology);
	*hash = t->hash;
	if (!ret)
		topology_free(t);
	free(t);
	return ret;
}

/* A token that nobody would look at, or that the fabric process could not read. */
static int ctl_check_token(const struct opts *o)
{
	char path[PATH_MAX];

	if (o->level[OPT_TOKEN_FILE] == LEVEL_FLAG && !o->listen[0] && !o->join[0])
		return print_error("--token-file: expected --listen or --join as well");
	if (o->level[OPT_PLAINTEXT] == LEVEL_FLAG && !o->listen[0] && !o->join[0])
		return print_error("--plaintext: expected --listen or --join as well");
	/* /dev/fd/63 of `<(...)` leads to no path that another process could open. */
	if (o->token_file[0] && !access(o->token_file, R_OK) && !realpath(o->token_file, path))
		return print_error("--token-file: %s: expected a file or a named pipe, which the "
				   "fabric process opens",
				   o->token_file);
	return 0;
}

int ctl_check_files(const struct opts *o)
{
	static struct profile profile;
	u64 topology;

	return ctl_check_token(o) || profile_load(&profile, o->profile) ||
			       ctl_check_topology(o, &topology)
		       ? -1
		       : 0;
}

int ctl_start(const struct opts *o, const struct fabric_paths *p, u32 flags, u32 run,
	      struct proto_msg *m)
{
	struct leasing l = { .o = o, .p = p, .flags = flags, .run = run, .leaving = -1 };
	struct profile profile;
	u64 topology = 0;
	int sock, lock, tries;

	if (ctl_check_token(o) || profile_load(&profile, o->profile) ||
	    ctl_check_topology(o, &topology))
		return -1;
	sock = ctl_take_lease(&l, m);
	/*
	 * A fabric may be killed right after its start, or may have served its programs before this
	 * process comes to take its lease: retry.
	 */
	for (tries = 0; ctl_is_gone(sock) && tries < START_TRIES; tries++) {
		ctl_wait_left(&l);
		lock = lock_take(p->lock, true);
		if (lock < 0)
			return print_error("%s: %s", p->lock, strerror(-lock));
		sock = ctl_start_locked(&l, lock, m);
		if (sock < 0 && access(l.p->sock, F_OK))
			lock_drop_file(l.p->lock, lock);
		else
			close(lock);
	}
	ctl_wait_left(&l);
	if (sock == -ECANCELED)
		return -1;
	if (sock == -ETIMEDOUT || sock == -EACCES || sock == -EPERM || sock == -EPROTONOSUPPORT) {
		ctl_print_error(o, sock);
		return -1;
	}
	if (sock == -EMEDIUMTYPE)
		return print_error(
			"fabric %s is one of programs on %s devices; choose another --fabric",
			o->fabric, flags & PROTO_F_REAL ? "emulated" : "real");
	if (sock == -ENOSPC)
		return print_error("fabric %s has no room or no address for another node",
				   o->fabric);
	if (sock < 0)
		return print_error("fabric %s: %s: %s", o->fabric, p->sock, strerror(-sock));
	if (ctl_check_running(o, profile_hash(&profile), topology, m)) {
		close(sock);
		return -1;
	}
	return sock;
}
