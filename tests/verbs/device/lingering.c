/* SPDX-License-Identifier: MIT */
/*
 * A client of an isolated fabric that sends descriptors whose close(2) waits: TCP sockets with data
 * that their peer never reads, and SO_LINGER. The fabric process must go on meanwhile.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER	 600 /* seconds */
#define PATIENCE 60

static int listener;

static void listener_make(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)at, sizeof(*at)) ||
	    listen(listener, 100) || getsockname(listener, (struct sockaddr *)at, &len))
		die("listen: %m");
}

/* A socket whose last close waits. */
static int lingering_make(const struct sockaddr_in *at)
{
	static const char data[65536];
	struct linger l = { .l_onoff = 1, .l_linger = LINGER };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)))
		die("connect: %m");
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* Send a request with @n lingering sockets. */
static void request_send(int sock, struct proto_msg *m, size_t n, const struct sockaddr_in *at)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(16 * sizeof(int))];
	} c = { .buf = { 0 } };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &c,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	int fd[16] = { 0 };
	size_t i;

	for (i = 0; i < n; i++)
		fd[i] = lingering_make(at);
	c.hdr.cmsg_level = SOL_SOCKET;
	c.hdr.cmsg_type = SCM_RIGHTS;
	c.hdr.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&c.hdr), fd, n * sizeof(int));
	if (sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		die("sendmsg: %m");
	for (i = 0; i < n; i++)
		close(fd[i]);
}

/* Stop the fabric process, so that it does not close a socket before this process has. */
static void fabric_signal(int sock, int sig)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) || kill(peer.pid, sig))
		die("the fabric process: %m");
}

static void answer_check(const char *after)
{
	struct proto_msg m = { .op = PROTO_NODE };
	int sock = protocol_connect();

	memset(m.ask.ip, 1, sizeof(m.ask.ip));
	ok(protocol_ask(sock, &m, NULL, 0) && m.ret == -ENOENT, "it answers after %s", after);
	close(sock);
}

int main(void)
{
	struct proto_msg dev = { .magic = PROTO_MAGIC, .op = PROTO_NODE }, bad = { .op = 1 };
	struct sockaddr_in at;
	int sock;

	alarm(4 * PATIENCE);
	listener_make(&at);
	sock = protocol_connect();
	fabric_signal(sock, SIGSTOP);
	request_send(sock, &dev, 1, &at);
	fabric_signal(sock, SIGCONT);
	answer_check("a request with a descriptor that it did not ask for");
	fabric_signal(sock, SIGSTOP);
	request_send(sock, &dev, 16, &at);
	fabric_signal(sock, SIGCONT);
	answer_check("one with more than it takes");
	close(sock);

	sock = protocol_connect();
	fabric_signal(sock, SIGSTOP);
	request_send(sock, &bad, 1, &at);
	request_send(sock, &dev, 1, &at);
	fabric_signal(sock, SIGCONT);
	answer_check("requests that it has not read when it hangs up");
	close(sock);
	return tap_failed != 0;
}
