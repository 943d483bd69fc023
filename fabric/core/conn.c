/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/conn.h.
 */
#include "fabric/core/conn.h"

#include <errno.h>
#include <string.h>

int conn_send(struct conn *c, struct proto_msg *m, const int *fds, u32 n_fds)
{
	union conn_fds ctl = { 0 };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;

	if (n_fds) {
		mh.msg_control = &ctl;
		mh.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		cm = CMSG_FIRSTHDR(&mh);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, n_fds * sizeof(int));
	}
	return sendmsg(c->w.fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void conn_hang_up(struct conn *c)
{
	/* Closing would have to call every module that may hold a request of this connection. */
	shutdown(c->w.fd, SHUT_RDWR);
}

void conn_reply(struct conn *c, struct proto_msg *m)
{
	if (!c->dead && conn_send(c, m, NULL, 0))
		conn_hang_up(c);
}
