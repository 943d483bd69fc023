/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections: requests and answers. See admit.c for who may connect.
 *
 * A request is handled completely when it arrives. A peer that sends a malformed message, or does
 * not read its answers, is disconnected.
 */
#include "emulator/port_counter.h"
#include "fabric/server/conns.h"
#include "fabric/capture/capture.h"
#include "fabric/fault/action.h"
#include "fabric/fault/table.h"
#include "fabric/inject/inject.h"
#include "fabric/join/join.h"
#include "fabric/journal/log.h"
#include "fabric/nodes/ports.h"
#include "fabric/proto/version.h"
#include "fabric/roce/roce.h"
#include "fabric/server/channels.h"
#include "fabric/server/clients.h"
#include "fabric/server/conn_nldev.h"
#include "fabric/server/leases.h"
#include "fabric/server/park.h"
#include "fabric/server/server.h"
#include "fabric/server/status.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH	  16 /* messages from one connection before others get their turn */
#define LOOKS	  64u /* at connections that wait for their accounts, in a turn of the loop */
#define HDR_BYTES offsetof(struct proto_msg, hello)

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int conn_pidfd(const struct conn *c)
{
	socklen_t len = sizeof(int);
	int fd;

	/*
	 * Linux 6.5: a pidfd of exactly the process that connected, even from another PID
	 * namespace.
	 */
	if (!getsockopt(c->w.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &len)) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		return fd;
	}
	if (errno != ENOPROTOOPT)
		return -errno;
	if (c->cred.pid <= 0)
		return -ENOTSUP;
	fd = (int)syscall(SYS_pidfd_open, c->cred.pid, 0);
	return fd < 0 ? -errno : fd;
}

void conn_close(struct fabric *f, struct conn *c)
{
	struct client *cl = c->client;

	if (c->dead)
		return;
	c->dead = true;
	c->client = NULL;
	fabric_port_conn_closed(f, c);
	fault_conn_closed(f, c);
	fabric_clock_conn_closed(f, c);
	fabric_capture_conn_closed(f, c);
	join_conn_closed(f, c);
	inject_conn_closed(f, c);
	/* The thread may hold it for a while. */
	loop_watch_remove(f, &c->w);
	closer_hang_up(f, c->w.fd);
	c->w.fd = -1;
	f->conns.n--;
	conn_unpark(f, c);
	if (c->account)
		c->account->conns--;
	follow_end(f, c);
	free(c->nldev);
	c->nldev = NULL;
	lease_conn_closed(f, c);
	f->conns.has_dead = true;
	if (cl) {
		cl->conn = NULL;
		client_die(f, cl);
	}
	idle_update(f);
}

static void conns_free_dead(struct fabric *f)
{
	struct conn **cp = &f->conns.list, *c;

	while ((c = *cp)) {
		if (!c->dead) {
			cp = &c->next;
			continue;
		}
		*cp = c->next;
		account_put(&f->server->accounts, c->account);
		free(c);
	}
}

void conns_reap(struct fabric *f)
{
	struct client **clp = &f->clients.list, *cl;

	if (!f->conns.has_dead)
		return;
	f->conns.has_dead = false;
	conns_free_dead(f);
	leases_free_dead(f);
	while ((cl = *clp)) {
		if (!cl->freed) {
			clp = &cl->next;
			continue;
		}
		*clp = cl->next;
		account_put(&f->server->accounts, cl->account);
		free(cl->chan_fd);
		free(cl);
	}
}

/* The client that the peer field names, for requests that isolated clients may not send. */
static struct client *conn_peer_find(struct fabric *f, const struct proto_msg *m, int *err)
{
	struct client *cl = client_find(f, m->peer.client, m->peer.gen);

	*err = f->isolated ? -EPERM : !cl ? -ENOENT : 0;
	return *err ? NULL : cl;
}

static int client_set_helper_fd(struct fabric *f, struct client *cl, int *fd)
{
	if (*fd < 0 || !channel_is_eventfd(*fd))
		return -EINVAL;
	if (cl->helper_fd >= 0)
		close(cl->helper_fd);
	cl->helper_fd = *fd;
	*fd = -1;
	helper_ready(f, cl);
	return 0;
}

static int client_set_lent_fd(struct client *cl, int *fd)
{
	if (cl->lent_fd >= 0)
		return -EALREADY;
	if (*fd < 0 || lent_file_check(*fd))
		return -EINVAL;
	cl->lent_fd = *fd;
	*fd = -1;
	return 0;
}

