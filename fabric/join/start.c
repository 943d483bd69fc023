/* SPDX-License-Identifier: MIT */
/**
 * DOC: joining: from the settings to the first connections; and leaving.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"
#include "fabric/common/host_port.h"
#include "fabric/common/opts.h"
#include "fabric/core/starter.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static bool sockaddr_is_loopback(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;

	if (sa->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static const char *join_listen(struct fabric *f, const char *where)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} sa = { 0 };
	struct join *j = f->join;
	struct addrinfo *a = NULL;
	socklen_t len = sizeof(sa);
	char host[256], port[8];
	const int one = 1;
	int fd, err;

	host_port_split(where, strlen(where), host, sizeof(host), port);
	err = getaddrinfo(host, port, &hints, &a);
	if (err)
		return err == EAI_MEMORY ? strerror(ENOMEM) : "there is no such address";
	if (!j->token_len && !sockaddr_is_loopback(a->ai_addr)) {
		freeaddrinfo(a);
		return "an address that is not loopback needs --token-file";
	}
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	err = fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, SOMAXCONN) ||
	      getsockname(fd, &sa.any, &len) || loop_watch_add(f, &j->listen, fd, join_accept);
	freeaddrinfo(a);
	if (err)
		return strerror(errno);
	j->port = ntohs(sa.any.sa_family == AF_INET ? sa.in.sin_port : sa.in6.sin6_port);
	fabric_note(f, "join: listening at %s:%u as %s", host, j->port, f->node_name);
	return NULL;
}

static void join_add_targets(struct join *j, const char *s)
{
	struct target *t;
	size_t n;

	for (;; s += n + 1) {
		n = strcspn(s, ",");
		t = &j->target[j->n_targets++];
		t->resolve.fd = -1;
		host_port_split(s, n, t->host, sizeof(t->host), t->port);
		if (!s[n])
			return;
	}
}

static void join_init(struct join *j)
{
	u32 i;

	j->listen.fd = -1;
	j->retry_at = j->accept_at = NEVER;
	j->ready_by = real_ns() + JOIN_READY_NS;
	for (i = 0; i < JOIN_MAX_CONNS; i++)
		j->conn[i].w.fd = -1;
	while (!j->id)
		if (getrandom(&j->id, sizeof(j->id), 0) != sizeof(j->id))
			j->id = 0;
}

const char *join_start(struct fabric *f, const struct opts *o)
{
	static char text[sizeof(o->listen) + 80];
	const char *why;
	struct join *j;

	if (!o->listen[0] && !o->join[0]) {
		starter_report_ready(f, NULL);
		return NULL;
	}
	if (o->manual)
		return "--clock manual cannot be combined with --listen or --join";
	j = calloc(1, sizeof(*j));
	if (!j)
		return "no memory";
	f->join = j;
	link_add_carrier(f, &join_carrier);
	join_init(j);
	why = o->token_file[0] ? join_token_load(o->token_file, j->token, &j->token_len) : NULL;
	if (why)
		return why;
	j->plaintext = o->plaintext;
	if (o->join[0])
		join_add_targets(j, o->join);
	why = o->listen[0] ? join_listen(f, o->listen) : NULL;
	if (!why)
		return NULL;
	snprintf(text, sizeof(text), "listen at %s: %s", o->listen, why);
	return text;
}

void join_end(struct fabric *f)
{
	struct join *j = f->join;
	struct member *m;
	u32 i;

	/* Members that are reached through a hub first: a hub forwards no more once it knows. */
	for (i = 0; j && i < JOIN_MAX_MEMBERS; i++) {
		m = j->member[i];
		if (m && m->via && m->via != m->conn)
			(void)jconn_send(f, m->via, JT_BYE, j->id, m->id, NULL, 0);
	}
	for (i = 0; j && i < JOIN_MAX_CONNS; i++)
		if (j->conn[i].state == JC_UP) {
			(void)jconn_send(f, &j->conn[i], JT_BYE, j->id, j->conn[i].peer, NULL, 0);
			jconn_flush(f, &j->conn[i]);
		}
	/* `fabric stop` returns before this process has ended: another fabric may listen then. */
	if (j)
		loop_watch_close(&j->listen);
}
