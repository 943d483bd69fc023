/* SPDX-License-Identifier: MIT */
/**
 * DOC: who may connect.
 *
 * Programs of an isolated fabric may open as many connections as they like, and say nothing. One
 * process has PROCESS_CONNS of them: then its oldest silent one makes room for the next. Many
 * processes together may still use all connections up. Then the oldest silent one of the process
 * that has most makes room, so that others can still come.
 */
#include "fabric/server/park.h"
#include "fabric/server/quota.h"
#include "fabric/server/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PROCESS_CONNS (MAX_CONNS / 8)
#define UNSEEN_CONNS  (MAX_CONNS / 2) /* of processes of a node whose ids are unknown */
#define ACCEPTS	      64 /* before other events have their turn */

/* The oldest silent connection of a process, which ends. Return: whether there was one. */
static bool conns_end_oldest(struct fabric *f, const struct account *a)
{
	struct conn *c, *oldest = NULL;

	for (c = f->conns.list; c; c = c->next)
		if (!c->dead && !c->control && !c->client && !c->lease && c->account == a)
			oldest = c;
	if (oldest)
		conn_close(f, oldest);
	return oldest;
}

/* Whether there is room for one connection more of @a; silent ones may end for it. */
static bool conns_make_room(struct fabric *f, const struct account *a)
{
	const struct account *most = a;
	const struct conn *c;

	if (a && a->conns >= (a->pid > 0 ? PROCESS_CONNS : UNSEEN_CONNS))
		return conns_end_oldest(f, a);
	if (f->conns.n < MAX_CONNS)
		return true;
	for (c = f->conns.list; c; c = c->next)
		if (!c->dead && c->account && (!most || c->account->conns > most->conns))
			most = c->account;
	return most && conns_end_oldest(f, most);
}

/* The account of a connection that was just accepted. Return: 0 or -errno. */
static int conn_take_account(struct fabric *f, struct conn *c, s32 door)
{
	s32 pid = c->cred.pid;

	if (!f->isolated)
		return 0;
	c->account = account_get(&f->server->accounts, pid > 0 ? pid : account_unseen(door));
	return c->account ? 0 : -ENOMEM;
}

/* Return: 0 or -errno, after a note. */
static int conn_check(struct fabric *f, struct conn *c, int fd, s32 door)
{
	socklen_t len = sizeof(struct ucred);
	int ret;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->cred, &len)) {
		ret = -errno;
		fabric_note(f, "connection dropped: no credentials: %s", strerror(-ret));
		return ret;
	}
	if (c->cred.uid != geteuid()) {
		fabric_note(f, "process %d of user %u refused", c->cred.pid, c->cred.uid);
		return -EACCES;
	}
	ret = conn_take_account(f, c, door);
	if (ret)
		return ret;
	if (!conns_make_room(f, c->account)) {
		quota_note(f, c, "connections");
		return -EUSERS;
	}
	ret = loop_watch_add(f, &c->w, fd, conn_on_message);
	if (ret)
		fabric_note(f, "connection dropped: %s", strerror(-ret));
	else if (c->account)
		conn_watch(f, c, EPOLLIN);
	return ret;
}

/* @door: the node whose socket it came by, or CONN_NO_NODE */
static void conn_admit(struct fabric *f, int fd, s32 door)
{
	struct conn *c = calloc(1, sizeof(*c));
	int ret = c ? conn_check(f, c, fd, door) : -ENOMEM;

	if (!ret) {
		control_admit(f, c, door);
		c->next = f->conns.list;
		f->conns.list = c;
		f->conns.n++;
		if (c->account)
			c->account->conns++;
		idle_update(f);
		return;
	}
	if (c)
		account_put(&f->server->accounts, c->account);
	free(c);
	closer_refuse(f, fd, ret);
}

/* Without a free descriptor a connection would wait, and wake the loop, indefinitely: hang up. */
static void conn_reject_one(struct fabric *f, const struct watch *w)
{
	int fd;

	close(f->server->spare_fd);
	fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		closer_refuse(f, fd, -EMFILE);
	f->server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fabric_note(f, "connection dropped: no descriptors are left");
}

/* Return: false: there is none. */
static bool conn_accept_one(struct fabric *f, struct watch *w)
{
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		conn_reject_one(f, w);
	if (fd < 0)
		return false;
	conn_admit(f, fd, node_socket_of(f, w));
	return true;
}

/* Too much is done for those who come: let them wait, as long as the account says. */
static void door_close(struct fabric *f, struct watch *w)
{
	const struct account *door = &f->server->accounts.door;

	if (door->rest_until <= real_ns())
		return;
	loop_watch_events(f, w, 0);
	parked_wait(f, door->rest_until);
}

/* Return: when to call again. */
static u64 door_open(struct fabric *f, u64 now)
{
	const struct account *door = &f->server->accounts.door;

	if (door->rest_until > now)
		return door->rest_until;
	loop_watch_events(f, &f->server->listen, EPOLLIN);
	node_sockets_watch(f);
	return NEVER;
}

void parked_serve(struct fabric *f)
{
	struct accounts *t = &f->server->accounts;
	u64 now = real_ns();

	if (now >= t->unpark_at)
		t->unpark_at = min_u64(door_open(f, now), parked_kicks(f, now));
	conns_serve_parked(f);
}

u64 parked_next(const struct fabric *f)
{
	return min_u64(f->server->accounts.unpark_at, conns_parked_next(f));
}

void conn_accept(struct fabric *f, struct watch *w, u32 events)
{
	struct accounts *t = &f->server->accounts;
	bool more = true;
	u64 begin;
	int i;

	(void)events;
	for (i = 0; more && i < ACCEPTS; i++) {
		if (f->isolated && !account_may(t, &t->door, real_ns())) {
			door_close(f, w);
			return;
		}
		begin = account_begin(&t->door);
		more = conn_accept_one(f, w);
		account_end(t, &t->door, begin);
	}
}
