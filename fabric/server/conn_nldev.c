/* SPDX-License-Identifier: MIT */
/*
 * See conn_nldev.h.
 *
 * While the program does not read its answers, no further request is taken: the socket's buffers
 * fill up, and the program's next send() waits. Thus a connection needs one datagram of memory.
 */
#include "fabric/server/conn_nldev.h"

#include "fabric/nldev/nldev.h"
#include "fabric/nodes/nodes.h"
#include "fabric/server/park.h"
#include "fabric/server/server.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#define DATAGRAMS 16u /* received, and sent, before other connections have their turn */

static u64 own_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

int conn_nldev_start(struct fabric *f, struct conn *c, struct proto_msg *m)
{
	struct nldev *n;
	int node = 0;

	m->nldev.node[sizeof(m->nldev.node) - 1] = '\0';
	if (c->client)
		return -EINVAL;
	if (control_check_node(f, c, m->nldev.node))
		return -EPERM;
	if (m->nldev.node[0])
		node = hca_node_find(f->hca, m->nldev.node);
	if (node < 0)
		return node;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->node = (u32)node;
	n->portid = m->nldev.portid;
	n->pidns = m->nldev.pidns;
	n->own_pidns = own_pidns();
	/* A socket does not tell its peer's capabilities: root is taken to have CAP_NET_ADMIN. */
	n->admin = c->cred.uid == 0;
	c->nldev = n;
	return 0;
}

/* A change of the address instead of a datagram of netlink. */
static bool conn_nldev_is_control(struct nldev *n, const struct proto_msg *m, ssize_t len)
{
	if (len != (ssize_t)sizeof(*m) || m->magic != PROTO_MAGIC || m->op != PROTO_NLDEV)
		return false;
	n->portid = m->nldev.portid;
	return true;
}

/*
 * Fetch the next datagram; a change of the address leaves no message of netlink to answer. Return:
 * 1, 0: there is none, -errno: the connection has ended.
 */
static int conn_nldev_fetch(struct fabric *f, struct conn *c)
{
	struct nldev *n = c->nldev;
	union {
		struct proto_msg m;
		u8 in[NLDEV_IN];
	} buf;
	ssize_t len;
	int fd;

	len = conn_receive(f, c, &buf, sizeof(buf), &fd);
	closer_close(f, fd);
	if (len < 0)
		return len == -EAGAIN || len == -EINTR ? 0 : (int)len;
	if (!len)
		return -EPIPE;
	n->in_len = 0;
	n->in_pos = 0;
	if (conn_nldev_is_control(n, &buf.m, len))
		return 1;
	/* One that is longer has its first messages answered, as far as they came whole. */
	n->in_len = min_u32((u32)len, NLDEV_IN);
	memcpy(n->in, &buf, n->in_len);
	return 1;
}

bool conn_nldev_serve(struct fabric *f, struct conn *c)
{
	struct nldev *n = c->nldev;
	u32 sent = 0, received = 0;
	int ret;

	for (;;) {
		while (!n->out_len && !nldev_next(n, f->hca)) {
			/* The rest stays in the socket, which reports it again. */
			ret = received++ == DATAGRAMS ? 0 : conn_nldev_fetch(f, c);
			if (ret <= 0) {
				conn_watch(f, c, EPOLLIN);
				return !ret;
			}
		}
		if (sent++ == DATAGRAMS ||
		    send(c->w.fd, n->out, n->out_len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		n->out_len = 0;
	}
	conn_watch(f, c, EPOLLOUT);
	return sent > DATAGRAMS || errno == EAGAIN || errno == EINTR;
}