/* Requests that only a client may send. */
static int conn_client_request(struct fabric *f, struct client *cl, struct proto_msg *m, int *fd,
			       int *out)
{
	struct client *peer;
	int err;

	switch (m->op) {
	case PROTO_CHAN_ADD:
		return channel_add(cl, m->peer.chan, fd);
	case PROTO_CHAN_DEL:
		return channel_del(cl, m->peer.chan);
	case PROTO_HELPER_FD:
		return client_set_helper_fd(f, cl, fd);
	case PROTO_LEND:
		return client_set_lent_fd(cl, fd);
	case PROTO_WIRE:
	case PROTO_WIRE_INBOX:
		return f->isolated ? -EACCES
				   : roce_share(f, m->ask.number, m->op == PROTO_WIRE_INBOX, out);
	}
	/* Its own segment, to map more of it: isolated clients may, too. */
	if (m->op == PROTO_SEG && m->peer.client == cl->id && m->peer.gen == cl->gen) {
		*out = cl->seg_fd;
		return client_extend_segment(cl, m->peer.size);
	}
	peer = conn_peer_find(f, m, &err);
	if (!peer)
		return err;
	switch (m->op) {
	case PROTO_SEG:
		*out = peer->seg_fd;
		return client_extend_segment(peer, m->peer.size);
	case PROTO_CHAN:
		*out = m->peer.chan < SEG_MAX_CHANS ? peer->chan_fd[m->peer.chan] : -1;
		return *out < 0 ? -ENOENT : 0;
	case PROTO_HELPER:
		*out = peer->helper_fd;
		return *out < 0 ? -ENOENT : 0;
	case PROTO_LENT:
		*out = peer->lent_fd;
		return *out < 0 ? -ENOENT : 0;
	}
	return -EPROTO;
}

/* Answer a request that only a client may send; @fds receives the descriptor to send, if any. */
static int conn_client_answer(struct fabric *f, struct conn *c, struct proto_msg *m, int *fd,
			      int *fds, u32 *n_fds)
{
	int out = -1, ret;

	if ((m->op > PROTO_HELPER && m->op != PROTO_LEND && m->op != PROTO_LENT &&
	     m->op != PROTO_WIRE && m->op != PROTO_WIRE_INBOX) ||
	    !m->op)
		return -EPROTO;
	if (!c->client)
		return -ENOTCONN;
	ret = conn_client_request(f, c->client, m, fd, &out);
	if (!ret && out >= 0)
		fds[(*n_fds)++] = out;
	return ret;
}

/* The node that a request names, or -ENOENT. A client's requests are about its own. */
static int conn_node_asked(const struct fabric *f, const struct conn *c, struct proto_ask *ask)
{
	if (c->client)
		return (int)f->hca->client[c->client->id].node;
	ask->node[sizeof(ask->node) - 1] = '\0';
	return ask->node[0] ? hca_node_find(f->hca, ask->node) : 0;
}

static int conn_request_dev(struct fabric *f, const struct conn *c, struct proto_msg *m)
{
	int node = conn_node_asked(f, c, &m->ask);
	u32 i = m->ask.number;

	if (!c->client && control_check_node(f, c, m->ask.node))
		return -EPERM;
	if (node < 0 || i >= f->hca->node[node].n_devs || i >= PROTO_MAX_DEVS)
		return -ENODEV;
	hca_dev_snapshot(f->hca, f->hca->node[node].first_dev + i, &m->dev);
	return 0;
}

int conn_make_text(struct fabric *f, struct proto_msg *m)
{
	switch (m->op) {
	case PROTO_STATUS:
		return status_make(f, &m->flags);
	case PROTO_LOG:
		return log_make(f, &m->log, m->flags);
	case PROTO_FAULT_LIST:
		return fault_list_memfd(f, m);
	default:
		return fabric_capture_list(f, m->flags);
	}
}

