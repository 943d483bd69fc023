/* SPDX-License-Identifier: MIT */
/** DOC: requests to the fabric process, for the command and for librdmaemu-ctl. */
#include "fabric/proto/control_call.h"
#include "fabric/proto/version.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/** struct other_version - the fabric that has answered in another version. */
struct other_version {
	char release[PROTO_RELEASE];
	u32 protocol;
	pid_t pid;
};

/* initial-exec: librdmaemu-ctl needs no more than libc. */
static __thread struct other_version other __attribute__((tls_model("initial-exec")));

static void ctl_note_version(int sock, const struct proto_msg *m, size_t n)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	other = (struct other_version){ .protocol = m->magic & ~PROTO_FAMILY };
	if (n >= offsetof(struct proto_msg, release) + PROTO_RELEASE)
		memcpy(other.release, m->release, PROTO_RELEASE - 1);
	if (!getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		other.pid = cred.pid;
}

void ctl_version_text(char *buf, size_t size)
{
	snprintf(buf, size,
		 "it is rdmaemu %s (protocol %u), this is %s (protocol %u): use the same version, "
		 "or end it with 'kill %d'",
		 other.release[0] ? other.release : "?", other.protocol, RDMAEMU_VERSION,
		 PROTO_VERSION, (int)other.pid);
}

int ctl_connect(const char *path)
{
	struct timeval tv = { .tv_sec = CTL_TIMEOUT_S };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int sock, err;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path) >= (int)sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    connect(sock, (struct sockaddr *)&sa, sizeof(sa))) {
		err = errno;
		close(sock);
		return err == EAGAIN ? -ETIMEDOUT : -err;
	}
	return sock;
}

static void ctl_take_fd(struct msghdr *mh, int *fd)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), sizeof(*fd));
}

union fd_space {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

/* Send @m with descriptor @fd, unless that is -1. Return: as sendmsg(2). */
static ssize_t ctl_send_msg(int sock, struct proto_msg *m, int fd)
{
	union fd_space ctl = { 0 };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	m->magic = PROTO_MAGIC;
	if (fd >= 0) {
		mh.msg_control = &ctl;
		mh.msg_controllen = sizeof(ctl);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do
		n = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

int ctl_receive(int sock, struct proto_msg *m, int *fd)
{
	union fd_space ctl;
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl)
	};
	int got = -1;
	ssize_t n;

	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
	if (!n)
		return -EPIPE;
	ctl_take_fd(&mh, &got);
	if (fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	if ((size_t)n >= offsetof(struct proto_msg, release) && proto_is_other_version(m->magic)) {
		ctl_note_version(sock, m, (size_t)n);
		return -EPROTONOSUPPORT;
	}
	if ((size_t)n != sizeof(*m) || m->magic != PROTO_MAGIC)
		return -EPROTO;
	return 0;
}

int ctl_ask(int sock, struct proto_msg *m, int give, int *fd)
{
	if (ctl_send_msg(sock, m, give) >= 0)
		return ctl_receive(sock, m, fd);
	if (errno != EPIPE && errno != ECONNRESET)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	/* A fabric that could not take the connection may have said why. */
	return ctl_receive(sock, m, fd);
}

int ctl_call(int sock, struct proto_msg *m, int *fd)
{
	int ret = ctl_ask(sock, m, -1, fd);

	return ret ? ret : m->ret;
}

int ctl_call_fd(int sock, struct proto_msg *m, int give)
{
	int ret = ctl_ask(sock, m, give, NULL);

	return ret ? ret : m->ret;
}
