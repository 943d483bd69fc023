/* SPDX-License-Identifier: MIT */
/* See rpc_signal.h. */
#include "libshim/interpose/rpc_signal.h"

#include "libshim/interpose/syscall.h"

#include <stdlib.h>
#include <sys/un.h>

#define ANSWER_S 5 /* limit of the wait for a fabric process that is stopped */

int rpc_signal_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = ANSWER_S };
	const char *path = secure_getenv(PROTO_ENV);
	int fd;

	if (!path || strlen(path) >= sizeof(addr.sun_path))
		return -ENOENT;
	memcpy(addr.sun_path, path, strlen(path));
	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ||
	    sys_connect(fd, &addr, sizeof(addr))) {
		sys_close(fd);
		return -ECONNREFUSED;
	}
	return fd;
}

bool rpc_signal_call(int fd, struct proto_msg *m)
{
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	u32 op = m->op;

	m->magic = PROTO_MAGIC;
	return sys_sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(*m) &&
	       sys_recvmsg(fd, &msg, 0) == (ssize_t)sizeof(*m) && m->magic == PROTO_MAGIC &&
	       m->op == op && !m->ret;
}

void rpc_signal_set_node(struct proto_msg *m)
{
	const char *node = secure_getenv(PROTO_NODE_ENV);

	if (node)
		strncpy(m->ask.node, node, sizeof(m->ask.node) - 1);
}

bool rpc_signal_get_dev(int fd, u32 number, struct proto_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->op = PROTO_DEV;
	m->ask.number = number;
	rpc_signal_set_node(m);
	return rpc_signal_call(fd, m);
}