/* A request that a text answers. @fds, @n_fds, @temp: as conn_request_dispatch() */
static int conn_request_text(struct fabric *f, struct conn *c, struct proto_msg *m, int *fds,
			     u32 *n_fds, int *temp)
{
	const u32 not_of_members = PROTO_F_FOLLOW | PROTO_F_AUDIT | PROTO_F_SUMMARY;
	int text;

	m->member[sizeof(m->member) - 1] = '\0';
	if (m->member[0])
		return m->flags & not_of_members || m->op == PROTO_CAPTURE_LIST
			       ? -EOPNOTSUPP
			       : join_text_ask(f, c, m);
	text = conn_make_text(f, m);
	if (text < 0)
		return text;
	*temp = fds[(*n_fds)++] = text;
	return m->op == PROTO_LOG && (m->flags & PROTO_F_FOLLOW) ? follow_start(f, c, m) : 0;
}

/**
 * conn_request_dispatch() - handle one request; @m becomes the answer.
 * @fd: the descriptor that came with it or -1; a handler that keeps it sets it to -1
 * @fds: receives descriptors to send, @n_fds of them
 * @temp: receives one to close afterwards
 */
static int conn_request_dispatch(struct fabric *f, struct conn *c, struct proto_msg *m, int *fd,
				 int *fds, u32 *n_fds, int *temp)
{
	if (!c->control && control_is_needed(m->op))
		return -EACCES;
	lease_note_setup(f, m);
	switch (m->op) {
	case PROTO_HELLO:
		return client_hello(f, c, m, fds, n_fds);
	case PROTO_LEASE:
		return lease_request(f, c, m);
	case PROTO_STATUS:
	case PROTO_LOG:
	case PROTO_FAULT_LIST:
	case PROTO_CAPTURE_LIST:
		return conn_request_text(f, c, m, fds, n_fds, temp);
	case PROTO_DEV:
		return conn_request_dev(f, c, m);
	case PROTO_OBJECTS:
		return status_objects(f, m->ask.number, &m->ask.number);
	case PROTO_NODE:
		return fabric_node_ask(f, m);
	case PROTO_PORT:
		return fabric_port_request(f, c, m);
	case PROTO_CALL:
		return c->client ? fault_call_request(f, c->client, m) : -ENOTCONN;
	case PROTO_CALL_FAILED:
		return c->client ? fault_call_failed(f, c->client, m) : -ENOTCONN;
	case PROTO_WORK:
		return c->client ? fault_work_request(f, c->client, m) : -ENOTCONN;
	case PROTO_WORK_FAILED:
		return c->client ? fault_work_failed(f, c->client, m) : -ENOTCONN;
	case PROTO_CM:
		return c->client ? fault_cm_request(f, c->client, m) : -ENOTCONN;
	case PROTO_EVENT_SEEN:
		return c->client ? fault_event_seen(f, c->client, m) : -ENOTCONN;
	case PROTO_UNSEEN:
		return c->client ? fault_qp_unseen(f, c->client, m) : -ENOTCONN;
	case PROTO_EVENTS:
		return c->client ? fault_events_open(f, c->client, fds, n_fds) : -ENOTCONN;
	case PROTO_EVENT_NEXT:
		return c->client ? fault_event_next(f, c->client, m) : -ENOTCONN;
	case PROTO_EVENT_RAISED:
		return c->client ? fault_event_raised(f, c->client, m) : -ENOTCONN;
	case PROTO_GROUPS:
		return roce_has_groups_to_join(f) ? -EAGAIN : 0;
	case PROTO_HOLD:
		return c->client ? fault_hold_request(f, c->client, m) : -ENOTCONN;
	case PROTO_LIMITS:
		return c->client ? fault_limits_request(f, m) : -ENOTCONN;
	case PROTO_FAULT_ADD:
	case PROTO_FAULT_REMOVE:
	case PROTO_FAULT_CLEAR:
		return fault_request(f, c, m, *fd);
	case PROTO_FAULT_NEXT:
		return fault_list_next(f, m);
	case PROTO_JOURNAL:
		return log_entry(f, m);
	case PROTO_CLOCK:
		return fabric_clock_request(f, c, m);
	case PROTO_CAPTURE_START:
	case PROTO_CAPTURE_STOP:
		return fabric_capture_request(f, c, m, fd);
	case PROTO_INJECT:
		return inject_ask(f, m);
	case PROTO_INJECT_FRAME:
		return inject_frame(f, c, m);
	case PROTO_INJECT_SETTLED:
		return inject_settled(f, c, m);
	case PROTO_NLDEV:
		return conn_nldev_start(f, c, m);
	case PROTO_DROP:
		return control_drop(c);
	case PROTO_STOP:
		fabric_note(f, "stopped by process %d", c->cred.pid);
		f->leaving = true;
		return 0;
	}
	return conn_client_answer(f, c, m, fd, fds, n_fds);
}

