/* SPDX-License-Identifier: MIT */
/* A client without the library. See tests/lib/c/protocol_client.h. */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int protocol_connect(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = PROTOCOL_PATIENCE };
	const char *path = getenv(PROTO_ENV);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path ? path : "");
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(sock, (struct sockaddr *)&sa, sizeof(sa)))
		die("connect to '%s': %m", sa.sun_path);
	return sock;
}

bool protocol_ask(int sock, struct proto_msg *m, int *fds, size_t max)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} c = { .buf = { 0 } };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;

	m->magic = PROTO_MAGIC;
	if (sendmsg(sock, &mh, MSG_NOSIGNAL) != sizeof(*m))
		return false;
	mh.msg_control = c.buf;
	mh.msg_controllen = sizeof(c.buf);
	if (recvmsg(sock, &mh, MSG_CMSG_CLOEXEC) != sizeof(*m))
		return false;
	h = CMSG_FIRSTHDR(&mh);
	if (max && (!h || h->cmsg_len < CMSG_LEN(max * sizeof(int))))
		return false;
	if (max)
		memcpy(fds, CMSG_DATA(h), max * sizeof(int));
	return true;
}

int protocol_hello(struct protocol_client *c, const char *name, size_t mapped)
{
	const char *node = getenv(PROTO_NODE_ENV);
	struct proto_msg m = { .op = PROTO_HELLO };
	int fds[2] = { -1, -1 };

	*c = (struct protocol_client){ .sock = protocol_connect(), .mapped = mapped };
	m.hello.version = PROTO_VERSION;
	m.hello.pid = getpid();
	snprintf(m.hello.node, sizeof(m.hello.node), "%s", node ? node : "");
	snprintf(m.hello.name, sizeof(m.hello.name), "%s", name);
	if (!protocol_ask(c->sock, &m, fds, 2)) {
		close(c->sock);
		return m.ret < 0 ? m.ret : -ECONNRESET;
	}
	c->welcome = m.welcome;
	c->kick = fds[1];
	c->seg = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fds[0], 0);
	if (c->seg == MAP_FAILED)
		die("mmap of a segment: %m");
	close(fds[0]);
	return 0;
}

void protocol_leave(struct protocol_client *c)
{
	munmap(c->seg, c->mapped);
	close(c->kick);
	close(c->sock);
}

void protocol_kick(const struct protocol_client *c)
{
	const uint64_t one = 1;

	/* It may be full by now: nobody reads it. */
	fcntl(c->kick, F_SETFL, O_NONBLOCK);
	if (write(c->kick, &one, sizeof(one)) < 0 && errno != EAGAIN)
		die("kick: %m");
}

int protocol_command(struct protocol_client *c, struct hca_cmd *cmd)
{
	struct cmd_slot *slot = &c->seg->cmd[0];
	const struct timespec patience = { .tv_sec = PROTOCOL_PATIENCE };

	memcpy(slot->cmd, cmd, sizeof(*cmd));
	store_release(&slot->state, CMD_POSTED);
	fetch_or(&c->seg->cmd_bits, 1);
	protocol_kick(c);
	while (load_acquire(&slot->state) == CMD_POSTED)
		if (syscall(SYS_futex, &slot->state, FUTEX_WAIT, CMD_POSTED, &patience, NULL, 0) &&
		    errno == ETIMEDOUT)
			die("command %u is not answered", cmd->op);
	memcpy(cmd, slot->cmd, sizeof(*cmd));
	store_release(&slot->state, CMD_FREE);
	return cmd->ret;
}
