/* SPDX-License-Identifier: MIT */
/**
 * DOC: resolving the names of hosts to join.
 *
 * A lookup may block, and the loop never does: a child process looks the name up and writes the
 * addresses to a pipe.
 */
#include "fabric/common/descriptors.h"
#include "fabric/join/mesh.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_FD 3 /* of the child process */

static u32 resolve_look_up(const struct target *t, int flags, struct sockaddr_storage *out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	struct addrinfo *list = NULL, *a;
	u32 n = 0;

	if (getaddrinfo(t->host, t->port, &hints, &list))
		return 0;
	for (a = list; a && n < JOIN_MAX_ADDRS; a = a->ai_next)
		if (a->ai_addrlen <= sizeof(*out))
			memcpy(&out[n++], a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return n;
}

/*
 * The child process. It keeps the pipe only: the listening socket and the lock of the fabric would
 * be taken for as long as a lookup lasts, even if the fabric process has ended.
 */
static void __attribute__((noreturn)) resolve_child(const struct target *t, int to)
{
	struct sockaddr_storage addr[JOIN_MAX_ADDRS];
	u32 n;

	alarm(10);
	memset(addr, 0, sizeof(addr));
	if (to != PIPE_FD && dup2(to, PIPE_FD) < 0)
		_exit(1);
	descriptors_close_from(PIPE_FD + 1);
	n = resolve_look_up(t, AI_NUMERICSERV, addr);
	_exit(write(PIPE_FD, addr, n * sizeof(addr[0])) < 0);
}

static void resolve_on_result(struct fabric *f, struct watch *w, u32 events)
{
	struct target *t = container_of(w, struct target, resolve);
	ssize_t n = read(w->fd, t->addr, sizeof(t->addr));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->n_addrs = n > 0 ? (u32)((size_t)n / sizeof(t->addr[0])) : 0;
	t->next_addr = 0;
	loop_watch_close(w);
	waitpid(t->resolver, NULL, 0);
	if (!t->n_addrs && !t->unknown)
		fabric_note(f, "join: cannot resolve %s yet, retrying", t->host);
	t->unknown = !t->n_addrs;
}

void resolve_start(struct fabric *f, struct target *t)
{
	int fds[2];

	if (t->resolve.fd >= 0)
		return;
	t->n_addrs = resolve_look_up(t, AI_NUMERICHOST | AI_NUMERICSERV, t->addr);
	t->next_addr = 0;
	if (t->n_addrs || pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return;
	t->resolver = fork();
	if (!t->resolver)
		resolve_child(t, fds[1]);
	close(fds[1]);
	if (t->resolver < 0 || loop_watch_add(f, &t->resolve, fds[0], resolve_on_result)) {
		close(fds[0]);
		t->resolve.fd = -1;
	}
}
