/* SPDX-License-Identifier: MIT */
/** DOC: messages with descriptors, from connections. */
#include "fabric/server/closer.h"
#include "fabric/server/conns.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define SCM_MAX_FDS 253u /* descriptors in one message, in any kernel (unix(7)) */

ssize_t conn_receive(struct fabric *f, struct conn *c, void *buf, size_t size, int *fd)
{
	/* Room for all, so that the kernel closes none here. */
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(SCM_MAX_FDS * sizeof(int))];
	} ctl;
	struct iovec iov = { buf, size };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl)
	};
	struct cmsghdr *cm;
	int got[SCM_MAX_FDS];
	ssize_t n;
	size_t i;

	*fd = -1;
	n = recvmsg(c->w.fd, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	for (cm = CMSG_FIRSTHDR(&mh); cm; cm = CMSG_NXTHDR(&mh, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(got, CMSG_DATA(cm), cm->cmsg_len - CMSG_LEN(0));
		for (i = 0; i < (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			if (*fd < 0)
				*fd = got[i];
			else
				closer_close(f, got[i]);
		}
	}
	return n;
}
