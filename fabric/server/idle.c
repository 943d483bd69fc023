/* SPDX-License-Identifier: MIT */
/**
 * DOC: see server/idle.h.
 *
 * The fabric leaves under its lock (proto/state_dir.h): no other fabric is started meanwhile, and a
 * process that has connected at the last moment is either accepted or sees its connection end.
 */
#include "fabric/server/server.h"

#include <errno.h>
#include <unistd.h>

/* The first user of a new fabric may be slow to connect, whatever the linger. */
#define FIRST_USE_NS (5 * NSEC_PER_SEC)

void idle_update(struct fabric *f)
{
	struct idle *l = &f->server->idle;
	bool used = f->server->leases.n || f->clients.n;
	u64 ns = l->ns;

	l->used |= used;
	/* No program can come any more, whatever a command has asked for meanwhile. */
	if (f->server->vanished)
		ns = 0;
	else if (!l->used && ns < FIRST_USE_NS)
		ns = FIRST_USE_NS;
	if (used || f->conns.n > f->conns.n_followers || ns == NEVER) {
		l->leave_at = NEVER;
		return;
	}
	l->leave_at = real_ns() + ns;
}

bool idle_lock(struct fabric *f)
{
	struct idle *l = &f->server->idle;

	/* The lock may be that of a fabric that has the name now, and waits for this one's end. */
	if (f->server->vanished)
		return true;
	if (l->lock < 0)
		l->lock = lock_take(f->paths.lock, false);
	/* Without a lock file (its directory was removed) nobody can be waiting for it. */
	return l->lock != -EWOULDBLOCK;
}

void idle_unlock(struct fabric *f)
{
	struct idle *l = &f->server->idle;

	if (l->lock >= 0)
		close(l->lock);
	l->lock = -1;
}
