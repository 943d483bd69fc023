/* SPDX-License-Identifier: MIT */
/**
 * DOC: what waits until an account allows more: requests and kicks. See admit.c for those who come.
 *
 * A process may have hundreds of connections, and send on all of them. To stop watching one and to
 * watch it again are two system calls, which would take longer than a slice. So connections of an
 * isolated fabric are watched edge-triggered: a message is reported once, and one that has to wait
 * costs nothing but a place in a queue. A process with unread messages cannot send much more.
 *
 * Kicks can be sent without end. While an account rests, nobody watches for those of its clients:
 * they would keep the fabric process from sleeping. A client that has kicked meanwhile is reported
 * when it is watched again.
 */
#include "fabric/server/park.h"
#include "fabric/server/server.h"

#include <sys/epoll.h>

void parked_wait(struct fabric *f, u64 at)
{
	struct accounts *t = &f->server->accounts;

	t->unpark_at = min_u64(t->unpark_at, at);
}

/* --- connections ------------------------------------------------------------------------------ */

void conn_watch(struct fabric *f, struct conn *c, u32 events)
{
	loop_watch_events(f, &c->w, events | (c->account ? (u32)EPOLLET : 0));
}

void conn_park(struct fabric *f, struct conn *c)
{
	struct conns *q = &f->conns;

	c->parked = true;
	c->parked_next = NULL;
	if (q->parked)
		q->parked_last->parked_next = c;
	else
		q->parked = c;
	q->parked_last = c;
}

void conn_unpark(struct fabric *f, struct conn *c)
{
	struct conns *q = &f->conns;
	struct conn **at, *before = NULL;

	if (!c->parked)
		return;
	for (at = &q->parked; *at != c; at = &(*at)->parked_next)
		before = *at;
	*at = c->parked_next;
	if (q->parked_last == c)
		q->parked_last = before;
	c->parked = false;
}

/* --- kicks ------------------------------------------------------------------------------------ */

void client_on_kick(struct fabric *f, struct watch *w, u32 events)
{
	struct client *cl = container_of(w, struct client, kick);

	(void)events;
	if (!cl->account || cl->account->rest_until <= real_ns()) {
		f->loop.kicked = true;
		return;
	}
	cl->parked = true;
	loop_watch_events(f, w, 0);
	parked_wait(f, cl->account->rest_until);
}

u64 parked_kicks(struct fabric *f, u64 now)
{
	struct client *cl;
	u64 at = NEVER;

	for (cl = f->clients.list; cl; cl = cl->next) {
		if (!cl->parked || cl->dead)
			continue;
		if (cl->account->rest_until > now) {
			at = min_u64(at, cl->account->rest_until);
			continue;
		}
		cl->parked = false;
		loop_watch_events(f, &cl->kick, EPOLLIN | EPOLLET);
	}
	return at;
}