/* A program of another version may have other messages, but the same header. */
static void conn_answer_other_version(struct conn *c, u32 op)
{
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = op, .ret = -EPROTONOSUPPORT };

	snprintf(m.release, sizeof(m.release), "%s", RDMAEMU_VERSION);
	send(c->w.fd, &m, offsetof(struct proto_msg, release) + sizeof(m.release),
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Handle one request. Return: false when the connection was closed or has no more. */
static bool conn_serve_one(struct fabric *f, struct conn *c)
{
	struct proto_msg m;
	int fds[CONN_MAX_FDS], fd, temp = -1;
	u32 n_fds = 0;
	ssize_t n;
	int ret;

	memset(&m, 0, sizeof(m));
	n = conn_receive(f, c, &m, sizeof(m), &fd);
	if (n > (ssize_t)sizeof(m))
		n = -EMSGSIZE;
	if (n == -EAGAIN || n == -EINTR)
		return n == -EINTR;
	if (n >= (ssize_t)offsetof(struct proto_msg, release) && proto_is_other_version(m.magic)) {
		conn_answer_other_version(c, m.op);
		n = -EPROTONOSUPPORT;
	}
	if (n > 0 && ((size_t)n < HDR_BYTES || m.magic != PROTO_MAGIC))
		n = -EPROTO;
	if (n <= 0) {
		if (n < 0 && n != -ECONNRESET)
			fabric_note(f, "process %d sent a malformed request: %s", c->cred.pid,
				    strerror((int)-n));
		closer_close(f, fd);
		conn_close(f, c);
		return false;
	}
	m.ret = conn_request_dispatch(f, c, &m, &fd, fds, &n_fds, &temp);
	if (m.ret == -EINPROGRESS) {
		closer_close(f, fd);
		return true;
	}
	ret = m.ret == -EPROTO ? -EPROTO : conn_send(c, &m, fds, n_fds);
	closer_close(f, fd);
	if (temp >= 0)
		close(temp);
	if (!ret)
		return true;
	if (ret != -EPIPE && ret != -ECONNRESET)
		fabric_note(f, "process %d is disconnected: request %u: %s", c->cred.pid, m.op,
			    strerror(-ret));
	conn_close(f, c);
	return false;
}

/*
 * Serve a batch of its requests, as far as its account allows. Return: whether there may be more.
 */
static bool conn_serve(struct fabric *f, struct conn *c)
{
	struct accounts *t = &f->server->accounts;
	struct account *a = c->account;
	bool more = true;
	u64 begin = 0;
	int i;

	for (i = 0; more && i < BATCH && (!a || account_may(t, a, real_ns())); i++) {
		if (a)
			begin = account_begin(a);
		if (!c->nldev)
			more = conn_serve_one(f, c);
		if (c->nldev && !c->dead) {
			more = false;
			if (!conn_nldev_serve(f, c))
				conn_close(f, c);
		}
		if (a)
			account_end(t, a, begin);
	}
	return more && !c->dead;
}

static bool conn_may(const struct fabric *f, const struct conn *c)
{
	return !c->account || account_may(&f->server->accounts, c->account, real_ns());
}

void conn_on_message(struct fabric *f, struct watch *w, u32 events)
{
	struct conn *c = container_of(w, struct conn, w);

	(void)events;
	if (c->parked)
		return;
	if (!conn_may(f, c) || (conn_serve(f, c) && c->account))
		conn_park(f, c);
}

void conns_serve_parked(struct fabric *f)
{
	struct conns *q = &f->conns;
	const struct conn *first = q->parked;
	struct conn *c;
	u32 i;

	for (i = 0; i < LOOKS && (c = q->parked) && (!i || c != first); i++) {
		conn_unpark(f, c);
		if (!conn_may(f, c) || conn_serve(f, c))
			conn_park(f, c);
	}
}

/* With more of them than it looks at, it looks in each turn. */
u64 conns_parked_next(const struct fabric *f)
{
	const struct conn *c;
	u64 at = NEVER;
	u32 i = 0;

	for (c = f->conns.parked; c; c = c->parked_next) {
		if (i++ == LOOKS)
			return 0;
		at = min_u64(at, c->account->rest_until);
	}
	return at;
}
